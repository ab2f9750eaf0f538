import argparse
import getpass
import sys

from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError

from annotate.models import User


class Command(BaseCommand):
    help = (
        "Create an account that may see and run every study. The password is asked "
        "for, or read from standard input. Example: create_manager alice"
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("name")

    def handle(self, *, name: str, **_options: object) -> None:
        if User.objects.filter(username=name).exists():
            raise CommandError(f"There is a user {name!r} already.", returncode=2)
        if sys.stdin.isatty():
            password = getpass.getpass("Password: ")
        else:
            password = sys.stdin.readline().rstrip("\n")
        try:
            validate_password(password)
        except ValidationError as error:
            raise CommandError(" ".join(error.messages), returncode=2) from error
        User.objects.create_superuser(username=name, password=password)
        self.stdout.write(f"Created {name}.")
