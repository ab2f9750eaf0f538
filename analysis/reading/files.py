"""Read a table as it stands, line numbers kept: text, workbooks, JSONL, Parquet."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from os import PathLike, fspath
from pathlib import Path
from typing import TypeAlias

import pandas as pd

from analysis.problems import InputError, Problem, Problems
from analysis.reading.csv_files import LARGEST_WIDTH, check_width, not_text, read_csv
from analysis.results import NAN

SUFFIXES = ".csv, .tsv, .txt, .xlsx, .jsonl or .parquet"
# About ten million answers: reading them takes 1.6 GB of memory, laying them out 3.
LARGEST_FILE = 512 * 10**6
LARGEST_TABLE = 10**7
# What a broken Parquet file makes of its readers.
BROKEN = (AttributeError, LookupError, NotImplementedError, TypeError, ValueError)
_SHEET = re.compile(r"(.*\.xlsx)#(.+)", re.IGNORECASE | re.DOTALL)


def file_and_sheet(path: Path) -> tuple[Path, str]:
    """Split FILE.xlsx#SHEET; the sheet is empty where none is named."""
    named = _SHEET.fullmatch(str(path))
    return (Path(named[1]), named[2]) if named else (path, "")


def read_file(path: Path, columns: Sequence[str] = ()) -> pd.DataFrame:
    """Read a file as it stands, by its suffix."""
    file, sheet = file_and_sheet(path)
    suffix = file.suffix.lower()
    try:
        _check_size(file)
        if suffix in (".csv", ".tsv", ".txt"):
            frame = read_csv(file, columns)
        elif suffix == ".xlsx":
            from analysis.reading.workbooks import read_workbook

            frame = read_workbook(file, sheet, columns)
        elif suffix in OTHERS:
            frame = OTHERS[suffix](file)
        else:
            raise InputError([Problem(str(path), f"a {SUFFIXES} file")])
    except ImportError as error:
        what = {"openpyxl": "workbooks"}.get(str(error.name), "Parquet")
        expected = f"the package {error.name}, which reads {what}, installed"
        raise InputError([Problem(path.name, expected)]) from error
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


def _megabytes(size: int) -> str:
    """Write a size, rounded up."""
    return f"{-(-size // 10**6):,} MB"


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
                check_width(path, len(columns) + len(fresh))
                for name in fresh:
                    columns[name] = [NAN] * len(lines)
                lines.append(line)
                for name, column in columns.items():
                    cell = row.get(name, NAN)
                    column.append(
                        same.setdefault(cell, cell) if isinstance(cell, str) else cell
                    )
    except UnicodeDecodeError as error:
        raise not_text(path, "utf-8-sig") from error
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
    from pyarrow import parquet

    try:
        file = parquet.read_metadata(path)
        check_width(path, file.num_columns)
        rows = file.num_rows
        if rows > LARGEST_TABLE:
            expected = f"at most {LARGEST_TABLE:,} rows, in parts if need be"
            raise InputError([Problem(path.name, expected, value=f"{rows:,} rows")])
        table = parquet.read_table(path)
        table.validate(full=True)  # cells that are no UTF-8 are read without a word
        frame: pd.DataFrame = table.to_pandas()
    except InputError:
        raise
    except BROKEN as error:
        raise InputError([Problem(path.name, f"a Parquet file ({error})")]) from error
    frame.index = pd.RangeIndex(2, len(frame) + 2)
    return frame


OTHERS = {".jsonl": _read_jsonl, ".parquet": _read_parquet}


# A file of any kind that `files` reads by its path, or a frame of the same columns.
Table: TypeAlias = pd.DataFrame | PathLike[str] | str
# The index of a frame's rows has this name; that of a file's lines has none.
ROW = "row"
# As in a file, the names of the columns stand on line 1 and the rows from line 2.
FIRST = 2


def opened(
    table: object, name: str, columns: Sequence[str], index: Sequence[str] = ()
) -> tuple[pd.DataFrame, str]:
    """Return the rows of a file or a frame as they stand, and what it is called."""
    if isinstance(table, pd.DataFrame):
        return frame_rows(table, name, tuple(dict.fromkeys((*columns, *index)))), name
    if not isinstance(table, str | PathLike):
        expected = "a pandas DataFrame, or the path of a file"
        raise InputError([Problem(name, expected, value=type(table).__name__)])
    path = Path(fspath(table))
    return read_file(path, columns), path.name


def frame_rows(
    frame: pd.DataFrame, name: str, columns: Sequence[str] = ()
) -> pd.DataFrame:
    """Return a frame with its rows numbered as the lines of a file would be."""
    if frame.columns.nlevels > 1:
        expected = f"one name a column, not {frame.columns.nlevels} levels of names"
        raise InputError([Problem(name, expected, value=str(frame.columns[0]))])
    if frame.shape[1] > LARGEST_WIDTH:
        raise InputError([Problem(name, f"at most {LARGEST_WIDTH:,} columns")])
    rows = frame.set_axis(
        [c.strip() if isinstance(c, str) else c for c in frame.columns], axis=1
    )
    doubled = [column for column, n in Counter(rows.columns).items() if n > 1]
    inside = [c for c in columns if c in frame.index.names and c not in rows]
    problems = [Problem(name, "a column name once", None, str(c)) for c in doubled]
    problems += [
        Problem(name, f"a column, no index: give {name}.reset_index()", None, column)
        for column in inside
    ]
    if rows.empty and not problems:
        problems.append(Problem(name, "at least one row, and a column"))
    if problems:
        raise InputError(problems)
    rows.index = pd.RangeIndex(FIRST, FIRST + len(rows), name=ROW)
    return rows


def place(index: pd.Index, line: object) -> str:
    """Return where a row stands in words: a line of a file, a position in a frame."""
    return f"iloc[{int(str(line)) - FIRST}]" if index.name == ROW else f"line {line}"


def address(name: str, index: pd.Index, line: object) -> str:
    """Return a row with its table, as problems name it."""
    where = place(index, line)
    return f"{name}.{where}" if index.name == ROW else f"{name}:{line}"


@contextmanager
def placed_in(name: str, rows: Sequence[str] = ()) -> Iterator[None]:
    """Name problems of a frame by the row's position, as in ``ratings.iloc[3]``."""
    try:
        yield
    except InputError as error:
        problems = error.problems
        problems[:] = [_placed(problem, name, rows) for problem in problems]
        raise InputError(problems, error.table) from None


def _placed(problem: Problem, name: str, rows: Sequence[str]) -> Problem:
    at = (problem.line or 0) - FIRST
    if at >= 0:
        name = rows[at] if rows else f"{name}.iloc[{at}]"
    return replace(problem, file=name, line=None)
