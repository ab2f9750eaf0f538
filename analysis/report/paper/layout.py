"""Compact tables of a paper, and their numbers as text."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from analysis.report.wording import MINUS, Row
from analysis.results import NAN, SMALLEST_P

# More different reasons than this are left to the CSV file.
MOST_REASONS = 6
DASH = "–"
NOT_COMPUTED = "Not computed."
# Columns without larger values print powers of ten.
TINY = 0.01
# The parts of a bar.
PARTS = ("wins", "ties", "losses")


@dataclass(frozen=True)
class Cell:
    """One number with its interval and letters, or the reason why there is none.

    `text` is printed in place of the number, `shade` is the darkness from 0 to 1, and
    `parts` are the numbers of wins, ties and losses that a bar shows.
    """

    value: float = NAN
    low: float = NAN
    high: float = NAN
    letters: str = ""
    reason: str = ""
    text: str = ""
    is_bold: bool = False
    shade: float = 0.0
    parts: tuple[float, ...] = ()


ESTIMATE = ("value", "low", "high")


def group_title(row: Row) -> str:
    """Return the title of the group of stories of a row."""
    return f"{str(row['tag']).replace('_', ' ')}: {row['stratum']}"


def estimate(
    row: Row, names: Sequence[str] = ESTIMATE, missing: str = "", **further: Any
) -> Cell:
    """Return the cell of a result row; `missing` is the reason if it names none."""
    cells = (row[name] for name in names)
    value, low, high = (NAN if pd.isna(cell) else float(cell) for cell in cells)
    given = row.get("reason")
    reason = given if isinstance(given, str) else ""
    if math.isnan(value):
        reason = reason or missing
    return Cell(value, low, high, reason=reason, **further)


@dataclass(frozen=True)
class Column:
    """A column; one `in_unit` holds values of at most 1, without a leading zero."""

    title: str
    group: str = ""
    in_unit: bool = True


@dataclass(frozen=True)
class Line:
    """A row with its name, below the heading of its section."""

    name: str
    cells: tuple[Cell, ...]
    section: str = ""


@dataclass(frozen=True)
class PaperTable:
    """One table: `key` names its files, `stub` is the heading of its first column."""

    key: str
    caption: str
    stub: str
    columns: tuple[Column, ...]
    lines: tuple[Line, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Printed:
    """A cell as text: the number, its superscript, and the interval below."""

    text: str
    above: str
    below: str
    cell: Cell


def printed(table: PaperTable) -> tuple[list[list[Printed]], tuple[str, ...]]:
    """Return the cells of each line as text, and the notes with numbered reasons."""
    decimals = [
        _decimals([line.cells[i] for line in table.lines], column.in_unit)
        for i, column in enumerate(table.columns)
    ]
    reasons: list[str] = []
    rows = []
    for line in table.lines:
        cells = zip(line.cells, table.columns, decimals, strict=True)
        rows.append([_printed(cell, c.in_unit, d, reasons) for cell, c, d in cells])
    why = [f"{n} {text}" for n, text in enumerate(reasons[:MOST_REASONS], 1)]
    if len(reasons) > MOST_REASONS:
        why.append(f"{MOST_REASONS + 1} Other reasons: see {table.key}.csv.")
    return rows, (*table.notes, *why)


def _printed(cell: Cell, in_unit: bool, decimals: int, reasons: list[str]) -> Printed:
    if cell.text or cell.parts:
        return Printed(cell.text, cell.letters, "", cell)
    if math.isnan(cell.value):
        reason = cell.reason or NOT_COMPUTED
        if reason not in reasons:
            reasons.append(reason)
        place = min(reasons.index(reason), MOST_REASONS) + 1
        return Printed(DASH, str(place), "", cell)
    below = ""
    if not (math.isnan(cell.low) or math.isnan(cell.high)):
        ends = (numeral(x, decimals, in_unit=in_unit) for x in (cell.low, cell.high))
        below = f"[{', '.join(ends)}]"
    text = numeral(cell.value, decimals, in_unit=in_unit)
    return Printed(text, run_together(cell.letters), below, cell)


def _decimals(cells: Sequence[Cell], in_unit: bool) -> int:
    """Return the decimals with which a column has three digits at most.

    Whole numbers with whole intervals have none, and columns of tiny values -1.
    """
    if in_unit:
        return 2
    values = [cell.value for cell in cells if math.isfinite(cell.value)]
    ends = [x for cell in cells for x in (cell.low, cell.high) if math.isfinite(x)]
    if all(x == round(x) for x in (*values, *ends)):
        return 0
    largest = max(map(abs, values), default=0.0)
    if 0 < largest < TINY:
        return -1
    return 2 if largest < 9.995 else 1 if largest < 99.95 else 0


def numeral(value: float, decimals: int, *, in_unit: bool) -> str:
    """Return a number as papers print it; with negative decimals as a power of ten.

    >>> numeral(0.4514, 2, in_unit=True), numeral(-0.052, 2, in_unit=True)
    ('.45', '−.05')
    >>> numeral(3.2, 2, in_unit=False), numeral(0.0004, -1, in_unit=False)
    ('3.20', '4.0e−04')
    """
    if decimals < 0:
        return f"{value:.1e}".replace("-", MINUS)
    text = f"{round(value, decimals) + 0.0:.{decimals}f}".replace("-", MINUS)
    return text.replace("0.", ".", 1) if in_unit and abs(value) < 1 else text


def run_together(marks: str) -> str:
    """Shorten runs of letters.

    >>> run_together("abdefg")
    'abd–g'
    """
    runs: list[str] = []
    for letter in marks:
        if runs and ord(letter) == ord(runs[-1][-1]) + 1:
            runs[-1] += letter
        else:
            runs.append(letter)
    return "".join(f"{r[0]}{DASH}{r[-1]}" if len(r) > 2 else r for r in runs)


def packed(
    columns: Sequence[Column], sizes: Sequence[float], room: float
) -> Iterator[list[int]]:
    """Yield the columns of each part of a table; those of a group stay together.

    A group without room is divided.
    """
    groups: list[list[int]] = []
    for i, column in enumerate(columns):
        if groups and column.group and columns[groups[-1][-1]].group == column.group:
            groups[-1].append(i)
        else:
            groups.append([i])
    found: list[int] = []
    for group in groups:
        is_wide = sum(sizes[i] for i in group) > room
        for part in [[i] for i in group] if is_wide else [group]:
            if found and sum(sizes[i] for i in [*found, *part]) > room:
                yield found
                found = []
            found = [*found, *part]
    yield found


def p_numeral(value: float) -> str:
    """Return a p-value as papers print it.

    >>> p_numeral(0.0312), p_numeral(1e-9)
    ('.031', '<.001')
    """
    if math.isnan(value):
        return ""
    if value < SMALLEST_P:
        return f"<{numeral(SMALLEST_P, 3, in_unit=True)}"
    return numeral(value, 3, in_unit=True)


def spread(counts: Iterable[int]) -> str:
    """Return a number, or the smallest and the largest of several.

    >>> spread([3, 3]), spread([3, 9, 5])
    ('3', '3 to 9')
    """
    low, *between = sorted({*counts})
    return f"{low} to {between[-1]}" if between else f"{low}"


def as_frame(table: PaperTable) -> pd.DataFrame:
    """Return a table in full precision: value, interval, letters and reason apart."""
    columns: dict[str, list[object]] = {}
    if any(line.section for line in table.lines):
        columns["section"] = [line.section for line in table.lines]
    columns[table.stub] = [line.name for line in table.lines]
    for i, column in enumerate(table.columns):
        name = f"{column.group}: {column.title}" if column.group else column.title
        cells = [line.cells[i] for line in table.lines]
        if any(cell.parts for cell in cells):
            for n, part in enumerate(PARTS):
                columns[part] = [c.parts[n] if c.parts else NAN for c in cells]
            continue
        if any(cell.text for cell in cells):
            columns[name] = [cell.text or cell.reason for cell in cells]
            continue
        columns[name] = [cell.value for cell in cells]
        for part in ("low", "high"):
            ends = [getattr(cell, part) for cell in cells]
            if not all(map(math.isnan, ends)):
                columns[f"{name} {part}"] = list(ends)
        for part in ("letters", "reason"):
            texts = [getattr(cell, part) for cell in cells]
            if any(texts):
                columns[f"{name} {part}"] = list(texts)
        if any(cell.is_bold for cell in cells):
            columns[f"{name} declared"] = [cell.is_bold for cell in cells]
    return pd.DataFrame(columns).convert_dtypes()
