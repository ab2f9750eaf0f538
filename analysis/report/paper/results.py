"""Tables of a paper whose rows are those of a result table."""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import pandas as pd

from analysis.report.paper.layout import (
    DASH,
    ESTIMATE,
    NOT_COMPUTED,
    Cell,
    Column,
    Line,
    PaperTable,
    estimate,
    p_numeral,
)
from analysis.report.paper.metrics import chosen, declared, intervals, leading_pairs
from analysis.report.wording import WORDS, ResultTables, Row, name_of, records

# Behind methods that are declared as trained on a metric.
MARK = " †"
TRAINED = "† Declared as trained on the metric, or selected by it."
# The columns of a value with its interval.
ENDS = len(ESTIMATE)
# Titles of columns of counts.
COUNTS = frozenset(("Combined", "Items", "Differ", "Answers"))


@dataclass(frozen=True)
class Layout:
    """The printed form of the rows of a result table.

    `line` and `section` name a row and its section by their columns. `columns` has by
    title a value with the ends of its interval, the ends of a range, or one column.
    `kept` is a query for the rows. Where `most` is given, those of the declared metrics
    are kept, or of as many leading ones of each question.
    """

    table: str
    caption: str
    stub: str
    line: str
    columns: Mapping[str, str]
    section: str = ""
    kept: str = ""
    most: int = 0
    in_unit: bool = False


LAYOUTS = {
    key: Layout(**keys)
    for key, keys in tomllib.loads(
        files("analysis.report.paper").joinpath("results.toml").read_text("utf-8")
    ).items()
}


def result_tables(tables: ResultTables, percent: str) -> Iterator[PaperTable]:
    """Yield a table for each layout whose main value is defined in some row."""
    for key, layout in LAYOUTS.items():
        rows = tables.get(layout.table, pd.DataFrame())
        if layout.kept and len(rows):
            rows = rows.query(layout.kept)
        rows, notes = _selected(tables, rows, layout)
        # The value with an interval, if there is one.
        main = max(layout.columns.values(), key=lambda own: own.count(" ")).split()
        if rows.empty or rows[main[0]].isna().all():
            continue
        coverage = percent
        drawn = rows.get("drawn", rows.get("test", pd.Series(["stories"])))
        if layout.table == "equivalence":  # of two one-sided tests
            coverage = f"{2 * float(percent.removesuffix(' %')) - 100:g} %"
        columns = {
            title: own.split()
            for title, own in layout.columns.items()
            if rows[own.split()[0]].notna().any()
        }
        lines = [
            Line(
                layout.line.format(**row),
                tuple(_cell(row, own) for own in columns.values()),
                layout.section.format(**row),
            )
            for row in _named(rows)
        ]
        by_section = pd.Index([line.section for line in lines])
        known = rows[main[0]].notna().groupby(by_section, sort=False).any()
        sections = [*known.index[known]]
        if others := [*known.index[~known]]:
            notes = (*notes, f"Not printed, since undefined: {'; '.join(others)}.")
        lines = [line for line in lines if line.section in sections]
        lines.sort(key=lambda line: sections.index(line.section))
        if any(line.name.endswith(MARK) for line in lines):
            notes = (TRAINED, *notes)
        yield PaperTable(
            key,
            layout.caption + (f" {intervals(coverage, drawn)}" if main[1:] else ""),
            layout.stub,
            tuple(
                Column(title, in_unit=layout.in_unit and title not in COUNTS)
                for title in columns
            ),
            tuple(lines),
            notes,
        )


def _selected(
    tables: ResultTables, rows: pd.DataFrame, layout: Layout
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Return the rows of the metrics to print, and a note if some are left out."""
    if layout.most and len(rows):
        pairs, notes = leading_pairs(tables, layout.most)
        known = zip(rows["question"], rows["metric"], strict=True)
        return rows[[pair in pairs for pair in known]], notes
    if layout.table == "meta_analysis" and len(rows):
        metrics, note = chosen(rows, declared(tables))
        return rows[rows["metric"].isin(metrics)], (note,) if note else ()
    return rows, ()


def _named(rows: pd.DataFrame) -> Iterator[Row]:
    """Yield rows with the names of statistics and levels in place of their keys."""
    for row in records(rows):
        level = WORDS["levels"].get(row.get("level", ""), "")
        names = {
            "statistic": name_of(row.get("statistic", "")),
            "level": f" {level}" if level else "",
            "label": f": {row['label']}" if row.get("label") else "",
            "trained": MARK if row.get("trained_on") is True else "",
        }
        yield row | names


def _cell(row: Row, columns: Sequence[str]) -> Cell:
    """Return a cell of a value with its interval, of a range, or of one column."""
    value: Any = row[columns[0]]
    if len(columns) == ENDS:
        return estimate(row, columns, NOT_COMPUTED)
    if pd.isna(value):
        return Cell(reason=row.get("reason") or NOT_COMPUTED)
    if len(columns) > 1:
        last = row[columns[1]]
        return Cell(text=f"{value}{DASH}{last}" if last != value else f"{value}")
    if columns[0] == "p_adjusted":
        return Cell(text=p_numeral(float(value)))
    return Cell(text=value) if isinstance(value, str) else Cell(float(value))
