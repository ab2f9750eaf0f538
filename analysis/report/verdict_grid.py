"""Tables of every metric by every statistic, with bars of the leading one."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from analysis.options import KNOWN_COEFFICIENTS
from analysis.pairwise.metric_errors import MISSES
from analysis.report.findings_metrics import degradation_text
from analysis.report.findings_verdicts import COUNTED
from analysis.report.language import counted
from analysis.report.language import gettext as _
from analysis.report.paper.layout import run_together
from analysis.report.paper.letters import Way, metric_letters
from analysis.report.wording import (
    MINUS,
    WORDS,
    ResultTables,
    number,
    per_cent,
    records,
    word,
)
from analysis.statistics import named
from analysis.verdicts import ABOVE, ACCURACIES, BELOW

# Statistics and levels in reading order; those that account for ties come first.
STATISTICS = (*ACCURACIES, "spa", *KNOWN_COEFFICIENTS)
LEVELS = ("pairs", "story", "pooled", "within_method", "residual", "method")
SHARES = (*ACCURACIES, "spa")
# The nouns that are counted for statistics without a level.
OF_SHARES = {"ppa_half": "pair", "acc_eq": "pair", "spa": "pair of methods"}
SHOWN = {ABOVE: "above", BELOW: "below"}
# The most numbers on the axis of bars, and the empty share at its ends.
MOST_TICKS = 4
MARGIN = 0.08
STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
Rows = Mapping[str, Mapping[str, Any]]  # by metric


@dataclass(frozen=True)
class Bar:
    """A value and its interval, as positions in the width of the drawing."""

    at: str
    low: str = ""
    high: str = ""


@dataclass(frozen=True)
class Axis:
    """The axis of the bars: values at both ends, and numbers with their positions.

    `marks` are the positions of chance and the ceiling, by the name of their row.
    """

    low: float
    high: float
    ticks: tuple[tuple[str, str], ...] = ()
    marks: Mapping[str, str] | None = None

    def place(self, value: float) -> str:
        """Return the position of a value, in per cent of the width."""
        return f"{100 * (value - self.low) / (self.high - self.low):.1f}%"


@dataclass(frozen=True)
class Cell:
    """One number: its text, interval, letters, sort key, and finding."""

    text: str = ""
    interval: str = ""
    letters: str = ""
    sorts: str = ""
    shows: str = ""


@dataclass(frozen=True)
class Line:
    """The row of a metric, of chance, or of the ceiling.

    Attributes
    ----------
    bar
        The bar of the leading statistic.
    misses
        The degradation that the metric is shown not to detect.
    """

    name: str
    role: str
    cells: tuple[Cell, ...]
    bar: Bar | None = None
    misses: str = ""


@dataclass(frozen=True)
class Grid:
    """All metrics of a question; columns are a title and a count."""

    question: str
    axis: Axis | None
    columns: tuple[tuple[str, str], ...]
    lines: tuple[Line, ...]
    references: tuple[Line, ...]

    @property
    def weight(self) -> int:
        """The number of table cells that take as many bytes on the page."""
        return 6 * len(self.lines) * len(self.columns)


def verdict_grids(tables: ResultTables) -> list[Grid]:
    """Return a table of each question, the highest metric first, declared ones marked.

    Columns are the statistics, with the leading one first.
    """
    return [
        _grid(str(question), records(rows), tables)
        for question, rows in tables["verdicts"].groupby("question", sort=True)
    ]


def _grid(question: str, rows: list[dict[str, Any]], tables: ResultTables) -> Grid:
    by_way: dict[Way, dict[str, dict[str, Any]]] = {}
    for row in rows:
        way = str(row["statistic"]), str(row["level"]), str(row["source"])
        by_way.setdefault(way, {})[str(row["metric"])] = row
    by_way = {way: own for way, own in by_way.items() if _counts(own, way)} or by_way
    ways = sorted(
        by_way,
        key=lambda way: (
            not any(row["leads"] for row in by_way[way].values()),
            LEVELS.index(way[1]),
            STATISTICS.index(way[0]),
            way[2],
        ),
    )
    first = by_way[ways[0]]
    real = {str(row["metric"]): row for row in rows if row["role"] != "baseline"}
    misses = {
        str(row["metric"]): degradation_text(str(row["twins"]))
        for row in rows
        if row["role"] != "baseline" and row.get("twins_verdict") == MISSES
    }

    def place(name: str) -> tuple[bool, float, str]:
        # Metrics without an interval have no verdict and come last.
        value, low = (_number(first.get(name), key) for key in ("value", "low"))
        return math.isnan(low), math.inf if math.isnan(value) else -value, name

    names = sorted(real, key=place)
    shows_n = {way: len(_counts(by_way[way], way)) > 1 for way in ways}
    marks = {}
    for way in ways:
        values = {name: _number(by_way[way].get(name), "value") for name in names}
        own = pd.Series(values, dtype=float)
        marks[way] = metric_letters(tables, question, way, own)
    axis = _axis([first[name] for name in names if name in first], ways[0])
    lines = [
        Line(
            name,
            str(real[name]["role"]),
            tuple(
                _cell(
                    by_way[way].get(name), way, marks[way].get(name, ""), shows_n[way]
                )
                for way in ways
            ),
            _bar(axis, first.get(name)),
            misses.get(name, ""),
        )
        for name in names
    ]
    several = len({way[2] for way in ways}) > 1
    columns = [(way_title(way, several=several), _n(by_way[way], way)) for way in ways]
    references = [_reference(name, by_way, ways, axis) for name in WORDS["references"]]
    # Chance is always known, the ceiling only if several people rated the same items.
    known = [
        *references[:1],
        *(x for x in references[1:] if any(c.text for c in x.cells)),
    ]
    return Grid(question, axis, tuple(columns), tuple(lines), tuple(known))


def way_title(way: Way, *, several: bool) -> str:
    """Return the title of a statistic, with its answers if there are several kinds."""
    statistic, level, source = way
    title = named("symbol")[statistic]
    if statistic not in SHARES and level in WORDS["level-letters"]:
        title = word("level-letters", level, letter=title)
    if not several or level != "pairs":
        return title
    return _("{title}, {answers}", title=title, answers=word("answers", source))


# Cells --------------------------------------------------------------------------------


def _number(row: Mapping[str, Any] | None, name: str) -> float:
    return math.nan if row is None or pd.isna(row[name]) else float(row[name])


def _numbers(rows: Iterable[Mapping[str, Any]], name: str) -> set[float]:
    """Return the distinct numbers in the rows of metrics."""
    real = [_number(row, name) for row in rows if row["role"] != "baseline"]
    return {value for value in real if not math.isnan(value)}


def _counted_in(way: Way) -> str:
    """Return the column that counts averaged stories or methods, or points."""
    return "n" if way[1] in ("pairs", "pooled", "method") else "n_groups"


def _counts(own: Rows, way: Way) -> set[float]:
    known = [row for row in own.values() if not math.isnan(_number(row, "value"))]
    return _numbers(known, _counted_in(way))


def _n(own: Rows, way: Way) -> str:
    """Return the count of a column if all metrics share it, or its noun."""
    counts = _counts(own, way)
    noun = OF_SHARES[way[0]] if way[0] in SHARES else COUNTED[way[1]]
    return counted(counts.pop(), noun) if len(counts) == 1 else word("counts", noun)


def _cell(row: Mapping[str, Any] | None, way: Way, letters: str, shows_n: bool) -> Cell:
    value, low, high = (_number(row, key) for key in ("value", "low", "high"))
    if row is None or math.isnan(value):
        return Cell(sorts="-9")
    known = not (math.isnan(low) or math.isnan(high))
    parts = [_from_to([low, high], way)] if known else []
    if shows_n:
        parts.append(f"· {_number(row, _counted_in(way)):.0f}")
    shown = SHOWN.get(str(row["verdict"]), "")
    marks = run_together(letters)
    return Cell(_text(value, way), " ".join(parts), marks, f"{value:.5f}", shown)


def _text(value: float, way: Way) -> str:
    return per_cent(value) if way[0] in SHARES else number(value)


def _from_to(ends: Sequence[float], way: Way) -> str:
    is_share = way[0] in SHARES
    low, high = (
        f"{100 * end:.0f}".replace("-", MINUS) if is_share else number(end)
        for end in ends
    )
    return _("{low} to {high}", low=low, high=high)


def _reference(
    name: str, by_way: Mapping[Way, Rows], ways: Sequence[Way], axis: Axis | None
) -> Line:
    """Return the row of chance, or of one annotator, for each statistic.

    Chance of acc_eq differs between metrics: the lowest and the highest are written.
    """
    cells = []
    for way in ways:
        texts = [_text(x, way) for x in sorted(_numbers(by_way[way].values(), name))]
        ends = [*dict.fromkeys([*texts[:1], *texts[-1:]])]
        text = _("{low} to {high}", low=ends[0], high=ends[1]) if ends[1:] else ""
        cells.append(Cell(text or "".join(ends)))
    title = word("references", name)
    place = axis.marks.get(title) if axis and axis.marks else None
    return Line(title, "reference", tuple(cells), Bar(place) if place else None)


# Bars ---------------------------------------------------------------------------------


def _axis(rows: Sequence[Mapping[str, Any]], way: Way) -> Axis | None:
    """Return the axis of a statistic's bars, with chance and one annotator."""
    known = [row for row in rows if not math.isnan(_number(row, "value"))]
    values = [_number(row, key) for row in known for key in ("value", "low", "high")]
    marks = {}
    for name in WORDS["references"]:
        reached = _numbers(rows, name)
        if len(reached) == 1:
            marks[word("references", name)] = reached.pop()
    return axis_of(values, marks, per_cent if way[0] in SHARES else number)


def axis_of(
    values: Iterable[float], marks: Mapping[str, float], text: Callable[[float], str]
) -> Axis | None:
    """Return an axis that covers all values and marks; None if all are NaN.

    `text` formats a number of the axis.
    """
    known = [x for x in (*values, *marks.values()) if not math.isnan(x)]
    if not known:
        return None
    room = MARGIN * (max(known) - min(known) or 1.0)
    low, high = min(known) - room, max(known) + room
    place = Axis(low, high).place
    numbers = _ticks(low + room / 2, high - room / 2)
    ticks = tuple((place(x), text(x)) for x in numbers)
    return Axis(low, high, ticks, {name: place(x) for name, x in marks.items()})


def _ticks(low: float, high: float) -> list[float]:
    """Return round numbers inside the bounds.

    >>> _ticks(0.46, 0.71)
    [0.5, 0.6, 0.7]
    """
    size = 10.0 ** math.floor(math.log10((high - low) / MOST_TICKS))
    for step in (size * step for step in STEPS):
        first, last = math.ceil(low / step), math.floor(high / step)
        if last - first < MOST_TICKS:
            break
    return [round(n * step, 10) for n in range(first, last + 1)]


def _bar(axis: Axis | None, row: Mapping[str, Any] | None) -> Bar | None:
    """Return the bar of a value, with its interval if it has one."""
    value, low, high = (_number(row, key) for key in ("value", "low", "high"))
    if axis is None or math.isnan(value):
        return None
    if math.isnan(low) or math.isnan(high):
        return Bar(axis.place(value))
    return Bar(axis.place(value), axis.place(low), axis.place(high))
