"""Sources of the intervals of a report: resamples, a standard error, or answers."""

from collections.abc import Mapping

import pandas as pd

from analysis.inference.cluster_variance import LEAST
from analysis.report.language import SEMICOLON, listed
from analysis.report.language import gettext as _
from analysis.report.wording import drawn_units
from analysis.result_tables.contract import Analysis
from analysis.statistics import TABLES

# The table with a standard error that includes annotators.
OF_PEOPLE = "human_pairs"


def resampled_units(analysis: Analysis) -> list[str]:
    """Return the units that were resampled, with their tables."""
    tables: dict[str, tuple[str, ...]] = {}
    few = _is_of_few_methods(analysis.tables)
    for table, parts in sorted(analysis.resampled.items()):
        name = table
        if TABLES[table].interval in ("answers", "jackknife"):
            continue
        if _is_by_error(table, parts):
            if table != "correlations" or not few.any():
                continue
            name = _("correlations of method means")
        tables[name] = parts
    return _with_units(tables)


def _is_by_error(table: str, parts: tuple[str, ...]) -> bool:
    """Tell whether a table has a standard error; few have one of annotators."""
    is_by_error = TABLES[table].interval == "error"
    return is_by_error and (table == OF_PEOPLE or "annotators" not in parts)


def by_answers(analysis: Analysis) -> list[str]:
    """Return the units over which answers are summed, with their tables."""
    drawn = sorted(analysis.resampled.items())
    return _with_units({t: p for t, p in drawn if TABLES[t].interval == "answers"})


def _with_units(tables: Mapping[str, tuple[str, ...]]) -> list[str]:
    """Name tables by the units that they share."""
    by_units: dict[str, list[str]] = {}
    for name, parts in tables.items():
        by_units.setdefault(drawn_units(parts), []).append(name)
    return [
        _("{units} for {tables}", units=units, tables=listed(names))
        for units, names in by_units.items()
    ]


def by_error(analysis: Analysis) -> list[str]:
    """Return the tables with at least some intervals by a standard error."""
    drawn = sorted(analysis.resampled.items())
    names = [table for table, parts in drawn if _is_by_error(table, parts)]
    if _is_of_few_methods(analysis.tables).all():
        names = [table for table in names if table != "correlations"]
    return names


def _is_of_few_methods(tables: Mapping[str, pd.DataFrame]) -> "pd.Series[bool]":
    """Return which coefficients are over too few method means for a variance."""
    rows = tables.get("correlations", pd.DataFrame({"level": [], "n": []}))
    return (rows["level"] == "method") & (rows["n"] < LEAST)


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
