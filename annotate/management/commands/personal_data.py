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
        "Find people, and export or erase the personal data of accounts. For the data "
        "of annotators, use the study's pages. Example: personal_data find "
        "ada@example.org"
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        what = parser.add_subparsers(
            required=True,
            metavar="WHAT",
            help="use --help after the subcommand for details",
        )

        def add(name: str, work: Work, told: str) -> argparse.ArgumentParser:
            made = what.add_parser(name, help=told)
            made.set_defaults(work=work)
            return made

        find = add("find", self._find, "find where a person appears, by name or ID")
        find.add_argument(
            "text", help="all or part of a name, an e-mail address or an ID"
        )
        add(
            "due", self._due, "list who will be erased and when, without erasing anyone"
        )
        own = add(
            "export_account", self._export_account, "print all data of an account"
        )
        own.add_argument("name", help="username of the account")
        gone = add(
            "erase_account",
            self._erase_account,
            "erase the personal data of an account",
        )
        gone.add_argument("name", help="username of the account")
        gone.add_argument(
            "--for-good",
            action="store_true",
            help="erase for real; without this option, only show what would happen",
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
            raise CommandError(f"Found nobody for {text!r}.", returncode=1)

    def _due(self, **_options: Any) -> None:
        for study, at, people in erasing.plans():
            when = "now" if at <= timezone.now() else f"on {at:%Y-%m-%d}"
            names = ", ".join(person.name for person in people)
            self.stdout.write(f"{study.slug}: {when}: {names}")
        self.stdout.write("Nothing was erased: this command only lists.")

    def _export_account(self, *, name: str, **_options: Any) -> None:
        found = accounts.record(_account(name))
        text = json.dumps(found, ensure_ascii=False, indent=1, default=accounts.as_text)
        self.stdout.write(text)

    def _erase_account(self, *, name: str, for_good: bool, **_options: Any) -> None:
        user = _account(name)
        if not for_good:
            self.stdout.write(
                f"This would erase the account {name}, which cannot be undone. Add "
                "--for-good to erase it."
            )
            return
        self.stdout.write(f"Erased {name}; logs now show {accounts.erase(user)}.")


def _account(name: str) -> User:
    user = User.objects.filter(username=name).first()
    if user is None:
        raise CommandError(f"No account {name!r}.", returncode=2)
    return user
