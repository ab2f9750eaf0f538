import argparse
import json
from collections.abc import Callable
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from annotate.models import User
from annotate.personal_data import accounts, erasing

Work = Callable[..., None]


class Command(BaseCommand):
    help = (
        "Find people, and hand out or erase the personal data of accounts; those of "
        "annotators stand on the study's pages. "
        "Example: personal_data find ada@example.org"
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
        add("due", self._due, "who will be erased, and when; erases nobody")
        own = add("export_account", self._export_account, "print all of an account")
        own.add_argument("name", help="which somebody logs in with")
        gone = add("erase_account", self._erase_account, "take the person out of it")
        gone.add_argument("name", help="which somebody logs in with")
        gone.add_argument(
            "--for-good",
            action="store_true",
            help="do it; without, only say what it is",
        )

    def handle(self, *, work: Work, **options: Any) -> None:
        try:
            work(**options)
        except accounts.AccountError as error:
            raise CommandError(str(error), returncode=2) from error

    def _find(self, *, text: str, **_options: Any) -> None:
        found = list(accounts.find(text))
        for line in found:
            self.stdout.write(line)
        if not found:
            raise CommandError(f"Nobody is known as {text!r}.", returncode=1)

    def _due(self, **_options: Any) -> None:
        for study, at, people in erasing.plans():
            when = "now" if at <= timezone.now() else f"on {at:%Y-%m-%d}"
            names = ", ".join(person.name for person in people)
            self.stdout.write(f"{study.slug}: {when}: {names}")
        self.stdout.write("Nothing was erased by this command.")

    def _export_account(self, *, name: str, **_options: Any) -> None:
        found = accounts.record(_account(name))
        text = json.dumps(found, ensure_ascii=False, indent=1, default=accounts.as_text)
        self.stdout.write(text)

    def _erase_account(self, *, name: str, for_good: bool, **_options: Any) -> None:
        user = _account(name)
        if not for_good:
            self.stdout.write(
                f"This would erase the account {name}. It cannot be undone; add "
                "--for-good to do it."
            )
            return
        self.stdout.write(f"{name} is erased; the log says {accounts.erase(user)}.")


def _account(name: str) -> User:
    user = User.objects.filter(username=name).first()
    if user is None:
        raise CommandError(f"There is no account {name!r}.", returncode=2)
    return user
