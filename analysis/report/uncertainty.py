"""What intervals of a report rest on: resamples, a standard error, or answers."""

from collections.abc import Mapping

import pandas as pd

from analysis.inference.cluster_variance import LEAST
from analysis.report.language import SEMICOLON, listed
from analysis.report.language import gettext as _
from analysis.report.wording import drawn_units
from analysis.result_tables.contract import Analysis
from analysis.statistics import TABLES

# Of tables by a standard error, the one whose error is of annotators, too.
OF_PEOPLE = "human_pairs"


def resampled_units(analysis: Analysis) -> list[str]:
    """Return each unit that was resampled, with the tables it stands behind."""
    tables: dict[str, tuple[str, ...]] = {}
    few = _is_of_few_methods(analysis.tables)
    for table, parts in sorted(analysis.resampled.items()):
        name = table
        if TABLES[table].interval == "answers":
            continue
        if _is_by_error(table, parts):
            if table != "correlations" or not few.any():
                continue
            name = _("correlations of method means")
        tables[name] = parts
    return _with_units(tables)


def _is_by_error(table: str, parts: tuple[str, ...]) -> bool:
    """Tell whether there is a standard error, which of annotators most tables lack."""
    is_by_error = TABLES[table].interval == "error"
    return is_by_error and (table == OF_PEOPLE or "annotators" not in parts)


def by_answers(analysis: Analysis) -> list[str]:
    """Return what answers are summed over, with the tables it stands behind."""
    drawn = sorted(analysis.resampled.items())
    return _with_units({t: p for t, p in drawn if TABLES[t].interval == "answers"})


def _with_units(tables: Mapping[str, tuple[str, ...]]) -> list[str]:
    """Name tables by the units that they share."""
    found: dict[str, list[str]] = {}
    for name, parts in tables.items():
        found.setdefault(drawn_units(parts), []).append(name)
    return [
        _("{units} for {tables}", units=units, tables=listed(names))
        for units, names in found.items()
    ]


def by_error(analysis: Analysis) -> list[str]:
    """Return the tables whose intervals, or some of them, are by a standard error."""
    drawn = sorted(analysis.resampled.items())
    found = [table for table, parts in drawn if _is_by_error(table, parts)]
    if _is_of_few_methods(analysis.tables).all():
        found = [table for table in found if table != "correlations"]
    return found


def _is_of_few_methods(tables: Mapping[str, pd.DataFrame]) -> "pd.Series[bool]":
    """Tell which coefficients are over the means of too few methods for a variance."""
    rows = tables.get("correlations", pd.DataFrame({"level": [], "n": []}))
    return (rows["level"] == "method") & (rows["n"] < LEAST)


def units_drawn(analysis: Analysis) -> dict[str, str]:
    """Return what the intervals of each table draw, by its rows where they tell."""
    found = {}
    for table, parts in analysis.resampled.items():
        rows = analysis.tables.get(table, pd.DataFrame())
        column = "test" if table.endswith("_comparisons") else "drawn"
        told = sorted(set(rows[column].dropna()) - {""}) if column in rows else []
        units = (drawn_units(one) for one in (told or [parts]))
        found[table] = listed(units, SEMICOLON)
    return found
