"""CSV that is safe to open in a spreadsheet."""

import csv
import io
from collections.abc import Iterable, Sequence

from analysis.tables import defused


def csv_text(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table in which no text can run as a formula."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(header)
    for row in rows:
        writer.writerow([defused(v) if isinstance(v, str) else v for v in row])
    return buffer.getvalue()
