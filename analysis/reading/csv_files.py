"""Read CSV files quickly, where that provably gives what the csv module gives.

The csv module judges every file; this reader takes the plain ones, which nearly all
are, and leaves the others to it. A file is plain when each quotation mark opens a cell,
closes it, or is one of two that stand for one; when lines end in LF or CRLF; and when
it is UTF-8 without NUL, with rows as wide as the header. Both readers then agree on
every cell, and `_row_lines` finds the line on which each row begins.
"""

import csv
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv

from analysis.results import Counts

# Bytes looked at together; bounds memory.
BLOCK = 1 << 24
# A hundred thousand columns, in a file of one megabyte, would take minutes.
LARGEST_WIDTH = 1000
BOM = b"\xef\xbb\xbf"
COMMA, LF, CR, QUOTE = b',\n\r"'


def read_plain_csv(path: Path) -> pd.DataFrame | None:
    """Read a plain CSV file.

    Returns
    -------
    pandas.DataFrame or None
        Every column a categorical of text, as it stands in the file; the index is the
        line on which a row begins. None when the csv module has to judge the file.
    """
    header = _header(path)
    if len(header) > LARGEST_WIDTH:
        return None
    lines = _row_lines(path)
    if lines is None or len(lines) < 2 or lines[0] != 1:
        return None
    if len(header) < 2 or len(set(header)) < len(header):
        return None
    table = _cells(path, len(header))
    if table is None or table.num_rows != len(lines) - 1:
        return None
    columns = [_categorical(column) for column in table.columns]
    if any(_longest(column) > csv.field_size_limit() for column in columns):
        return None
    index = pd.RangeIndex(2, len(lines) + 1)
    regular = lines[-1] == len(lines)
    return pd.DataFrame(
        dict(zip(header, columns, strict=True)),
        index=index if regular else pd.Index(lines[1:].astype(np.int64)),
        copy=False,
    )


def _header(path: Path) -> list[str]:
    """Return the column names, none when they cannot be read."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            return [name.strip() for name in next(csv.reader(file, strict=True), [])]
    except (UnicodeDecodeError, csv.Error):
        return []


def _row_lines(path: Path) -> Counts | None:
    """Return the line on which each row begins, the header's included.

    Returns None when a quotation mark stands where it does not belong, or a line ends
    otherwise than in LF or CRLF. Lines without a character are no rows.

    Notes
    -----
    A position is inside a cell in quotation marks when an odd number of them precedes
    it. Two in a row inside a cell close and open it again, which changes nothing.
    """
    found: list[Counts] = []
    line, inside = 1, 0
    with path.open("rb") as file:
        while block := file.read(BLOCK) + file.readline():
            if line == 1 and not found:
                block = block.removeprefix(BOM)
            if b"\0" in block or block.count(b"\r") != block.count(b"\r\n"):
                return None
            data = np.frombuffer(block, np.uint8)
            quotes = np.flatnonzero(data == QUOTE) if b'"' in block else _NOWHERE
            if not _well_placed(data, quotes, inside):
                return None
            ends = np.flatnonzero(data == LF)
            outside = (np.searchsorted(quotes, ends) + inside) % 2 == 0
            # A row begins after each line end outside quotation marks.
            starts, at = ends[outside] + 1, line + 1 + np.flatnonzero(outside)
            if not inside:
                starts, at = np.r_[0, starts], np.r_[line, at]
            there = starts < len(data)
            starts, at = starts[there], at[there]
            first = data[starts]
            found.append(at[(first != LF) & (first != CR)].astype(np.int32))
            line += len(ends)
            inside = (inside + len(quotes)) % 2
    return np.concatenate(found) if found and not inside else None


_NOWHERE = np.empty(0, np.intp)


def _well_placed(data: Counts, quotes: Counts, inside: int) -> bool:
    """Say whether quotation marks stand at the start and the end of cells.

    A block ends with a line, so that what follows a mark is in the same block.
    """
    opening, closing = quotes[inside::2], quotes[1 - inside :: 2]
    before = data[opening[opening > 0] - 1]
    after = data[closing[closing < len(data) - 1] + 1]
    return bool(
        np.isin(before, (COMMA, LF, QUOTE)).all()
        and np.isin(after, (COMMA, LF, CR, QUOTE)).all()
    )


def _cells(path: Path, width: int) -> pa.Table | None:
    """Return the cells below the header as text, each different one stored once."""
    names = [str(i) for i in range(width)]
    text = pa.dictionary(pa.int32(), pa.string())
    try:
        with pa.OSFile(str(path)) as file:
            table = arrow_csv.read_csv(
                file,
                arrow_csv.ReadOptions(
                    column_names=names, skip_rows_after_names=1, block_size=BLOCK
                ),
                arrow_csv.ParseOptions(newlines_in_values=True),
                arrow_csv.ConvertOptions(
                    column_types=dict.fromkeys(names, text), strings_can_be_null=False
                ),
            )
    except pa.ArrowException:
        return None
    return table.unify_dictionaries()


def _categorical(column: pa.ChunkedArray) -> pd.Categorical:
    codes = np.concatenate([chunk.indices.to_numpy() for chunk in column.chunks])
    texts = pd.Index(column.chunk(0).dictionary.to_pandas(), dtype="str")
    return pd.Categorical.from_codes(codes, texts, validate=False)


def _longest(column: pd.Categorical) -> int:
    """Return the length of the longest cell in bytes, which are as many as letters."""
    longest = pc.max(pc.binary_length(pa.array(column.categories)))
    return int(longest.as_py() or 0)
