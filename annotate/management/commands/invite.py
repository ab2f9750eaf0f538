import argparse
import csv
from collections.abc import Iterable
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError
from django.urls import reverse

from analysis.tables import Lines, defused
from annotate.access.server_address import is_local, server_address
from annotate.management import StudyCommand
from annotate.models import Invitation, Study
from annotate.people import inviting, joining, outcomes

LISTED = ("annotator", "note", "state", "link", "completion_code", "outcome")


class Command(StudyCommand):
    help = (
        "Create personal links for planned annotators and print them as CSV, or print "
        "existing links again. To invite a list of people or limit their stories, use "
        "the study's page. Example: invite pilot --count 20 --base-url "
        "https://study.example.org, then invite pilot --list"
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        super().add_arguments(parser)
        what = parser.add_mutually_exclusive_group()
        what.add_argument(
            "--count",
            type=int,
            help="number of annotators to invite; default: all who are planned",
        )
        what.add_argument(
            "--new",
            action="store_true",
            help="add an annotator, who takes over free slots",
        )
        what.add_argument(
            "--list",
            action="store_true",
            help="print all existing links, with the completion codes of those who "
            "finished",
        )
        what.add_argument(
            "--join",
            type=int,
            metavar="MOST",
            help="create a public link with this many places",
        )
        parser.add_argument(
            "--language",
            default="",
            help="language of the annotators, with --new or --join",
        )
        parser.add_argument("--note", default="", help="note that only managers see")
        parser.add_argument(
            "--base-url",
            help="address at the start of the links; default: BASE_URL, the address "
            "entered in the browser, or this machine",
        )

    def work(self, study: Study, **options: Any) -> None:
        here = f"http://127.0.0.1:{settings.PORT}"
        base = str(options["base_url"] or server_address() or here).rstrip("/")
        writer = csv.writer(Lines(self.stdout))
        if options["list"]:
            writer.writerow(LISTED)
            writer.writerows(_listed(study, base))
        else:
            writer.writerows(_made(study, base, options))
        if study.state != Study.State.OPEN:
            self.stderr.write(
                f"note: the study is {study.state}. Nobody can answer or join until "
                f"you run `launch {study.slug}`"
            )
        if is_local(base):
            self.stderr.write(
                "note: these links work on this machine only. Give the address that "
                "annotators use with --base-url, or set BASE_URL permanently"
            )


def _made(study: Study, base: str, options: dict[str, Any]) -> list[list[str]]:
    """Return the table of the links that are made."""
    language, note = str(options["language"]), str(options["note"])
    try:
        if options["join"] is not None:
            link = joining.make_link(
                study, most=options["join"], language=language, note=note
            )
            return [["join"], [base + reverse("join", args=[link.token])]]
        if options["new"]:
            made = [inviting.invite_new(study, language=language, note=note)]
        else:
            made = inviting.invite(study, count=options["count"], note=note)
    except inviting.NobodyWaitsError as error:
        join = (
            "--join 20 creates a public link with 20 places, " if study.is_open else ""
        )
        raise CommandError(
            f"{error} {join}--new adds one annotator, --list prints all existing "
            "links.",
            returncode=2,
        ) from error
    except inviting.InvitingError as error:
        raise CommandError(str(error), returncode=2) from error
    rows = [[one.annotator.name, _link(one, base)] for one in made]
    return [["annotator", "link"], *rows]


def _listed(study: Study, base: str) -> Iterable[list[str]]:
    """Yield everybody invited; a revoked person has no link that works."""
    codes = outcomes.given_codes(study)
    invitations = Invitation.objects.filter(annotator__study=study)
    for invitation in invitations.select_related("annotator").order_by("annotator"):
        annotator = invitation.annotator
        worth = codes.get(annotator.pk)
        yield [
            annotator.name,
            defused(invitation.note),
            annotator.state,
            _link(invitation, base) if invitation.revoked_at is None else "",
            worth.code if worth else "",
            worth.outcome if worth else "",
        ]


def _link(invitation: Invitation, base: str) -> str:
    return base + reverse("rate-entry", args=[invitation.token])
