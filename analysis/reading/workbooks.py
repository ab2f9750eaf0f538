"""Read a sheet of an .xlsx workbook as a table."""

import zlib
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import TypeAlias
from xml.etree.ElementTree import ParseError
from zipfile import BadZipFile, ZipFile

import openpyxl
import pandas as pd
from openpyxl.utils.exceptions import InvalidFileException

from analysis.problems import InputError, Problem, Problems, listed, shown
from analysis.reading.csv_files import (
    DECIMAL_COMMA,
    check_nothing_above,
    check_width,
    doubled_names,
)

Row: TypeAlias = tuple[object, ...]
# Unpacked; what is packed well takes far more memory than it seems.
LARGEST_UNPACKED = 10**9
# What a broken workbook makes of its reader.
BROKEN = (
    BadZipFile,
    InvalidFileException,
    ParseError,
    zlib.error,
    AttributeError,
    EOFError,
    IndexError,
    KeyError,
    RuntimeError,
    TypeError,
    ValueError,
)
ERRORS = ("#DIV/0!", "#N/A", "#NAME?", "#NULL!", "#NUM!", "#REF!", "#VALUE!")


def read_workbook(path: Path, sheet: str, columns: Sequence[str] = ()) -> pd.DataFrame:
    """Read the sheet of a name, or the only one that has the columns."""
    try:
        title, rows = _rows(path, sheet, columns)
        never = _uncalculated(path, title, rows)
    except InputError:
        raise
    except BROKEN as error:
        what = f"an .xlsx workbook ({shown(str(error))})"
        raise InputError([Problem(path.name, what)]) from error
    file = f"{path.name}#{sheet}" if sheet else path.name
    return _table(path.with_name(file), rows, never, columns)


def _rows(path: Path, sheet: str, columns: Sequence[str]) -> tuple[str, list[Row]]:
    """Return the name of the selected sheet, and all of its rows."""
    check_unpacked(path)
    book = openpyxl.load_workbook(path, read_only=True, data_only=True)
    try:
        title = sheet or _meant(book, path, columns)
        titles = [one.title for one in book.worksheets]
        if title not in titles:
            expected = f"one of its sheets: {listed(titles)}"
            raise InputError([Problem(path.name, expected, value=sheet)])
        return title, list(_every(book, title))
    finally:
        book.close()


def check_unpacked(path: Path) -> None:
    """Refuse a workbook that would fill the memory, before it is unpacked."""
    with ZipFile(path) as packed:
        size = sum(part.file_size for part in packed.infolist())
    if size > LARGEST_UNPACKED:
        expected = f"at most {LARGEST_UNPACKED // 10**6:,} MB when unpacked"
        raise InputError([Problem(path.name, expected, value=f"{size // 10**6:,} MB")])


def _every(book: openpyxl.Workbook, title: str) -> Iterator[Row]:
    sheet = book[title]
    sheet.reset_dimensions()  # some programs write wrong ones
    yield from sheet.iter_rows(values_only=True)


def _meant(book: openpyxl.Workbook, path: Path, columns: Sequence[str]) -> str:
    """Return the only sheet that can be meant; hidden ones are not."""
    headers = {
        sheet.title: _names(next(_every(book, sheet.title), ()))
        for sheet in book.worksheets
        if sheet.sheet_state == "visible"
    }
    filled = {title: header for title, header in headers.items() if header}
    fitting = [title for title, own in filled.items() if set(columns) <= set(own)]
    if not fitting and len(filled) < 2:
        fitting = [*filled, *headers, *book.sheetnames][:1]
    if len(fitting) != 1:
        raise InputError([_unclear(path, filled, fitting, columns)])
    return str(fitting[0])


def _unclear(
    path: Path,
    filled: Mapping[str, Sequence[str]],
    fitting: Sequence[str],
    columns: Sequence[str],
) -> Problem:
    wanted = f"the columns {listed(columns)}"
    if fitting:
        return Problem(
            path.name,
            f"the name of a sheet behind that of the file, as in "
            f"{path.name}#{fitting[0]}; {listed(fitting)} have {wanted}",
        )
    found = "; ".join(f"{title} has {listed(own)}" for title, own in filled.items())
    return Problem(path.name, f"a sheet with {wanted}; {found}")


def _names(row: Row) -> list[str]:
    """Return the names of columns, without empty ones behind the last."""
    names = ["" if cell is None else str(cell).strip() for cell in row]
    while names and not names[-1]:
        names.pop()
    return names


def _uncalculated(path: Path, title: str, rows: Sequence[Row]) -> dict[int, list[int]]:
    """Return where a formula has no value: places of cells by places of rows."""
    if all(cell is not None for row in rows for cell in row):
        return {}
    found: dict[int, list[int]] = {}
    book = openpyxl.load_workbook(path, read_only=True)
    try:
        for k, (row, given) in enumerate(zip(rows, _every(book, title), strict=True)):
            empty = [
                i
                for i, (value, formula) in enumerate(zip(row, given, strict=True))
                if value is None and formula is not None
            ]
            if empty:
                found[k] = empty
    finally:
        book.close()
    return found


def _table(
    path: Path,
    rows: Sequence[Row],
    never: Mapping[int, Sequence[int]],
    columns: Sequence[str],
) -> pd.DataFrame:
    header = _names(rows[0]) if rows else []
    check_width(path, len(header))
    if columns and not {*columns} & {*header}:
        below = ((k, _names(row)) for k, row in enumerate(rows, 1))
        check_nothing_above(path, below, columns)
    if not header and len(rows) > 1:
        raise InputError([Problem(path.name, "the names of the columns", 1)])
    problems = Problems(doubled_names(path, header))
    required = [i for i, name in enumerate(header) if name in columns]
    lines: list[int] = []
    cells: list[list[object]] = []
    for k, row in enumerate(rows[1:], 1):
        problems += _row_problems(path, k + 1, row, header, never.get(k, ()), required)
        own = [_plain(cell) for cell in row[: len(header)]]
        if any(cell not in (None, "") for cell in own):
            lines.append(k + 1)
            cells.append(own + [None] * (len(header) - len(own)))
    if problems:
        raise InputError(problems)
    frame = pd.DataFrame(cells, index=lines, columns=header, dtype=object)
    frame.attrs[DECIMAL_COMMA] = True
    return frame


def _row_problems(
    path: Path,
    line: int,
    row: Row,
    header: Sequence[str],
    never: Sequence[int],
    required: Sequence[int],
) -> Iterator[Problem]:
    filled = [i for i, cell in enumerate(row) if cell is not None]
    if filled and filled[-1] >= len(header):
        expected = f"{len(header)} columns as in the header, not {filled[-1] + 1}"
        yield Problem(path.name, expected, line)
    for i in never:
        name = header[i] if i < len(header) else ""
        expected = "a value, not a formula that was never calculated"
        yield Problem(path.name, f"{expected}: save it in a spreadsheet", line, name)
    for i in required:
        if i < len(row) and row[i] in ERRORS:
            yield Problem(path.name, "a value, no error", line, header[i], str(row[i]))


def _plain(cell: object) -> object:
    """Return a cell as another kind of file would have it."""
    if isinstance(cell, datetime) and cell.time() == time():
        return cell.date().isoformat()
    if isinstance(cell, (date, time)):
        return cell.isoformat()
    return str(cell) if isinstance(cell, timedelta) else cell
