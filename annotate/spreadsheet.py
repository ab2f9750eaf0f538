"""CSV that is safe to open in a spreadsheet."""

import csv
import io
from collections.abc import Iterable, Iterator, Sequence

from analysis.tables import Lines, defused

PIECE = 1 << 16


def csv_text(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table as CSV in which no text can run as a formula."""
    return "".join(csv_lines(header, rows))


def csv_lines(header: Sequence[str], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    """Yield the same CSV in pieces, so that memory never holds a long table."""
    buffer = io.StringIO()
    writer = csv.writer(Lines(buffer))
    writer.writerow([defused(name) for name in header])
    for row in rows:
        writer.writerow([defused(v) if isinstance(v, str) else v for v in row])
        if buffer.tell() > PIECE:
            yield buffer.getvalue()
            buffer.seek(0)
            buffer.truncate()
    yield buffer.getvalue()
