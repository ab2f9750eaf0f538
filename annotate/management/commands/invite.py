import argparse
import csv
from collections.abc import Iterable
from urllib.parse import urlsplit

from django.conf import settings
from django.core.management.base import CommandError
from django.urls import reverse

from analysis.tables import defused
from annotate import inviting
from annotate.management.studies import StudyCommand, find_study
from annotate.models import Invitation, Study


class Command(StudyCommand):
    help = (
        "Invite planned annotators and print their links as CSV, or print them again. "
        "Example: invite pilot --count 20 --base-url https://study.example.org, "
        "then invite pilot --list"
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        super().add_arguments(parser)
        what = parser.add_mutually_exclusive_group()
        what.add_argument("--count", type=int, help="default: everybody planned")
        what.add_argument(
            "--new", action="store_true", help="add a person, who takes over free slots"
        )
        what.add_argument(
            "--list",
            action="store_true",
            help="invite nobody; print everybody invited, and the completion codes of "
            "those who finished",
        )
        parser.add_argument("--note", default="", help="seen by managers only")
        parser.add_argument(
            "--base-url",
            default=settings.BASE_URL or f"http://127.0.0.1:{settings.PORT}",
            help="the links' beginning; default: BASE_URL, or this machine",
        )

    def handle(self, *, study: str, **options: object) -> None:
        row = find_study(study)
        base = str(options["base_url"]).rstrip("/")
        writer = csv.writer(self.stdout, lineterminator="\n")
        if options["list"]:
            writer.writerow(["annotator", "note", "state", "link", "completion_code"])
            writer.writerows(_listed(row, base))
        else:
            made = self._invite(row, options)
            writer.writerow(["annotator", "link"])
            writer.writerows([i.annotator.name, _link(i, base)] for i in made)
        if urlsplit(base).hostname in ("127.0.0.1", "localhost", "::1"):
            self.stderr.write(
                "note: these links work on this machine only; name the address that "
                "annotators reach with --base-url, or for good with BASE_URL"
            )

    def _invite(self, study: Study, options: dict[str, object]) -> list[Invitation]:
        note = str(options["note"])
        try:
            if options["new"]:
                return [inviting.invite_new(study, note=note)]
            return inviting.invite(study, count=options["count"], note=note)
        except inviting.InvitingError as error:
            raise CommandError(str(error), returncode=2) from error


def _listed(study: Study, base: str) -> Iterable[list[str]]:
    """Yield everybody invited; a revoked person has no link that works."""
    invitations = Invitation.objects.filter(annotator__study=study)
    for invitation in invitations.select_related("annotator").order_by("annotator"):
        annotator = invitation.annotator
        yield [
            annotator.name,
            defused(invitation.note),
            annotator.state,
            _link(invitation, base) if invitation.revoked_at is None else "",
            annotator.completion_code if annotator.finished_at else "",
        ]


def _link(invitation: Invitation, base: str) -> str:
    return base + reverse("rate-entry", args=[invitation.token])
