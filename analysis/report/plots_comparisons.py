"""Figure of tests: every metric against every other, by the statistic that leads."""

import math
from typing import Any

import pandas as pd

from analysis.options import KNOWN_COEFFICIENTS
from analysis.report.figure_parts import (
    MOST_PANELS,
    Figure,
    Panel,
    Trace,
    figure_of,
    values,
)
from analysis.report.language import headed, listed, say
from analysis.report.panels import heat_panel
from analysis.report.verdict_grid import letter, way_title
from analysis.report.wording import records

SECTION = "metrics"
# Of more metrics the highest are drawn, and in smaller cells no number has room.
MOST_METRICS, MOST_NUMBERS = 20, 16
# Below which p a cell is darker, and what it is then; light ones tell nothing apart.
STEPS = (0.05, 0.01, 0.001)
SHADES = ("#e4e7e5", "#a6cbe3", "#4a90c2", "#0b4a86")
BY_COEFFICIENT, BY_ACCURACY = "metric_comparisons", "accuracy_comparisons"
Way = tuple[str, str, str]  # statistic, level, source
Tests = dict[frozenset[str], dict[str, Any]]


def p_matrices(
    verdicts: pd.DataFrame,
    by_coefficient: pd.DataFrame | None = None,
    by_accuracy: pd.DataFrame | None = None,
) -> list[Figure]:
    """Draw the p of each pair of metrics, question by question.

    Parameters
    ----------
    verdicts
        The table; its rows that lead tell statistic, order and clusters.
    by_coefficient, by_accuracy
        The tables metric_comparisons and accuracy_comparisons.
    """
    drawn, used, cut, lettered = [], set(), False, False
    rows = verdicts[verdicts["leads"].astype(bool) & (verdicts["role"] != "baseline")]
    rows = rows[rows["value"].notna()]
    keys = ["question", "statistic", "level", "source"]
    several = rows["source"].nunique() > 1
    for (question, *names), own in rows.groupby(keys, sort=True):
        way: Way = (str(names[0]), str(names[1]), str(names[2]))
        tests = _tests(str(question), way, by_coefficient, by_accuracy)
        own = own.sort_values(["value", "metric"], ascending=[False, True])
        metrics = [str(metric) for metric in own["metric"]]
        if len(metrics) < 3 or not tests:
            continue
        used.add(BY_COEFFICIENT if _is_coefficient(way) else BY_ACCURACY)
        clusters = own["cluster"].astype(float)
        cut |= len(metrics) > MOST_METRICS
        lettered |= clusters.nunique() > 1
        title = headed(question, way_title(way, several=several))
        names_of = _named(metrics, clusters)[:MOST_METRICS]
        panel = _matrix(title, metrics[:MOST_METRICS], names_of, tests)
        drawn.append((panel, headed(title, _told(tests))))
    return figure_of(
        "tests",
        SECTION,
        say("Is one metric better than another?"),
        _caption(cut=cut, lettered=lettered),
        say("p of each pair of metrics."),
        drawn,
        36,
        tables=tuple(sorted(used)),
        most_panels=MOST_PANELS,
    )


def _tests(
    question: str,
    way: Way,
    by_coefficient: pd.DataFrame | None,
    by_accuracy: pd.DataFrame | None,
) -> Tests:
    """Return the tested pairs of a question by one statistic."""
    statistic, level, source = way
    table = by_coefficient if _is_coefficient(way) else by_accuracy
    if table is None or table.empty:
        return {}
    if _is_coefficient(way):
        wanted = {"dimension": question, "level": level, "coefficient": statistic}
    else:
        wanted = {"question": question, "source": source, "statistic": statistic}
    for column, value in wanted.items():
        table = table[table[column] == value]
    return {
        frozenset((row["metric_a"], row["metric_b"])): row
        for row in records(table[table["p_value"].notna()])
    }


def _is_coefficient(way: Way) -> bool:
    return way[0] in KNOWN_COEFFICIENTS


def _named(metrics: list[str], clusters: "pd.Series[float]") -> list[str]:
    """Return metrics with the letters of their clusters, where these differ."""
    if clusters.nunique() < 2:
        return metrics
    return [
        metric if math.isnan(cluster) else f"{metric} · {letter(int(cluster))}"
        for metric, cluster in zip(metrics, clusters, strict=True)
    ]


def _matrix(title: str, metrics: list[str], names: list[str], tests: Tests) -> Panel:
    """Draw p as tested above the diagonal, and adjusted below it."""
    grid = [
        [
            tests.get(frozenset((one, other)), {}).get(
                "p_value" if column > row else "p_adjusted"
            )
            for column, other in enumerate(metrics)
        ]
        for row, one in enumerate(metrics)
    ]
    cells: Trace = {
        "z": [values(_step(p) for p in row) for row in grid],
        "zmin": 0,
        "zmax": len(STEPS),
        "colorscale": [(i / len(STEPS), shade) for i, shade in enumerate(SHADES)],
        "text": [[_number(p) for p in row] for row in grid],
        "texttemplate": "%{text}" if len(metrics) <= MOST_NUMBERS else "",
        "hovertemplate": "%{y} · %{x}<br>p %{text}<extra></extra>",
    }
    panel = heat_panel(title, 190 + 21 * len(metrics), names, names, cells)
    panel.layout["xaxis"]["tickangle"] = -60
    return panel


def _step(p: float | None) -> float:
    return math.nan if p is None else float(sum(p < step for step in STEPS))


def _number(p: float | None) -> str:
    """Return a p in few letters.

    Examples
    --------
    >>> [_number(p) for p in (0.0004, 0.0046, 0.25, 1.0, None)]
    ['<.001', '.005', '.25', '1', '']
    """
    if p is None:
        return ""
    if p < STEPS[-1]:
        return "<.001"
    text = f"{p:.3f}" if p < 0.0995 else f"{p:.2f}"
    return "1" if text == "1.00" else text.removeprefix("0")


def _told(tests: Tests) -> str:
    apart = sum(row["p_adjusted"] < STEPS[0] for row in tests.values())
    return say("{n} of {total} pairs told apart", n=apart, total=len(tests))


def _caption(*, cut: bool, lettered: bool) -> str:
    told = [
        say(
            "p of each pair of metrics by the statistic that leads, the highest metric "
            "on top: above the diagonal as tested, below it adjusted for the number of "
            "pairs (Holm). Cells grow darker below .05, .01 and .001."
        )
    ]
    if lettered:
        told.append(
            say(
                "A new letter begins where any metric of the letter before is shown to "
                "be better."
            )
        )
    if cut:
        most = say(
            "The {n} highest metrics are drawn; the table has all.", n=MOST_METRICS
        )
        told.append(most)
    return listed(told, " ")
