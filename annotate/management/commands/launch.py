import argparse

from django.core.management.base import BaseCommand, CommandError

from annotate import lifecycle
from annotate.models import Study


class Command(BaseCommand):
    help = "Open a study for its annotators. Example: launch pilot"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("study")

    def handle(self, *, study: str, **_options: object) -> None:
        row = Study.objects.filter(slug=study).first()
        if row is None:
            raise CommandError(f"No study {study!r}.", returncode=2)
        lifecycle.launch(row)
        self.stdout.write(f"{study} is open.")
