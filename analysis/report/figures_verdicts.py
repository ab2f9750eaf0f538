"""Figures of verdicts and of the tests between metrics."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace

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
from analysis.report.metric_order import highest_drawn
from analysis.report.paper.letters import compared, metric_letters
from analysis.report.verdict_grid import way_title
from analysis.report.wording import (
    NAMES,
    WORDS,
    ResultTables,
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


def leading(verdicts: pd.DataFrame) -> pd.DataFrame:
    """Return the metrics by the leading statistic of their question."""
    rows = verdicts[verdicts["leads"].astype(bool) & (verdicts["role"] != "baseline")]
    return rows[rows["value"].notna()]


@figure("tests")
def p_matrices(verdicts: pd.DataFrame, tables: ResultTables) -> Iterator[Part]:
    """Draw the p-value of each pair of metrics, by the leading statistic."""
    used, cut, has_letters = set(), False, False
    rows = leading(verdicts)
    keys = ["question", "statistic", "level", "source"]
    several = rows["source"].nunique() > 1
    for (question, statistic, level, source), own in rows.groupby(keys, sort=True):
        way = str(statistic), str(level), str(source)
        tests = compared(tables, str(question), way)
        tests = tests[tests["p_value"].notna()]
        own = own.sort_values(["value", "metric"], ascending=[False, True])
        if len(own) < 3 or tests.empty:
            continue
        is_coefficient = statistic in KNOWN_COEFFICIENTS
        used.add("metric_comparisons" if is_coefficient else "accuracy_comparisons")
        cut |= len(own) > MOST_METRICS
        values = own.set_index("metric")["value"]
        marks = metric_letters(tables, str(question), way, values)
        has_letters |= bool(marks)
        title = headed(question, way_title(way, several=several))
        yield _p_matrix(title, list(values.index), marks, tests)
    yield has_letters and word("captions", "letters")
    yield cut and highest_drawn(MOST_METRICS)
    yield Instead(tables=tuple(sorted(used)))


def _p_matrix(
    title: str, metrics: list[str], marks: Mapping[str, str], tests: pd.DataFrame
) -> Panel:
    """Draw p-values, unadjusted above the diagonal and adjusted below it."""
    metrics = metrics[:MOST_METRICS]
    shown = [f"{name} · {marks[name]}" if name in marks else name for name in metrics]
    by_pair = {
        frozenset((row["metric_a"], row["metric_b"])): row for row in records(tests)
    }
    p = pd.DataFrame(math.nan, shown, shown)
    for row, one in enumerate(metrics):
        for column, other in enumerate(metrics):
            name = "p_value" if column > row else "p_adjusted"
            p.iloc[row, column] = by_pair.get(frozenset((one, other)), {}).get(
                name, math.nan
            )
    apart = int((tests["p_adjusted"] < STEPS[0]).sum())
    words = _("significant differences: {n} of {total}", n=apart, total=len(tests))
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
