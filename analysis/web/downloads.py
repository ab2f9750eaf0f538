"""The three tables as CSV, line by line and safe to open in a spreadsheet."""

import csv
from collections.abc import Callable, Iterator
from typing import Any

from analysis.tables import defused
from analysis.web import frames
from annotate.models import Study

TABLES: dict[str, tuple[tuple[str, ...], Callable[[Study], Iterator[frames.Row]]]] = {
    "ratings": (frames.RATING_HEADER, frames.rating_rows),
    "choices": (frames.CHOICE_HEADER, frames.choice_rows),
    "scores": (frames.SCORE_HEADER, frames.score_rows),
}


class _Echo:
    """A file that returns each line instead of keeping it."""

    def write(self, line: str) -> str:
        return line


def csv_lines(study: Study, table: str) -> Iterator[str]:
    """Yield the lines of one table.

    Text that a spreadsheet would run as a formula gets an apostrophe before it;
    numbers stay numbers.
    """
    header, rows = TABLES[table]
    writer = csv.writer(_Echo(), lineterminator="\n")
    yield writer.writerow(header)
    for row in rows(study):
        yield writer.writerow([_cell(row[column]) for column in header])


def _cell(value: Any) -> Any:
    """Return the value as it can safely stand in a cell."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return repr(value)
    return defused(value) if isinstance(value, str) else value
