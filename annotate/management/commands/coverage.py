import argparse
import csv

from django.core.management.base import BaseCommand, CommandError

from annotate.coverage import coverage
from annotate.models import Study


class Command(BaseCommand):
    help = "Show how far a study is. Example: coverage pilot, or coverage pilot --csv"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("study")
        parser.add_argument("--csv", action="store_true", help="one row a cell")

    def handle(self, *, study: str, **options: object) -> None:
        row = Study.objects.filter(slug=study).first()
        if row is None:
            raise CommandError(f"No study {study!r}.", returncode=2)
        result = coverage(row)
        if options["csv"]:
            writer = csv.writer(self.stdout, lineterminator="\n")
            writer.writerow(["methods", "story", "submitted", "leased", "wanted"])
            for cell in (c for r in result.rows for c in r.cells if c is not None):
                writer.writerow(
                    [cell.row, cell.story, cell.done, cell.leased, cell.wanted]
                )
            return
        self.stdout.write(
            f"{row.title}: {result.submitted} of {result.wanted} slots "
            f"({result.percent} %), {result.leased} leased, {result.open} open"
        )
        width = max((len(r.name) for r in result.rows), default=0)
        for line in result.rows:
            cells = " ".join(
                f"{c.done}/{c.wanted}" if c is not None else "-" for c in line.cells
            )
            self.stdout.write(f"{line.name:{width}}  {cells}")
