"""Figures of verdicts and of the tests between metrics."""

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pandas as pd

from analysis.options import KNOWN_COEFFICIENTS
from analysis.report import panels
from analysis.report.figure import (
    Instead,
    Panel,
    Part,
    as_text,
    best_first,
    figure,
    grouped,
)
from analysis.report.language import gettext as _
from analysis.report.language import headed
from analysis.report.metric_order import (
    highest_drawn,
)
from analysis.report.verdict_grid import Way, way_title
from analysis.report.wording import (
    NAMES,
    WORDS,
    Row,
    number,
    per_cent,
    records,
    word,
)
from analysis.sentences import counted
from analysis.verdicts import ABOVE

# The most metrics that are drawn, and the most whose cells have room for numbers.
MOST_METRICS, MOST_NUMBERS = 20, 16
# Steps of p at which a cell becomes darker, and the shades.
STEPS = (0.05, 0.01, 0.001)
SHADES = ("#e4e7e5", "#a6cbe3", "#4a90c2", "#0b4a86")
HALF = "ppa_half"
AXES = {HALF: "PPA half: share of pairs ordered as by people, ties count half"}
POINTS = {"pairs": "pair", "method": "method"}
Tests = dict[frozenset[str], dict[str, Any]]


def leading(verdicts: pd.DataFrame) -> pd.DataFrame:
    """Return the metrics by the leading statistic of their question."""
    rows = verdicts[verdicts["leads"].astype(bool) & (verdicts["role"] != "baseline")]
    return rows[rows["value"].notna()]


@figure("tests")
def p_matrices(
    verdicts: pd.DataFrame,
    metric_comparisons: pd.DataFrame | None = None,
    accuracy_comparisons: pd.DataFrame | None = None,
) -> Iterator[Part]:
    """Draw the p-value of each pair of metrics, by the leading statistic."""
    tables = {
        "metric_comparisons": metric_comparisons,
        "accuracy_comparisons": accuracy_comparisons,
    }
    used, cut, has_clusters = set(), False, False
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
        has_clusters |= own["cluster"].nunique() > 1
        title = headed(question, way_title(way, several=several))
        yield _p_matrix(title, own, tests)
    yield has_clusters and word("captions", "clusters")
    yield cut and highest_drawn(MOST_METRICS)
    yield Instead(tables=tuple(sorted(used)))


def _tests(question: str, way: Way, table: pd.DataFrame | None) -> Tests:
    """Return the tests between metrics of a question, by one statistic."""
    statistic, level, source = way
    if table is None or table.empty:
        return {}
    keys = {"question": question, "source": source, "statistic": statistic}
    if statistic in KNOWN_COEFFICIENTS:
        keys = {"dimension": question, "level": level, "coefficient": statistic}
    for column, value in keys.items():
        table = table[table[column] == value]
    return {
        frozenset((row["metric_a"], row["metric_b"])): row
        for row in records(table[table["p_value"].notna()])
    }


def _p_matrix(title: str, rows: pd.DataFrame, tests: Tests) -> Panel:
    """Draw p-values, unadjusted above the diagonal and adjusted below it."""
    clusters = rows["cluster"].astype(float)
    several = clusters.nunique() > 1
    names = {
        metric: f"{metric} · {cluster:.0f}"
        if several and not math.isnan(cluster)
        else metric
        for metric, cluster in zip(rows["metric"], clusters, strict=True)
    }
    metrics = list(names)[:MOST_METRICS]
    shown = [names[metric] for metric in metrics]
    p = pd.DataFrame(math.nan, shown, shown)
    for row, one in enumerate(metrics):
        for column, other in enumerate(metrics):
            name = "p_value" if column > row else "p_adjusted"
            test = tests.get(frozenset((one, other)), {})
            p.iloc[row, column] = test.get(name, math.nan)
    apart = sum(row["p_adjusted"] < STEPS[0] for row in tests.values())
    words = _("{n} of {total} pairs differ significantly", n=apart, total=len(tests))
    return panels.heat(
        title,
        p.map(lambda x: sum(x < step for step in STEPS)).where(p.notna()),
        p.map(_p_text),
        (0, len(STEPS)),
        [(i / len(STEPS), shade) for i, shade in enumerate(SHADES)],
        height=190 + 21 * len(metrics),
        angle=-60,
        words=headed(title, words),
        texttemplate="%{text}" if len(metrics) <= MOST_NUMBERS else "",
        hovertemplate="%{y} · %{x}<br>p %{text}<extra></extra>",
    )


def _p_text(p: float) -> str:
    """Return a p-value as a short text.

    >>> [_p_text(p) for p in (0.0004, 0.0046, 0.25, 1.0, math.nan)]
    ['<.001', '.005', '.25', '1', '']
    """
    if math.isnan(p):
        return ""
    if p < STEPS[-1]:
        return "<.001"
    text = f"{p:.3f}" if p < 0.0995 else f"{p:.2f}"
    return "1" if text == "1.00" else text.removeprefix("0")


# For notebooks ------------------------------------------------------------------------


def verdict_forest(verdicts: pd.DataFrame) -> tuple[Panel, ...]:
    """Draw every question by its leading statistic: value, interval, chance.

    Filled marks are metrics that agree with people, bold ones were declared. The dashed
    line is one annotator predicting the others.
    """
    rows = leading(verdicts)
    return tuple(_forest(question, own) for question, own in grouped(rows))


def _forest(question: str, rows: pd.DataFrame) -> Panel:
    shown = best_first(rows)
    order = list(dict.fromkeys(shown["metric"]))
    hypotheses = set(shown.loc[shown["role"] == "declared", "metric"])
    chances, ceilings = (
        sorted(map(float, shown[name].dropna().unique()))
        for name in ("chance", "ceiling")
    )
    statistic, level = (str(shown[name].iloc[0]) for name in ("statistic", "level"))
    where = WORDS["levels"].get(level)
    panel = panels.rows_of_dots(
        question,
        shown,
        "metric",
        AXES.get(statistic, f"{NAMES.get(statistic, statistic)} {where}"),
        groups="source" if shown["source"].nunique() > 1 else "",
        order=order,
        bold=[metric in hypotheses for metric in order],
        lines=chances,
        dashed=ceilings,
        words="",
    )
    # Each trace has one kind of answers.
    for trace, source in zip(panel.data, dict.fromkeys(shown["source"]), strict=True):
        own = records(shown[shown["source"] == source])
        symbol = trace["marker"]["symbol"]
        symbols = [symbol + "-open" * (row["verdict"] != ABOVE) for row in own]
        trace["marker"] |= {"size": 9, "symbol": symbols}
        trace["text"] = [_beside_pointer(row) for row in own]
        trace["hovertemplate"] = "%{text}<extra></extra>"
    marks = [(x, "chance") for x in chances[:1]]
    marks += [(x, "one annotator") for x in ceilings[:1]]
    look = {"yref": "paper", "yanchor": "bottom", "showarrow": False, "y": 1}
    look["font"] = {"size": 11, "color": panels.GREY}
    panel.layout["annotations"] = [
        look | {"x": x, "xanchor": anchor, "text": text}
        for (x, text), anchor in zip(sorted(marks), ("right", "left"), strict=False)
    ]
    return replace(panel, height=panel.height + 12)


def _beside_pointer(row: Row) -> str:
    """Return metric, value, interval, n, and verdict."""
    write = per_cent if row["statistic"] == HALF else number
    lines = [f"{as_text(row['metric'])}: {write(row['value'])}"]
    if row["low"] == row["low"] and row["high"] == row["high"]:
        lines.append(f"interval {write(row['low'])} to {write(row['high'])}")
    n = counted(row["n"], POINTS.get(row["level"], "output"))
    return "<br>".join([*lines, n, str(row["verdict"])])
