"""Read a table as it stands, line numbers kept: text, workbooks, JSONL, Parquet."""

import json
import re
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from analysis.problems import InputError, Problem, Problems
from analysis.reading.csv_files import check_width, not_text, read_csv
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
            frame = _read_workbook(file, sheet, columns)
        elif suffix in OTHERS:
            frame = OTHERS[suffix](file)
        else:
            raise InputError([Problem(str(path), f"a {SUFFIXES} file")])
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError([Problem(str(path), f"a readable file ({reason})")]) from error
    if frame.empty:
        raise InputError([Problem(path.name, "at least one row below the header", 1)])
    return frame


def _read_workbook(path: Path, sheet: str, columns: Sequence[str]) -> pd.DataFrame:
    try:
        from analysis.reading.workbooks import read_workbook
    except ImportError as error:
        expected = "the package openpyxl, which reads workbooks, installed"
        raise InputError([Problem(path.name, expected)]) from error
    return read_workbook(path, sheet, columns)


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
    try:
        from pyarrow import parquet
    except ImportError as error:
        expected = "the package pyarrow, which reads Parquet, installed"
        raise InputError([Problem(path.name, expected)]) from error
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
