import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db.models import Q
from django.utils import timezone

from annotate.management.studies import find_study
from annotate.models import Annotator, User
from annotate.personal_data import accounts, erasing, record
from annotate.personal_data.places import PLACES, Says

Work = Callable[..., None]


class Command(BaseCommand):
    help = (
        "Find, hand out and erase the personal data of annotators and of accounts. "
        "Example: personal_data find ada@example.org, then "
        "personal_data export pilot A07 --out a07.zip, and "
        "personal_data erase pilot A07 --comments --for-good"
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        what = parser.add_subparsers(
            required=True, metavar="WHAT", help="each of them has a --help of its own"
        )

        def add(name: str, work: Work, told: str) -> argparse.ArgumentParser:
            made = what.add_parser(name, help=told)
            made.set_defaults(work=work)
            return made

        find = add("find", self._find, "where somebody is known by a name or id")
        find.add_argument("text", help="a name, an e-mail address, an id, or a part")
        export = add("export", self._export, "write everything about one annotator")
        _add_annotator(export)
        export.add_argument("--out", type=Path, required=True, help="a ZIP file")
        withdraw = add("withdraw", self._withdraw, "withdraw an annotator's consent")
        _add_annotator(withdraw)
        withdraw.add_argument(
            "--answers", action="store_true", help="nothing they answered is used"
        )
        _add_for_good(withdraw)
        erase = add("erase", self._erase, "erase one annotator; the answers stay")
        _add_annotator(erase)
        erase.add_argument(
            "--comments", action="store_true", help="and what they wrote freely"
        )
        _add_for_good(erase)
        add("due", self._due, "who will be erased, and when; erases nobody")
        add("places", self._places, "list what each column holds of people")
        own = add("export_account", self._export_account, "print all of an account")
        own.add_argument("name", help="which somebody logs in with")
        gone = add("erase_account", self._erase_account, "take the person out of it")
        gone.add_argument("name", help="which somebody logs in with")
        _add_for_good(gone)

    def handle(self, *, work: Work, **options: Any) -> None:
        try:
            work(**options)
        except (
            accounts.AccountError,
            erasing.ConsentError,
            erasing.ErasingError,
        ) as error:
            raise CommandError(str(error), returncode=2) from error

    def _find(self, *, text: str, **_options: Any) -> None:
        found = list(accounts.find(text))
        for line in found:
            self.stdout.write(line)
        if not found:
            raise CommandError(f"Nobody is known as {text!r}.", returncode=1)

    def _export(
        self, *, study: str, annotator: str, out: Path, **_options: Any
    ) -> None:
        content = record.zipped(_annotator(study, annotator))
        try:
            out.touch(0o600)  # whoever else has an account here may not read it
            out.write_bytes(content)
        except OSError as error:
            raise CommandError(f"{out}: {error.strerror}", returncode=2) from error
        self.stdout.write(f"Wrote {out}.")

    def _withdraw(
        self, *, study: str, annotator: str, answers: bool, for_good: bool, **_o: Any
    ) -> None:
        person = _annotator(study, annotator)
        if not for_good:
            self._would(f"withdraw the consent of {person.name}")
            return
        done = erasing.withdraw(person, answers=answers)
        self.stdout.write(
            f"{person.name} has withdrawn: {done.freed} slots are free again, "
            f"{done.left_out} answered ones are left out."
        )

    def _erase(
        self, *, study: str, annotator: str, comments: bool, for_good: bool, **_o: Any
    ) -> None:
        person = _annotator(study, annotator)
        if not for_good:
            written = erasing.comments_of(person)
            self._would(f"erase {person.name}, who wrote {written} comments")
            return
        done = erasing.erase(person, comments=comments)
        again = "" if done.is_new else " already"
        self.stdout.write(
            f"{person.name} is erased{again}: {done.freed} slots are free again, "
            f"{done.comments} comments are gone; the answers stay."
        )

    def _due(self, **_options: Any) -> None:
        for study, at, people in erasing.plans():
            when = "now" if at <= timezone.now() else f"on {at:%Y-%m-%d}"
            names = ", ".join(person.name for person in people)
            self.stdout.write(f"{study.slug}: {when}: {names}")
        self.stdout.write("Nothing was erased by this command.")

    def _places(self, **_options: Any) -> None:
        for says in Says:
            if says is not Says.NOTHING:
                self.stdout.write(f"{says.value}:")
                for table, held in PLACES.items():
                    if says in held:
                        self.stdout.write(f"  {table}: {held[says]}")

    def _export_account(self, *, name: str, **_options: Any) -> None:
        found = accounts.record(_account(name))
        text = json.dumps(found, ensure_ascii=False, indent=1, default=accounts.as_text)
        self.stdout.write(text)

    def _erase_account(self, *, name: str, for_good: bool, **_options: Any) -> None:
        user = _account(name)
        if not for_good:
            self._would(f"erase the account {name}")
            return
        self.stdout.write(f"{name} is erased; the log says {accounts.erase(user)}.")

    def _would(self, text: str) -> None:
        self.stdout.write(
            f"This would {text}. It cannot be undone; add --for-good to do it."
        )


def _add_annotator(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("study", help="its short name")
    parser.add_argument(
        "annotator", help="the name in the tables, or the id, e-mail or name elsewhere"
    )


def _add_for_good(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--for-good", action="store_true", help="do it; without, only say what it is"
    )


def _annotator(study: str, name: str) -> Annotator:
    people = find_study(study).annotators.filter(
        Q(name=name) | Q(external_id__iexact=name)
    )
    if len(found := list(people)) != 1:
        many = "more than one" if found else "no"
        raise CommandError(f"{study} has {many} annotator {name!r}.", returncode=2)
    return found[0]


def _account(name: str) -> User:
    user = User.objects.filter(username=name).first()
    if user is None:
        raise CommandError(f"There is no account {name!r}.", returncode=2)
    return user
