"""Read a table from CSV, JSONL or Parquet as it stands, line numbers kept."""

import csv
import json
from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
from pyarrow import parquet

from analysis.problems import InputError, Problem, Problems
from analysis.results import NAN

if TYPE_CHECKING:
    from _csv import Reader

# About ten million answers: reading them takes 1.6 GB of memory, laying them out 3.
LARGEST_FILE = 512 * 10**6
LARGEST_TABLE = 10**7
# A hundred thousand columns, in a file of one megabyte, would take minutes.
LARGEST_WIDTH = 1000


def read_file(path: Path) -> pd.DataFrame:
    """Read a file as it stands, by its suffix.

    Returns
    -------
    pandas.DataFrame
        Cells as text or as the file types them; the index is the line, 1 being the
        header (of a Parquet file, which has no lines, the row + 1).

    Raises
    ------
    InputError
        With every line that has not the shape of the others; when the file is larger
        than `LARGEST_FILE` bytes, `LARGEST_TABLE` rows or `LARGEST_WIDTH` columns,
        before it is read.
    """
    readers = {".csv": read_csv, ".jsonl": _read_jsonl, ".parquet": _read_parquet}
    suffix = path.suffix.lower()
    if suffix not in readers:
        raise InputError([Problem(str(path), "a .csv, .jsonl or .parquet file")])
    try:
        _check_size(path)
        frame = readers[suffix](path)
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError([Problem(str(path), f"a readable file ({reason})")]) from error
    if frame.empty:
        raise InputError([Problem(path.name, "at least one row below the header", 1)])
    return frame


def _check_size(path: Path) -> None:
    size = path.stat().st_size
    if size > LARGEST_FILE:
        expected = f"a file of at most {_megabytes(LARGEST_FILE)}, in parts if need be"
        raise InputError([Problem(str(path), expected, value=_megabytes(size))])


def _check_width(path: Path, columns: int) -> None:
    if columns > LARGEST_WIDTH:
        expected = f"at most {LARGEST_WIDTH:,} columns"
        raise InputError([Problem(path.name, expected, 1)])


def _megabytes(size: int) -> str:
    """Write a size, rounded up.

    Examples
    --------
    >>> _megabytes(2_147_483_648)
    '2,148 MB'
    """
    return f"{-(-size // 10**6):,} MB"


def read_csv(path: Path) -> pd.DataFrame:
    """Read a CSV file row by row, and say what is wrong with its lines.

    Returns
    -------
    pandas.DataFrame
        Every column a categorical of text; the index is the line on which a row
        begins.

    Raises
    ------
    InputError
        With every row that is not as wide as the header, doubled columns, columns
        that are separated by something else, or where the file stops being UTF-8.
    """
    problems: Problems[Problem] = Problems()
    header: list[str] = []
    lines: list[int] = []
    # Of each column its different cells, and which of them every row has.
    known: list[dict[str, int]] = []
    columns: list[array[int]] = []
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, strict=True)
            try:
                header = [name.strip() for name in next(reader, [])]
                _check_width(path, len(header))
                known = [{} for _ in header]
                columns = [array("i") for _ in header]
                for start, row in _numbered(reader):
                    if len(row) != len(header):
                        expected = (
                            f"{len(header)} columns as in the header, not {len(row)}"
                        )
                        problems.append(Problem(path.name, expected, start))
                        continue
                    lines.append(start)
                    for column, cells, cell in zip(columns, known, row, strict=True):
                        column.append(cells.setdefault(cell, len(cells)))
            except csv.Error as error:
                what = f"CSV ({error})"
                problems.append(Problem(path.name, what, reader.line_num))
                _check_text(file)
    except UnicodeDecodeError as error:
        raise _not_text(path) from error
    other = next((mark for mark in (";", "\t") if mark in "".join(header)), "")
    if len(header) == 1 and other:
        raise InputError(
            [Problem(path.name, f"commas between columns, no {other!r}", 1)]
        )
    if not header and problems:
        raise InputError([Problem(path.name, "the names of the columns", 1)])
    doubled = sorted({name for name in header if header.count(name) > 1})
    problems += [
        Problem(path.name, "a column name once", 1, name or "(empty)")
        for name in doubled
    ]
    if problems:
        raise InputError(problems)
    texts = {
        name: pd.Categorical.from_codes(column, pd.Index(cells, dtype="str"))
        for name, column, cells in zip(header, columns, known, strict=True)
    }
    return pd.DataFrame(texts, index=lines, copy=False)


def _numbered(reader: "Reader") -> Iterator[tuple[int, list[str]]]:
    """Yield rows and the lines they begin on; lines without a character are no rows."""
    start = reader.line_num + 1
    for row in reader:
        if row:
            yield start, row
        start = reader.line_num + 1


def _check_text(file: Iterator[str]) -> None:
    """Read on, so that what is no text is named before anything else."""
    for _ in file:
        pass


def _not_text(path: Path) -> InputError:
    """Say on which line a file stops being UTF-8."""
    data = path.read_bytes()
    try:
        data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        return InputError([Problem(path.name, "UTF-8 text", line)])
    return InputError([Problem(path.name, "UTF-8 text")])


def _read_jsonl(path: Path) -> pd.DataFrame:
    problems: Problems[Problem] = Problems()
    lines: list[int] = []
    columns: dict[str, list[object]] = {}
    same: dict[str, str] = {}  # one copy of equal cells
    try:
        with path.open(encoding="utf-8-sig", newline="\n") as file:
            for line, text in enumerate(file, start=1):
                if not text.strip():
                    continue
                row = _json_object(text.removesuffix("\n"), path.name, line)
                if isinstance(row, Problem):
                    problems.append(row)
                    continue
                fresh = [name for name in row if name not in columns]
                _check_width(path, len(columns) + len(fresh))
                for name in fresh:
                    columns[name] = [NAN] * len(lines)
                lines.append(line)
                for name, column in columns.items():
                    cell = row.get(name, NAN)
                    column.append(
                        same.setdefault(cell, cell) if isinstance(cell, str) else cell
                    )
    except UnicodeDecodeError as error:
        raise _not_text(path) from error
    if problems:
        raise InputError(problems)
    return pd.DataFrame(columns, index=lines, dtype=object)


def _json_object(text: str, file: str, line: int) -> dict[str, object] | Problem:
    try:
        row = json.loads(text)
        if "\\u" in text:  # no halves of letters
            json.dumps(row, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        expected = f"a JSON object ({error.msg}, column {error.colno})"
        return Problem(file, expected, line)
    except (RecursionError, ValueError) as error:
        return Problem(file, f"a JSON object ({error})", line)
    return row if isinstance(row, dict) else Problem(file, "a JSON object", line)


def _read_parquet(path: Path) -> pd.DataFrame:
    try:
        file = parquet.read_metadata(path)
        _check_width(path, file.num_columns)
        rows = file.num_rows
        if rows > LARGEST_TABLE:
            expected = f"at most {LARGEST_TABLE:,} rows, in parts if need be"
            raise InputError([Problem(path.name, expected, value=f"{rows:,} rows")])
        frame = pd.read_parquet(path)
    except InputError:
        raise
    except ValueError as error:
        raise InputError([Problem(path.name, f"a Parquet file ({error})")]) from error
    frame.index = pd.RangeIndex(2, len(frame) + 2)
    return frame
