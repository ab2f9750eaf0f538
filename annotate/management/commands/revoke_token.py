import argparse

from django.core.management.base import BaseCommand, CommandError

from annotate.models import User


class Command(BaseCommand):
    help = (
        "Revoke the API token of an account, which a new password does as well. "
        "Example: revoke_token alice"
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("name", help="of the account")

    def handle(self, *, name: str, **_options: object) -> None:
        user = User.objects.filter(username=name).first()
        if user is None:
            raise CommandError(f"There is no user {name!r}.", returncode=2)
        revoked = user.revoke_token()
        self.stdout.write(
            f"The API token of {name} is revoked."
            if revoked
            else f"{name} has no API token."
        )
