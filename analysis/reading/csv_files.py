"""Read a table from text; its encoding and what separates its columns are found."""

import codecs
import csv
import re
from array import array
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from analysis.problems import InputError, Problem, Problems, listed

if TYPE_CHECKING:
    from _csv import Reader

# A hundred thousand columns, in a file of one megabyte, would take minutes.
LARGEST_WIDTH = 1000
# Separators, the first being taken where no other is better.
SEPARATORS = (",", ";", "\t")
# Titles, or a spreadsheet's sep=, may stand in so many lines above the header.
MOST_LINES_ABOVE = 20
# Set in `attrs` of a frame whose numbers may have a comma before their decimals.
DECIMAL_COMMA = "decimal comma"
READABLE = "UTF-8 text, or UTF-16 that begins with a byte order mark"
_BREAK = re.compile("\r\n|\r|\n")


def check_width(path: Path, columns: int) -> None:
    """Refuse a table of too many columns."""
    if columns > LARGEST_WIDTH:
        expected = f"at most {LARGEST_WIDTH:,} columns"
        raise InputError([Problem(path.name, expected, 1)])


def doubled_names(path: Path, header: Sequence[str]) -> list[Problem]:
    """Return a problem for each name that a header has twice."""
    doubled = sorted({name for name in header if header.count(name) > 1})
    return [
        Problem(path.name, "a column name once", 1, name or "(empty)")
        for name in doubled
    ]


def check_nothing_above(
    path: Path, rows: Iterable[tuple[int, Sequence[str]]], columns: Sequence[str]
) -> None:
    """Refuse a table whose columns are named below its first line."""
    for line, row in islice(rows, MOST_LINES_ABOVE + 1):
        if line > 1 and set(columns) <= {cell.strip() for cell in row}:
            expected = (
                f"the names of the columns, which are on line {line}; delete what "
                "stands above them"
            )
            raise InputError([Problem(path.name, expected, 1)])


def read_csv(path: Path, columns: Sequence[str] = ()) -> pd.DataFrame:
    """Read a text file row by row, and say what is wrong with its lines."""
    encoding = _encoding(path)
    try:
        separator = _separator(path, encoding, columns)
        frame = _read(path, encoding, separator)
    except UnicodeDecodeError as error:
        raise not_text(path, encoding) from error
    if separator != ",":
        frame.attrs[DECIMAL_COMMA] = True
    return frame


def _encoding(path: Path) -> str:
    with path.open("rb") as file:
        start = file.read(2)
    is_wide = start in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
    return "utf-16" if is_wide else "utf-8-sig"


def _separator(path: Path, encoding: str, columns: Sequence[str]) -> str:
    """Return what splits the header into most of the columns, or else most parts."""
    headers = {mark: _header(path, encoding, mark) for mark in SEPARATORS}
    wanted = set(columns)
    found = max(
        headers, key=lambda mark: (len(wanted & {*headers[mark]}), len(headers[mark]))
    )
    header = headers[found]
    if columns and not wanted & {*header}:
        for mark in SEPARATORS:
            check_nothing_above(path, _rows(path, encoding, mark), columns)
    if any("\0" in name for name in header):
        raise InputError([Problem(path.name, READABLE, 1)])
    if len(header) == 1 and columns and header[0] not in wanted:
        expected = (
            f"the columns {listed(columns)}, separated by commas, semicolons or tabs"
        )
        raise InputError([Problem(path.name, expected, 1, value=header[0])])
    return found


def _header(path: Path, encoding: str, separator: str) -> list[str]:
    with path.open(encoding=encoding, newline="") as file:
        try:
            row = next(csv.reader(file, strict=True, delimiter=separator), [])
        except csv.Error:
            row = []
    return [name.strip() for name in row]


def _rows(path: Path, encoding: str, separator: str) -> Iterator[tuple[int, list[str]]]:
    """Yield rows as far as they can be split so, with the lines they begin on."""
    with path.open(encoding=encoding, newline="") as file, suppress(csv.Error):
        yield from _numbered(csv.reader(file, strict=True, delimiter=separator))


def _read(path: Path, encoding: str, separator: str) -> pd.DataFrame:
    problems: Problems[Problem] = Problems()
    header: list[str] = []
    lines: list[int] = []
    # Of each column its different cells, and which of them every row has.
    known: list[dict[str, int]] = []
    columns: list[array[int]] = []
    with path.open(encoding=encoding, newline="") as file:
        reader = csv.reader(file, strict=True, delimiter=separator)
        try:
            header = [name.strip() for name in next(reader, [])]
            check_width(path, len(header))
            known = [{} for _ in header]
            columns = [array("i") for _ in header]
            for start, row in _numbered(reader):
                if len(row) != len(header):
                    expected = f"{len(header)} columns as in the header, not {len(row)}"
                    problems.append(Problem(path.name, expected, start))
                    continue
                lines.append(start)
                for column, cells, cell in zip(columns, known, row, strict=True):
                    column.append(cells.setdefault(cell, len(cells)))
        except csv.Error as error:
            what = f"CSV ({error})"
            problems.append(Problem(path.name, what, reader.line_num))
            _check_text(file)
    if not header and problems:
        raise InputError([Problem(path.name, "the names of the columns", 1)])
    problems += doubled_names(path, header)
    if problems:
        raise InputError(problems)
    texts = {
        name: pd.Categorical.from_codes(column, pd.Index(cells, dtype="str"))
        for name, column, cells in zip(header, columns, known, strict=True)
    }
    return pd.DataFrame(texts, index=lines, copy=False)


def _numbered(reader: "Reader") -> Iterator[tuple[int, list[str]]]:
    """Yield rows and the lines they begin on; lines without a filled cell are none."""
    start = reader.line_num + 1
    for row in reader:
        if any(row):
            yield start, row
        start = reader.line_num + 1


def _check_text(file: Iterator[str]) -> None:
    """Read on, so that what is no text is named before anything else."""
    for _ in file:
        pass


def not_text(path: Path, encoding: str) -> InputError:
    """Say on which line, and at which byte of the file, a file stops being text."""
    data = path.read_bytes()
    try:
        data.decode(encoding)
    except UnicodeDecodeError as error:
        left = error.object[: error.start]
        line = len(_BREAK.findall(left.decode(encoding, "ignore"))) + 1
        place = len(data) - len(error.object) + error.start
        value = f"byte {place + 1:,} (0x{data[place]:02x})"
        return InputError([Problem(path.name, READABLE, line, value=value)])
    return InputError([Problem(path.name, READABLE)])
