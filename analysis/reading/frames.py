"""Tables that are data frames already: taken as files are, problems named by row."""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from os import PathLike, fspath
from pathlib import Path
from typing import TypeAlias

import pandas as pd

from analysis.problems import InputError, Problem
from analysis.reading.csv_files import LARGEST_WIDTH
from analysis.reading.files import read_file

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
    """Name problems of a frame by the row's position, as in ``ratings.iloc[3]``.

    Rows that stand elsewhere for who gave them have names of their own.
    """
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
