import argparse
from typing import Any

from annotate.coverage import coverage_tables
from annotate.coverage.counts import Cell, HeatMap, grid, units
from annotate.coverage.dashboard import standing
from annotate.coverage.slot_counts import people
from annotate.management.studies import StudyCommand
from annotate.models import Study
from annotate.spreadsheet import csv_lines


class Command(StudyCommand):
    help = (
        "Show how far a study is and what needs attention. Example: coverage pilot, or "
        "coverage pilot --csv annotators"
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--csv",
            nargs="?",
            const="cells",
            choices=sorted(coverage_tables.TABLES),
            help="print a table instead; cells by default",
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
            f"{study.slug}, {study.title}: {total.submitted} of {total.wanted} slots "
            f"({total.percent} %), {total.leased} leased, {total.open} open"
        )
        if until.has_date:
            self.stdout.write(f"{until.date}: {until.label}")
        self.stdout.write(until.text)
        for alert in stands.alerts:
            self.stdout.write(f"! {alert.text} {alert.todo}")
            for note in alert.notes:
                self.stdout.write(f"    {note}")
        self._write_cells(grid(units(study)))
        self._write_people(study)

    def _write_cells(self, result: HeatMap) -> None:
        """Print methods by stories, as submitted/wanted."""
        lines = [["", *(column.label for column in result.columns), "all"]]
        for row in result.rows:
            cells = [_share(cell) for cell in row.cells]
            lines.append([row.name, *cells, f"{row.done}/{row.wanted}"])
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        for name, *cells in lines:
            texts = (c.rjust(w) for c, w in zip(cells, widths[1:], strict=True))
            self.stdout.write("  ".join([name.ljust(widths[0]), *texts]))

    def _write_people(self, study: Study) -> None:
        """Print the annotators' own numbers, as submitted/planned."""
        for person in people(study):
            state = person.get_state_display()
            done = f"{person.submitted}/{person.planned}"
            self.stdout.write(f"{person.name}  {state:9}  {done}")


def _share(cell: Cell | None) -> str:
    return "-" if cell is None else f"{cell.done}/{cell.wanted}"
