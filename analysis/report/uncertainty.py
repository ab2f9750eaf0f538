"""Sources of the intervals of a report: resamples, a standard error, or answers."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import pandas as pd

from analysis.inference.cluster_variance import LEAST
from analysis.report.language import SEMICOLON, listed
from analysis.report.language import gettext as _
from analysis.report.wording import drawn_units
from analysis.result_tables.contract import Analysis
from analysis.statistics import TABLES

# The table with a standard error that includes annotators.
OF_PEOPLE = "human_pairs"


@dataclass(frozen=True)
class IntervalSources:
    """The tables of a report by the source of their intervals.

    `resampled` and `by_answers` name tables by the units that are resampled, or over
    which answers are summed; `by_error` has the tables with a standard error.
    """

    resampled: list[str] = field(default_factory=list)
    by_error: list[str] = field(default_factory=list)
    by_answers: list[str] = field(default_factory=list)


def interval_sources(analysis: Analysis) -> IntervalSources:
    """Return the sources of the intervals of all tables."""
    rows = analysis.tables.get("correlations", pd.DataFrame({"level": [], "n": []}))
    # Too few method means have no variance.
    few = (rows["level"] == "method") & (rows["n"] < LEAST)
    resampled, answers = dict[str, tuple[str, ...]](), dict[str, tuple[str, ...]]()
    errors = []
    for table, parts in sorted(analysis.resampled.items()):
        kind = TABLES[table].interval
        if kind == "answers":
            answers[table] = parts
        # Few tables have a standard error of annotators.
        elif kind == "error" and (table == OF_PEOPLE or "annotators" not in parts):
            of_means = table == "correlations" and few.any()
            if of_means:
                resampled[_("correlations of method means")] = parts
            if not (of_means and few.all()):
                errors.append(table)
        elif kind != "jackknife":
            resampled[table] = parts
    return IntervalSources(_with_units(resampled), errors, _with_units(answers))


def _with_units(tables: Mapping[str, tuple[str, ...]]) -> list[str]:
    """Name tables by the units that they share."""
    by_units: dict[str, list[str]] = {}
    for name, parts in tables.items():
        by_units.setdefault(drawn_units(parts), []).append(name)
    return [
        _("{units} for {tables}", units=units, tables=listed(names))
        for units, names in by_units.items()
    ]


def units_drawn(analysis: Analysis) -> dict[str, str]:
    """Return the sampled units of each table's intervals, from its rows if they say."""
    units: dict[str, str] = {}
    for table, parts in analysis.resampled.items():
        rows = analysis.tables.get(table, pd.DataFrame())
        column = "test" if table.endswith("_comparisons") else "drawn"
        by_row = sorted(set(rows[column].dropna()) - {""}) if column in rows else []
        names = (drawn_units(one) for one in (by_row or [parts]))
        units[table] = listed(names, SEMICOLON)
    return units
