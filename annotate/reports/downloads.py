"""The three tables as CSV, line by line and safe to open in a spreadsheet."""

import csv
import hashlib
from collections.abc import Iterator
from typing import Any

from analysis.tables import defused
from annotate.history.as_of_event import Moment
from annotate.kinds.registry import KINDS
from annotate.models import MAIN, Study
from annotate.reports import study_tables

TABLES = (*sorted({kind.table for kind in KINDS.values()}), "scores")


class _Echo:
    """A file that returns each line instead of keeping it."""

    def write(self, line: str) -> str:
        return line


def csv_lines(
    study: Study, table: str, *, view: str = MAIN, as_of: Moment | None = None
) -> Iterator[str]:
    """Yield the lines of one table; scores look the same through every view.

    Text that a spreadsheet would run as a formula gets an apostrophe before it;
    numbers stay numbers.
    """
    header = _header(study, table)
    writer = csv.writer(_Echo(), lineterminator="\n")
    yield writer.writerow(header)
    for row in _rows(study, table, view, as_of):
        yield writer.writerow([_cell(row[column]) for column in header])


def _header(study: Study, table: str) -> tuple[str, ...]:
    if table == "scores":
        return study_tables.SCORE_HEADER
    return study_tables.header(study, table)


def _rows(
    study: Study, table: str, view: str, as_of: Moment | None
) -> Iterator[study_tables.AnswerRow]:
    if table == "scores":
        return study_tables.score_rows(study, as_of=as_of)
    return study_tables.answer_rows(study, table, view=view, as_of=as_of)


def sha256(study: Study, table: str, *, view: str, as_of: Moment) -> str:
    """Return the hash of a table as a download of the same view and moment has it."""
    digest = hashlib.sha256()
    for line in csv_lines(study, table, view=view, as_of=as_of):
        digest.update(line.encode())
    return digest.hexdigest()


def _cell(value: Any) -> Any:
    """Return the value as it can safely stand in a cell."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return repr(value)
    return defused(value) if isinstance(value, str) else value
