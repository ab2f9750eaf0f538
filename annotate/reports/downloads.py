"""A study's tables as CSV, in pieces and safe to open in a spreadsheet."""

import hashlib
from collections.abc import Iterator

from annotate import spreadsheet
from annotate.history.as_of_event import Moment
from annotate.kinds.registry import KINDS
from annotate.models import MAIN, Study
from annotate.reports import study_tables

TABLES = (*sorted({kind.table for kind in KINDS.values()}), "scores")
WORDS = {True: "true", False: "false"}


def csv_lines(
    study: Study, table: str, *, view: str = MAIN, as_of: Moment | None = None
) -> Iterator[str]:
    """Yield one table in pieces; scores look the same through every view."""
    if table == "scores":
        header: tuple[str, ...] = study_tables.SCORE_HEADER
        rows = study_tables.score_rows(study, as_of=as_of)
    else:
        header = study_tables.header(study, table)
        rows = study_tables.answer_rows(study, table, view=view, as_of=as_of)
    cells = ([row[column] for column in header] for row in rows)
    return spreadsheet.csv_lines(
        header,
        ([WORDS[v] if isinstance(v, bool) else v for v in row] for row in cells),
    )


def sha256(study: Study, table: str, *, view: str, as_of: Moment) -> str:
    """Return the hash of a table as a download of the same view and moment has it."""
    digest = hashlib.sha256()
    for piece in csv_lines(study, table, view=view, as_of=as_of):
        digest.update(piece.encode())
    return digest.hexdigest()
