import argparse
from typing import Any

from annotate.coverage import coverage_tables
from annotate.coverage.dashboard import standing
from annotate.management import StudyCommand
from annotate.models import Study
from annotate.spreadsheet import csv_lines


class Command(StudyCommand):
    help = (
        "Show the progress of a study and what needs attention. Example: coverage "
        "pilot, or coverage pilot --csv annotators"
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--csv",
            nargs="?",
            const="cells",
            choices=sorted(coverage_tables.TABLES),
            help="print a table as CSV instead; default: cells",
        )

    def work(self, study: Study, **options: Any) -> None:
        if options["csv"]:
            header, rows = coverage_tables.TABLES[options["csv"]]
            for piece in csv_lines(header, rows(study)):
                self.stdout.write(piece, ending="")
            return
        stands = standing(study)
        total, until = stands.totals, stands.outlook
        self.stdout.write(
            f"{study.slug}, {study.title}: {total.submitted} of {total.wanted} ratings "
            f"({total.percent} %), {total.leased} being rated now, "
            f"{total.open} not yet rated"
        )
        if until.has_date:
            self.stdout.write(f"{until.date}: {until.label}")
        self.stdout.write(until.text)
        for alert in stands.alerts:
            self.stdout.write(f"! {alert.text} {alert.todo}")
            for note in alert.notes:
                self.stdout.write(f"    {note}")
