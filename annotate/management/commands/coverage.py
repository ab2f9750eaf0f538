import argparse
import csv

from analysis.tables import defused
from annotate.coverage import Cell, Coverage, coverage
from annotate.management.studies import StudyCommand, find_study


class Command(StudyCommand):
    help = "Show how far a study is. Example: coverage pilot, or coverage pilot --csv"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--csv", action="store_true", help="one row a cell")

    def handle(self, *, study: str, **options: object) -> None:
        row = find_study(study)
        result = coverage(row)
        if options["csv"]:
            self._write_csv(result)
            return
        self.stdout.write(
            f"{row.slug}, {row.title}: {result.submitted} of {result.wanted} slots "
            f"({result.percent} %), {result.leased} leased, {result.open} open"
        )
        self._write_cells(result)
        self._write_people(result)

    def _write_csv(self, result: Coverage) -> None:
        writer = csv.writer(self.stdout, lineterminator="\n")
        writer.writerow(["methods", "story", "submitted", "leased", "wanted"])
        for cell in (c for r in result.rows for c in r.cells if c is not None):
            names = [defused(cell.row), defused(cell.story)]
            writer.writerow([*names, cell.done, cell.leased, cell.wanted])

    def _write_cells(self, result: Coverage) -> None:
        """Print methods by stories, as submitted/wanted."""
        lines = [["", *result.stories, "all"]]
        for row in result.rows:
            cells = [_share(cell) for cell in row.cells]
            lines.append([row.name, *cells, f"{row.done}/{row.wanted}"])
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        for name, *cells in lines:
            texts = (c.rjust(w) for c, w in zip(cells, widths[1:], strict=True))
            self.stdout.write("  ".join([name.ljust(widths[0]), *texts]))

    def _write_people(self, result: Coverage) -> None:
        """Print the annotators' own numbers, as submitted/planned."""
        for person in result.people:
            state = person.annotator.get_state_display()
            done = f"{person.submitted}/{person.planned}"
            self.stdout.write(f"{person.annotator.name}  {state:9}  {done}")


def _share(cell: Cell | None) -> str:
    return "-" if cell is None else f"{cell.done}/{cell.wanted}"
