import argparse
from pathlib import Path

from django.core.management.base import BaseCommand, CommandError

from analysis.web.building import write_export
from annotate.models import Study


class Command(BaseCommand):
    help = (
        "Write a study's answers, scores and description as files. "
        "Example: export_study pilot --out export/"
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("study")
        parser.add_argument("--out", type=Path, required=True)

    def handle(self, *, study: str, out: Path, **_options: object) -> None:
        row = Study.objects.filter(slug=study).select_related("benchmark").first()
        if row is None:
            raise CommandError(f"No study {study!r}.", returncode=2)
        for path in write_export(row, out):
            self.stdout.write(str(path))
