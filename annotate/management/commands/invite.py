import argparse
import csv

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.urls import reverse

from annotate import inviting
from annotate.models import Study


class Command(BaseCommand):
    help = (
        "Invite planned annotators and print their links as CSV. Example: "
        "invite pilot --count 20 --base-url https://study.example.org"
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("study")
        parser.add_argument("--count", type=int, help="default: everybody planned")
        parser.add_argument(
            "--new", action="store_true", help="add a person, who takes over free slots"
        )
        parser.add_argument("--note", default="", help="seen by managers only")
        parser.add_argument("--base-url", default=f"http://127.0.0.1:{settings.PORT}")

    def handle(self, *, study: str, **options: object) -> None:
        row = Study.objects.filter(slug=study).first()
        if row is None:
            raise CommandError(f"No study {study!r}.", returncode=2)
        try:
            if options["new"]:
                invitations = [inviting.invite_new(row, note=options["note"])]
            else:
                invitations = inviting.invite(
                    row, count=options["count"], note=options["note"]
                )
        except inviting.InvitingError as error:
            raise CommandError(str(error), returncode=2) from error
        writer = csv.writer(self.stdout, lineterminator="\n")
        writer.writerow(["annotator", "link"])
        base = str(options["base_url"]).rstrip("/")
        for invitation in invitations:
            path = reverse("rate-entry", args=[invitation.token])
            writer.writerow([invitation.annotator.name, base + path])
