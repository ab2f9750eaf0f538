"""What intervals of a report rest on: resamples, a standard error, or answers."""

from collections.abc import Mapping

import pandas as pd

from analysis.report.language import listed, say
from analysis.report.wording import drawn_units
from analysis.result_tables.contract import Analysis

# Tables whose intervals are by a standard error, unless annotators are drawn; of
# coefficients those of the method level are not.
BY_ERROR = (
    "correlations",
    "metric_comparisons",
    "accuracy_comparisons",
    "pairwise_accuracy",
    "human_pairs",
)
# Of these, the table whose standard error is of annotators, too.
OF_PEOPLE = "human_pairs"
# Tables whose intervals sum what each answer adds over whole clusters.
BY_ANSWERS = (
    "leaderboard",
    "method_comparisons",
    "method_means",
    "method_win_rates",
    "position_bias",
    "ranking_leaderboard",
    "rating_leaderboard",
    "side_effect",
    "strata_win_rates",
    "win_rates",
)


def resampled_units(analysis: Analysis) -> list[str]:
    """Return each unit that was resampled, with the tables it stands behind."""
    tables: dict[str, tuple[str, ...]] = {}
    levels = values_of(analysis.tables, "correlations", "level")
    for table, parts in sorted(analysis.resampled.items()):
        name = table
        if table in BY_ANSWERS:
            continue
        if _is_by_error(table, parts):
            if table != "correlations" or "method" not in levels:
                continue
            name = say("correlations of method means")
        tables[name] = parts
    return _with_units(tables)


def _is_by_error(table: str, parts: tuple[str, ...]) -> bool:
    return table in BY_ERROR and (table == OF_PEOPLE or "annotators" not in parts)


def by_answers(analysis: Analysis) -> list[str]:
    """Return what answers are summed over, with the tables it stands behind."""
    return _with_units(
        {
            table: parts
            for table, parts in sorted(analysis.resampled.items())
            if table in BY_ANSWERS
        }
    )


def _with_units(tables: Mapping[str, tuple[str, ...]]) -> list[str]:
    """Name tables by the units that they share."""
    found: dict[str, list[str]] = {}
    for name, parts in tables.items():
        found.setdefault(drawn_units(parts), []).append(name)
    return [
        say("{units} for {tables}", units=units, tables=listed(names))
        for units, names in found.items()
    ]


def by_error(analysis: Analysis) -> list[str]:
    """Return the tables whose intervals, or some of them, are by a standard error."""
    drawn = sorted(analysis.resampled.items())
    found = [table for table, parts in drawn if _is_by_error(table, parts)]
    if values_of(analysis.tables, "correlations", "level") == {"method"}:
        found = [table for table in found if table != "correlations"]
    return found


def values_of(tables: Mapping[str, pd.DataFrame], table: str, column: str) -> set[str]:
    """Return what a column holds; nothing where there is no such table."""
    return set(tables[table][column]) if len(tables.get(table, ())) else set()
