"""Read a table from CSV, JSONL or Parquet as it stands, line numbers kept."""

import csv
import io
import json
from pathlib import Path

import pandas as pd

from analysis.tables import InputError, Problem


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
        With every line that has not the shape of the others.
    """
    readers = {".csv": _read_csv, ".jsonl": _read_jsonl, ".parquet": _read_parquet}
    suffix = path.suffix.lower()
    if suffix not in readers:
        raise InputError([Problem(str(path), "a .csv, .jsonl or .parquet file")])
    try:
        frame = readers[suffix](path)
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError([Problem(str(path), f"a readable file ({reason})")]) from error
    if frame.empty:
        raise InputError([Problem(path.name, "at least one row below the header", 1)])
    return frame


def _decode(path: Path) -> str:
    data = path.read_bytes()
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise InputError([Problem(path.name, "UTF-8 text", line)]) from error


def _read_csv(path: Path) -> pd.DataFrame:
    reader = csv.reader(io.StringIO(_decode(path), newline=""), strict=True)
    problems: list[Problem] = []
    rows: list[list[str]] = []
    lines: list[int] = []
    header: list[str] = []
    try:
        header = [name.strip() for name in next(reader, [])]
        start = reader.line_num + 1
        for row in reader:
            if row and len(row) != len(header):
                expected = f"{len(header)} columns as in the header, not {len(row)}"
                problems.append(Problem(path.name, expected, start))
            elif row:
                rows.append(row)
                lines.append(start)
            start = reader.line_num + 1
    except csv.Error as error:
        problems.append(Problem(path.name, f"CSV ({error})", reader.line_num))
    doubled = sorted({name for name in header if header.count(name) > 1})
    problems += [
        Problem(path.name, "a column name once", 1, name or "(empty)")
        for name in doubled
    ]
    if problems:
        raise InputError(problems)
    return pd.DataFrame(rows, columns=header, index=lines, dtype=object)


def _read_jsonl(path: Path) -> pd.DataFrame:
    problems: list[Problem] = []
    rows: list[dict[str, object]] = []
    lines: list[int] = []
    for line, text in enumerate(_decode(path).split("\n"), start=1):
        if not text.strip():
            continue
        try:
            row = json.loads(text)
            json.dumps(row, ensure_ascii=False).encode()  # no halves of letters
        except json.JSONDecodeError as error:
            expected = f"a JSON object ({error.msg}, column {error.colno})"
            problems.append(Problem(path.name, expected, line))
            continue
        except (RecursionError, ValueError) as error:
            problems.append(Problem(path.name, f"a JSON object ({error})", line))
            continue
        if isinstance(row, dict):
            rows.append(row)
            lines.append(line)
        else:
            problems.append(Problem(path.name, "a JSON object", line))
    if problems:
        raise InputError(problems)
    return pd.DataFrame(rows, index=lines, dtype=object)


def _read_parquet(path: Path) -> pd.DataFrame:
    try:
        frame = pd.read_parquet(path)
    except ValueError as error:
        raise InputError([Problem(path.name, f"a Parquet file ({error})")]) from error
    frame = frame.astype(object)
    frame.index = pd.RangeIndex(2, len(frame) + 2)
    return frame
