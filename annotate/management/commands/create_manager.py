import argparse
import getpass
import sys

from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError
from django.db import transaction

from annotate.management import find_study
from annotate.models import StudyMember, User


class Command(BaseCommand):
    help = (
        "Create an account that can see and run every study, or with --researcher one "
        "that can read a single study. The command prompts for the password or reads "
        "it from standard input. Example: create_manager alice, or create_manager rob "
        "--researcher pilot"
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("name", help="username: letters, digits and @ . + - _")
        parser.add_argument(
            "--researcher",
            metavar="STUDY",
            help="give read access to this study only; also works for an existing "
            "account",
        )

    @transaction.atomic
    def handle(self, *, name: str, researcher: str | None, **_options: object) -> None:
        study = find_study(researcher) if researcher else None
        user = User.objects.filter(username=name).first()
        if user is not None and study is None:
            raise CommandError(f"User {name!r} already exists.", returncode=2)
        if user is None:
            user = _create(name, every_study=study is None)
            self.stdout.write(f"Created {name}.")
        if study is not None:
            StudyMember.objects.get_or_create(
                study=study, user=user, defaults={"role": StudyMember.Role.RESEARCHER}
            )
            self.stdout.write(f"{name} can now read {study.slug}.")


def _create(name: str, *, every_study: bool) -> User:
    user = User(username=name, is_superuser=every_study, is_staff=every_study)
    try:
        user.full_clean(exclude=["password"])
    except ValidationError as error:
        reasons = " ".join(error.messages)
        raise CommandError(f"Name {name!r}: {reasons}", returncode=2) from error
    password = _password()
    try:
        validate_password(password, user)
    except ValidationError as error:
        raise CommandError(" ".join(error.messages), returncode=2) from error
    user.set_password(password)
    user.save()
    return user


def _password() -> str:
    if sys.stdin.isatty():
        return getpass.getpass("Password: ")
    return sys.stdin.readline().rstrip("\n")
