import argparse
import csv
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.management.base import CommandError
from django.urls import reverse

from analysis.tables import Lines, defused
from annotate.management.studies import StudyCommand
from annotate.models import Invitation, Study
from annotate.people import inviting, joining, outcomes
from annotate.people.invitation_list import invite_list


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
        what.add_argument(
            "--people",
            type=Path,
            help="invite everybody in a file: name or id, language, cap, note, one "
            "person a line",
        )
        what.add_argument(
            "--join",
            type=int,
            metavar="MOST",
            help="make a link for so many to join by",
        )
        parser.add_argument("--language", default="", help="with --new or --join")
        parser.add_argument("--cap", type=int, help="with --join: most slots of each")
        parser.add_argument(
            "--any-device",
            action="store_true",
            help="with --join: ids in the address are enough to go on, on any device",
        )
        parser.add_argument("--note", default="", help="seen by managers only")
        parser.add_argument(
            "--base-url",
            default=settings.BASE_URL or f"http://127.0.0.1:{settings.PORT}",
            help="the links' beginning; default: BASE_URL, or this machine",
        )

    def work(self, study: Study, **options: Any) -> None:
        base = str(options["base_url"]).rstrip("/")
        writer = csv.writer(Lines(self.stdout))
        if options["list"]:
            writer.writerow(LISTED)
            writer.writerows(_listed(study, base))
        else:
            writer.writerows(self._made(study, base, options))
        if study.state != Study.State.OPEN:
            self.stderr.write(
                f"note: the study is {study.state}: nobody can answer or join until "
                f"`launch {study.slug}`"
            )
        if urlsplit(base).hostname in ("127.0.0.1", "localhost", "::1"):
            self.stderr.write(
                "note: these links work on this machine only; name the address that "
                "annotators reach with --base-url, or for good with BASE_URL"
            )

    def _made(
        self, study: Study, base: str, options: dict[str, Any]
    ) -> Iterable[list[str]]:
        """Return the table of the links that are made."""
        try:
            if options["join"] is not None:
                names = ("language", "cap", "any_device", "note")
                given = {name: options[name] for name in names}
                link = joining.make_link(study, most=options["join"], **given)
                return [["join"], [base + reverse("join", args=[link.token])]]
            made = self._invite(study, options)
        except inviting.NobodyWaitsError as error:
            join = "--join 20 makes a link for 20 to join by, " if study.is_open else ""
            raise CommandError(
                f"{error} {join}--new adds one person, --list prints every link there "
                "is.",
                returncode=2,
            ) from error
        except inviting.InvitingError as error:
            problems = getattr(error, "problems", [str(error)])
            raise CommandError("\n".join(problems), returncode=2) from error
        rows = [["annotator", "person", "link"]]
        for one in made:
            person = defused(one.annotator.external_id)
            rows.append([one.annotator.name, person, _link(one, base)])
        if options["people"] is None:
            return [[name, link] for name, _person, link in rows]
        return rows

    def _invite(self, study: Study, options: dict[str, Any]) -> Sequence[Invitation]:
        note = str(options["note"])
        if options["people"] is not None:
            return self._invite_list(study, options["people"])
        if options["new"]:
            language = str(options["language"])
            return [inviting.invite_new(study, language=language, note=note)]
        return inviting.invite(study, count=options["count"], note=note)

    def _invite_list(self, study: Study, path: Path) -> Sequence[Invitation]:
        try:
            text = path.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise CommandError(
                f"{path}: expected a text file in UTF-8 ({error})", returncode=2
            ) from error
        result = invite_list(study, text)
        for person in result.known:
            self.stderr.write(f"note: {person} takes part already")
        return result.made


LISTED = ("annotator", "note", "state", "link", "completion_code", "outcome")


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
