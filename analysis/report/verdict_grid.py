"""Every metric by every statistic, as one table a question: words of verdicts."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from analysis.options import KNOWN_COEFFICIENTS
from analysis.pairwise.metric_errors import MISSES
from analysis.report.findings_metrics import twins_text
from analysis.report.forest_bars import Axis, Bar, axis_of
from analysis.report.language import counted, say, texts
from analysis.report.wording import ANSWERS, number, per_cent, records
from analysis.statistics import named
from analysis.verdicts import ACCURACIES, AGREES, DOES_NOT

# Statistics and levels in reading order: what knows ties first.
STATISTICS = (*ACCURACIES, "spa", *KNOWN_COEFFICIENTS)
LEVELS = ("pairs", "story", "pooled", "within_method", "method")
SHARES = (*ACCURACIES, "spa")
OF_LEVELS = texts(
    story="story {letter}",
    pooled="pooled {letter}",
    within_method="within methods {letter}",
    method="method {letter}",
)
# What is counted, where all metrics of a column have the same number.
COUNTED = {
    "ppa_half": "pair",
    "acc_eq": "pair",
    "spa": "pair of methods",
    "method": "method",
    "story": "story",
    "within_method": "method",
    "pooled": "output",
}
# The same where each cell has its own number.
IN_CELLS = texts(
    {
        "pair": "· pairs",
        "pair of methods": "· pairs of methods",
        "method": "· methods",
        "story": "· stories",
        "output": "· outputs",
    }
)
# What metrics are held against: the column of verdicts, and its row in the table.
REFERENCES = texts({"chance": "Chance", "ceiling": "One annotator"})
Way = tuple[str, str, str]  # statistic, level, source


@dataclass(frozen=True)
class Cell:
    """One number: its text, interval, cluster, how it is sorted, and what it shows."""

    text: str = ""
    interval: str = ""
    cluster: str = ""
    sorts: str = ""
    shows: str = ""


@dataclass(frozen=True)
class Line:
    """One metric, or what it is held against.

    Attributes
    ----------
    bar
        Of the statistic that leads.
    misses
        What the metric is shown not to see of outputs made worse on purpose.
    """

    name: str
    role: str
    cells: tuple[Cell, ...]
    bar: Bar | None = None
    misses: str = ""


@dataclass(frozen=True)
class Grid:
    """All metrics of a question; columns are a title and what is counted there."""

    question: str
    axis: Axis | None
    columns: tuple[tuple[str, str], ...]
    lines: tuple[Line, ...]
    references: tuple[Line, ...]

    @property
    def weight(self) -> int:
        """Cells of a plain table that the page would hold for as many bytes."""
        return 6 * len(self.lines) * len(self.columns)


def verdict_grids(verdicts: pd.DataFrame) -> list[Grid]:
    """Return a table of each question, the highest metric first, declared ones marked.

    Columns are the statistics; the one by which the question is led comes first.
    """
    return [
        _grid(str(question), records(rows))
        for question, rows in verdicts.groupby("question", sort=True)
    ]


def letter(number: int) -> str:
    """Return the letter of a cluster.

    >>> letter(1), letter(26), letter(27)
    ('a', 'z', 'aa')
    """
    before, last = divmod(number - 1, 26)
    return (letter(before) if before else "") + chr(ord("a") + last)


def _grid(question: str, rows: list[dict[str, Any]]) -> Grid:
    by_way: dict[Way, dict[str, dict[str, Any]]] = {}
    for row in rows:
        way = str(row["statistic"]), str(row["level"]), str(row["source"])
        by_way.setdefault(way, {})[str(row["metric"])] = row
    by_way = {way: own for way, own in by_way.items() if _counts(own, way)} or by_way
    leading = {way for way, own in by_way.items() if _any(own, "leads")}
    ways = sorted(by_way, key=lambda way: (way not in leading, *_place(way)))
    sources = {way[2] for way in ways}
    real = [row for row in rows if row["role"] != "baseline"]
    roles = {str(row["metric"]): str(row["role"]) for row in real}
    misses = {
        str(row["metric"]): twins_text(str(row["twins"]))
        for row in real
        if row.get("twins_verdict") == MISSES
    }
    first = by_way[ways[0]]
    # What has no interval there cannot be judged, and stands below what can.
    names = sorted(
        roles,
        key=lambda name: (
            _number(first.get(name), "low") == -9,
            -_number(first.get(name), "value"),
            name,
        ),
    )
    told = [_told(by_way[way], way) for way in ways]
    axis = _axis([first[name] for name in names if name in first], ways[0])
    lines = [
        Line(
            name,
            roles[name],
            tuple(
                _cell(by_way[way].get(name), way, wanted)
                for way, wanted in zip(ways, told, strict=True)
            ),
            _bar(axis, first.get(name)),
            misses.get(name, ""),
        )
        for name in names
    ]
    references = [_reference("chance", by_way, ways, axis)]
    ceiling = _reference("ceiling", by_way, ways, axis)
    if any(cell.text for cell in ceiling.cells):
        references.append(ceiling)
    columns = tuple(
        (way_title(way, several=len(sources) > 1), _counted(by_way[way], way))
        for way in ways
    )
    return Grid(question, axis, columns, tuple(lines), tuple(references))


def _axis(rows: list[dict[str, Any]], way: Way) -> Axis | None:
    """Return what the bars of a statistic stand on, chance and one annotator."""
    known = [row for row in rows if _number(row, "value") > -9]
    values = [_known(row, key) for row in known for key in ("value", "low", "high")]
    marks = {}
    for name, title in REFERENCES.items():
        reached = {_number(row, name) for row in rows} - {-9.0}
        if len(reached) == 1:
            marks[say(title)] = reached.pop()
    return axis_of(values, marks, per_cent if way[0] in SHARES else number)


def _bar(axis: Axis | None, row: dict[str, Any] | None) -> Bar | None:
    if axis is None or row is None or _number(row, "value") == -9:
        return None
    return axis.bar(*(_known(row, key) for key in ("value", "low", "high")))


def _known(row: dict[str, Any], name: str) -> float:
    value = _number(row, name)
    return math.nan if value == -9 else value


def _place(way: Way) -> tuple[int, int, str]:
    return LEVELS.index(way[1]), STATISTICS.index(way[0]), way[2]


def _any(own: dict[str, dict[str, Any]], name: str) -> bool:
    return any(bool(row[name]) for row in own.values())


def _number(row: dict[str, Any] | None, name: str) -> float:
    """Return a number of a row; where there is none, one below all."""
    return -9.0 if row is None or pd.isna(row[name]) else float(row[name])


def way_title(way: Way, *, several: bool) -> str:
    """Return what a statistic is called, of several kinds of answers with its own."""
    statistic, level, source = way
    title = named("symbol")[statistic]
    if statistic not in SHARES and level in OF_LEVELS:
        title = say(OF_LEVELS[level], letter=title)
    if not several or level != "pairs":
        return title
    answers = say(ANSWERS.get(source, source))
    return say("{title}, {answers}", title=title, answers=answers)


def _counts(own: dict[str, dict[str, Any]], way: Way) -> set[float]:
    real = [row for row in own.values() if row["role"] != "baseline"]
    return {_number(row, _n(way)) for row in real if _number(row, "value") > -9}


def _counted(own: dict[str, dict[str, Any]], way: Way) -> str:
    """Return what is counted in a column: the number, where it is one for all."""
    counts = _counts(own, way)
    noun = COUNTED[way[0] if way[0] in SHARES else way[1]]
    return counted(counts.pop(), noun) if len(counts) == 1 else say(IN_CELLS[noun])


def _told(own: dict[str, dict[str, Any]], way: Way) -> tuple[bool, bool]:
    """Say whether cells of a column tell what is counted, and letters of clusters."""
    clusters = {_number(row, "cluster") for row in own.values()} - {-9.0}
    return len(_counts(own, way)) > 1, len(clusters) > 1


def _cell(row: dict[str, Any] | None, way: Way, told: tuple[bool, bool]) -> Cell:
    value, (tells_n, tells_cluster) = _number(row, "value"), told
    if row is None or value == -9:
        return Cell(sorts="-9")
    is_share = way[0] in SHARES
    low, high = _number(row, "low"), _number(row, "high")
    parts = [_bounds([low, high], is_share=is_share)] * (low > -9 and high > -9)
    if tells_n:
        parts.append(f"· {_number(row, _n(way)):.0f}")
    cluster = _number(row, "cluster")
    return Cell(
        per_cent(value) if is_share else number(value),
        " ".join(parts),
        letter(int(cluster)) if cluster > 0 and tells_cluster else "",
        f"{value:.5f}",
        {AGREES: "agrees", DOES_NOT: "below"}.get(str(row["verdict"]), ""),
    )


def _n(way: Way) -> str:
    """Return what is counted: stories, or methods, that are averaged; else points."""
    return "n_groups" if way[1] in ("story", "within_method") else "n"


def _bounds(values: Sequence[float], *, is_share: bool) -> str:
    ends = [
        f"{100 * value:.0f}".replace("-", "\N{MINUS SIGN}")
        if is_share
        else number(value)
        for value in values
    ]
    return say("{low} to {high}", low=ends[0], high=ends[1])


def _reference(
    name: str,
    by_way: dict[Way, dict[str, dict[str, Any]]],
    ways: list[Way],
    axis: Axis | None,
) -> Line:
    """Return what chance makes of each statistic, or one annotator reaches.

    Chance of acc_eq is each metric's own: the lowest and the highest are written.
    """
    cells = []
    for way in ways:
        real = [r for r in by_way[way].values() if r["role"] != "baseline"]
        known = sorted({_number(row, name) for row in real} - {-9.0})
        told = [per_cent(x) if way[0] in SHARES else number(x) for x in known]
        ends = [*dict.fromkeys([*told[:1], *told[-1:]])]
        text = say("{low} to {high}", low=ends[0], high=ends[1]) if ends[1:] else ""
        cells.append(Cell(text or "".join(ends)))
    title = say(REFERENCES[name])
    place = axis.marks.get(title) if axis else None
    return Line(title, "reference", tuple(cells), Bar(place) if place else None)
