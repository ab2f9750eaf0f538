"""Figures of tests: which metrics they tell apart."""

import math
from collections.abc import Iterator
from typing import Any

import pandas as pd

from analysis.options import KNOWN_COEFFICIENTS
from analysis.report import metric_order, panels
from analysis.report.figure import (
    MOST_ROWS,
    Instead,
    Panel,
    Part,
    by_value,
    figure,
    grouped,
)
from analysis.report.figures_metrics import leading
from analysis.report.language import headed, listed, say
from analysis.report.metric_order import LEVEL_NAMES
from analysis.report.verdict_grid import Way, letter, way_title
from analysis.report.wording import records

# Of more metrics the highest are drawn, and in smaller cells no number has room.
MOST_METRICS, MOST_NUMBERS = 20, 16
# Below which p a cell is darker, and what it is then; light ones tell nothing apart.
STEPS = (0.05, 0.01, 0.001)
SHADES = ("#e4e7e5", "#a6cbe3", "#4a90c2", "#0b4a86")
Tests = dict[frozenset[str], dict[str, Any]]


@figure("clusters")
def cluster_strips(clusters: pd.DataFrame) -> Iterator[Part]:
    """Draw which metrics the tests cannot tell from the best."""
    known = clusters[clusters["value"].notna() & clusters["cluster"].notna()]
    if known.empty:
        return
    known = known[known["coefficient"] == metric_order.main_coefficient(known)]
    told, alike = [], []
    for level in metric_order.levels_in(known):
        rows = known[known["level"] == level]
        title = say(LEVEL_NAMES[level])
        if rows["cluster"].astype(float).max() < 2:
            # A block of ones shows nothing that a sentence does not say.
            alike.append(title)
            continue
        best = rows["not_worse_than_best"].astype(bool)
        told += [
            headed(metric_order.at_level(question, level), listed(own["metric"]))
            for question, own in grouped(rows[best])
        ]
        texts = [f"{x:.0f}" for x in rows["cluster"]]
        rows = rows.assign(best=best.astype(int), text=texts)
        order = by_value(rows)[:MOST_ROWS]
        z, text = (
            panels.table_of(rows, "metric", "question", column, order)
            for column in ("best", "text")
        )
        yield panels.heat(
            title,
            z,
            text.fillna(""),
            (0, 1),
            [(0, "#d9dedc"), (1, panels.PALETTE[0])],
            height=110 + 22 * len(order),
            gap=2,
            hoverinfo="text",
        )
    yield bool(alike) and say(
        "No two metrics are told apart at: {levels}.", levels=listed(alike)
    )
    yield Instead(
        alt=say(
            "Significance clusters. Not worse than the best are, {metrics}",
            metrics=listed(told[:8], "; "),
        )
    )


@figure("tests")
def p_matrices(
    verdicts: pd.DataFrame,
    metric_comparisons: pd.DataFrame | None = None,
    accuracy_comparisons: pd.DataFrame | None = None,
) -> Iterator[Part]:
    """Draw the p of each pair of metrics, by the statistic that leads a question."""
    tables = {
        "metric_comparisons": metric_comparisons,
        "accuracy_comparisons": accuracy_comparisons,
    }
    used, cut, lettered = set(), False, False
    rows = leading(verdicts)
    keys = ["question", "statistic", "level", "source"]
    several = rows["source"].nunique() > 1
    for (question, statistic, level, source), own in rows.groupby(keys, sort=True):
        way = str(statistic), str(level), str(source)
        is_coefficient = statistic in KNOWN_COEFFICIENTS
        table = "metric_comparisons" if is_coefficient else "accuracy_comparisons"
        tests = _tests(str(question), way, tables[table])
        own = own.sort_values(["value", "metric"], ascending=[False, True])
        if len(own) < 3 or not tests:
            continue
        used.add(table)
        cut |= len(own) > MOST_METRICS
        lettered |= own["cluster"].nunique() > 1
        title = headed(question, way_title(way, several=several))
        yield _p_matrix(title, own, tests)
    yield lettered and say(
        "A new letter begins where any metric of the letter before is shown to be "
        "better."
    )
    yield cut and metric_order.highest_drawn(MOST_METRICS)
    yield Instead(tables=tuple(sorted(used)))


def _tests(question: str, way: Way, table: pd.DataFrame | None) -> Tests:
    """Return the tested pairs of a question by one statistic."""
    statistic, level, source = way
    if table is None or table.empty:
        return {}
    wanted = {"question": question, "source": source, "statistic": statistic}
    if statistic in KNOWN_COEFFICIENTS:
        wanted = {"dimension": question, "level": level, "coefficient": statistic}
    for column, value in wanted.items():
        table = table[table[column] == value]
    return {
        frozenset((row["metric_a"], row["metric_b"])): row
        for row in records(table[table["p_value"].notna()])
    }


def _p_matrix(title: str, rows: pd.DataFrame, tests: Tests) -> Panel:
    """Draw p as tested above the diagonal, and adjusted below it."""
    clusters = rows["cluster"].astype(float)
    several = clusters.nunique() > 1
    names = {
        metric: f"{metric} · {letter(int(cluster))}"
        if several and not math.isnan(cluster)
        else metric
        for metric, cluster in zip(rows["metric"], clusters, strict=True)
    }
    metrics = list(names)[:MOST_METRICS]
    grid = [
        [
            tests.get(frozenset((one, other)), {}).get(
                "p_value" if column > row else "p_adjusted", math.nan
            )
            for column, other in enumerate(metrics)
        ]
        for row, one in enumerate(metrics)
    ]
    shown = [names[metric] for metric in metrics]
    p = pd.DataFrame(grid, shown, shown, dtype=float)
    apart = sum(row["p_adjusted"] < STEPS[0] for row in tests.values())
    told = say("{n} of {total} pairs told apart", n=apart, total=len(tests))
    return panels.heat(
        title,
        p.map(lambda x: sum(x < step for step in STEPS)).where(p.notna()),
        p.map(_p_text),
        (0, len(STEPS)),
        [(i / len(STEPS), shade) for i, shade in enumerate(SHADES)],
        height=190 + 21 * len(metrics),
        angle=-60,
        words=headed(title, told),
        texttemplate="%{text}" if len(metrics) <= MOST_NUMBERS else "",
        hovertemplate="%{y} · %{x}<br>p %{text}<extra></extra>",
    )


def _p_text(p: float) -> str:
    """Return a p in few letters.

    >>> [_p_text(p) for p in (0.0004, 0.0046, 0.25, 1.0, math.nan)]
    ['<.001', '.005', '.25', '1', '']
    """
    if math.isnan(p):
        return ""
    if p < STEPS[-1]:
        return "<.001"
    text = f"{p:.3f}" if p < 0.0995 else f"{p:.2f}"
    return "1" if text == "1.00" else text.removeprefix("0")
