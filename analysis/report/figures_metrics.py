"""Figures of metrics against people: coefficients, ranks, and verdicts."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import pandas as pd

from analysis.questions import declared
from analysis.report import metric_order, panels
from analysis.report.figure import (
    MOST_ROWS,
    Instead,
    Panel,
    Part,
    Trace,
    as_text,
    best_first,
    by_value,
    figure,
    grouped,
    said,
    short,
    values,
)
from analysis.report.language import headed, listed, say
from analysis.report.metric_order import LEVEL_NAMES, level_texts, levels_in, title_of
from analysis.report.wording import LEVELS, NAMES, number, per_cent, records
from analysis.sentences import counted
from analysis.verdicts import AGREES

# Of more metrics than this those are drawn that stand highest in the first column.
MOST_LINES = 30
# A metric that moves by as many ranks is drawn in colour.
FLIP = 3
HALF = "ppa_half"
AXES = {HALF: "PPA half: share of pairs preferred as people do, ties being half"}
POINTS = {"pairs": "pair", "method": "method"}


@figure("coefficients")
def forests(
    correlations: pd.DataFrame,
    agreement: pd.DataFrame | None,
    hypotheses: pd.DataFrame | None = None,
) -> Iterator[Part]:
    """Draw each question's coefficients with intervals and the human ceiling."""
    name, data = _main(correlations)
    coefficient = title_of(name)
    bold, ceilings = False, {}
    for question, rows in grouped(data, "dimension"):
        # People are held against one another over outputs: no coefficient of methods,
        # or of one story's outputs, is on that scale.
        ceiling = metric_order.human_ceiling(agreement, question, name)
        if ceiling is not None and set(rows["level"]) == {"pooled"}:
            ceilings[question] = ceiling
        metrics = by_value(rows)[:MOST_ROWS]
        meant = [metric in declared(hypotheses, question) for metric in metrics]
        bold |= any(meant)
        levels = levels_in(rows)
        highest = said(rows[rows["level"] == levels[0]], "metric")
        panel = panels.dots(
            question,
            rows.assign(at=level_texts(rows)),
            "metric",
            coefficient,
            groups="at",
            marks=[say(name) for name in LEVEL_NAMES.values()],
            order=metrics,
            bold=meant,
            lines=[0.0],
            dashed=[ceilings[question]] if question in ceilings else [],
            words=headed(metric_order.at_level(question, levels[0]), highest),
        )
        height = panels.row_height(len(metrics), lines=len(levels), extra=100)
        yield replace(panel, height=height)
    title = say("Agreement with people ({coefficient})", coefficient=coefficient)
    yield Instead(title=title)
    if data["low"].notna().any():
        yield say("Bars are intervals; one that crosses 0 shows no agreement.")
    yield _ceilings(ceilings)
    yield bold and say("Metrics in bold were declared to measure this question.")
    if (data.groupby("dimension")["metric"].nunique() > MOST_ROWS).any():
        yield metric_order.highest_drawn(MOST_ROWS)


def _main(correlations: pd.DataFrame) -> tuple[str, pd.DataFrame]:
    """Return the coefficient that is drawn, and its rows with a value."""
    name = metric_order.main_coefficient(correlations)
    known = (correlations["coefficient"] == name) & correlations["value"].notna()
    return name, correlations[known]


def _ceilings(ceilings: Mapping[str, float]) -> str:
    """Say at what one annotator stands, question by question."""
    if not ceilings:
        return ""
    if len(ceilings) > 1:
        return say(
            "Dashed lines are one annotator against the rest, the human ceiling: "
            "{ceilings}.",
            ceilings=listed(f"{name} {x:.2f}" for name, x in ceilings.items()),
        )
    return say(
        "The dashed line at {ceiling} is one annotator against the rest, the human "
        "ceiling.",
        ceiling=f"{next(iter(ceilings.values())):.2f}",
    )


@figure("matrix")
def metric_matrix(correlations: pd.DataFrame) -> Iterator[Part]:
    """Draw all metrics by all questions, one panel for each level."""
    name, data = _main(correlations)
    if correlations["dimension"].nunique() < 2 or data.empty:
        return
    order = by_value(data)
    for level in levels_in(data):
        rows = data[data["level"] == level]
        rows = rows.assign(text=[_with_doubt(row) for row in records(rows)])
        here = [metric for metric in order if metric in set(rows["metric"])]
        z, text = (
            panels.table_of(rows, "metric", "dimension", column, here)
            for column in ("value", "text")
        )
        panel = panels.heat(
            say(LEVEL_NAMES[level]),
            z,
            text.fillna(""),
            (-1, 1),
            panels.red_to_blue("#f7f7f7"),
            height=135 + 22 * len(here),
            hoverinfo="text",
            textfont={"size": 11},
        )
        panel.layout["margin"] = {"t": 10}
        yield panel
    best = records(data.loc[data.groupby("dimension")["value"].idxmax()])
    told = listed(
        headed(row["dimension"], f"{row['metric']} {number(row['value'])}")
        for row in best
    )
    yield Instead(
        alt=say(
            "Matrix of coefficients; the highest of each question are {metrics}",
            metrics=told,
        )
    )
    yield say("{text}.", text=title_of(name))
    yield say(
        "Blue agrees with people, red disagrees; read a row to see whether a metric "
        "measures what it is meant to, or just quality at large."
    )
    if data["low"].notna().any():
        yield say("In parentheses: the interval includes 0.")


def _with_doubt(row: dict[str, Any]) -> str:
    text = number(row["value"])
    return f"({text})" if row["low"] <= 0 <= row["high"] else text


@figure("ranks")
def rank_flips(
    correlations: pd.DataFrame, pairwise_accuracy: pd.DataFrame | None
) -> Iterator[Part]:
    """Draw the rank of every metric under every way of asking."""
    cut = False
    for question, rows in grouped(correlations, "dimension"):
        ranks = metric_order.metric_ranks(rows, pairwise_accuracy, question)
        if len(ranks) < 3 or ranks.shape[1] < 2 or correlations["value"].isna().all():
            continue
        ways = [metric_order.way_text(str(way)) for way in ranks]
        firsts = listed(
            say("{metric} by {way}", metric=metric, way=way)
            for metric, way in zip(ranks.idxmin(), ways, strict=True)
        )
        cut = cut or len(ranks) > MOST_LINES
        highest = ranks.sort_values(list(ranks.columns), kind="stable")[:MOST_LINES]
        highest = highest.set_axis(ways, axis=1)
        yield _bumps(question, highest, headed(question, firsts))
    yield say(
        "Rank of each metric (1 is best) by level and coefficient. Level lines: the "
        "choice does not matter. Lines that cross: it does, and one column alone would "
        "mislead. Coloured are metrics that move by {n} ranks or more.",
        n=FLIP,
    )
    n = MOST_LINES
    yield cut and say("Of many metrics the {n} first by the left column stand.", n=n)


def _bumps(question: str, ranks: pd.DataFrame, words: str) -> Panel:
    moving = (ranks.max(axis=1) - ranks.min(axis=1)) >= FLIP
    # A colour for each line that can be told by it; the rest stay grey.
    colours = dict(zip(ranks.index[moving], panels.PALETTE, strict=False))
    # Equal ranks would hide one another: the later metric stands a little lower.
    shown = ranks + ranks.apply(lambda column: 0.25 * column.groupby(column).cumcount())
    x = list(range(ranks.shape[1]))
    data: list[Trace] = []
    for metric, row in shown.iterrows():
        color = colours.get(metric, panels.GREY)
        trace = {
            "type": "scatter",
            "mode": "lines+markers",
            "x": x,
            "y": values(row),
            "line": {"color": color, "width": 2.5 if metric in colours else 1},
            "marker": {"size": 7},
            "name": as_text(metric),
            "hovertemplate": as_text(metric) + ": %{y:d}<extra></extra>",
        }
        data.append(trace)
    lowest = float(shown.to_numpy().max())
    layout = {
        "xaxis": panels.column_axis([])
        | {"tickvals": x, "ticktext": list(ranks.columns), "tickangle": -45}
        | {"range": [-0.15, len(x) - 0.85]},
        "yaxis": {
            "range": [lowest + 0.7, 0.3],
            "title": {"text": say("rank")},
            "automargin": True,
            "dtick": max(1, int(lowest) // 10),
            "tick0": 1,
            "zeroline": False,
        },
        "showlegend": False,
    }
    height = 130 + (26 if len(ranks) <= 15 else 17) * len(ranks)
    panel = Panel(question, height, data, layout, words)
    names = [short(metric, 22) for metric in ranks.index]
    return panels.name_on_the_right(panel, values(shown.iloc[:, -1]), names)


# Verdicts, for notebooks --------------------------------------------------------------


def leading(verdicts: pd.DataFrame) -> pd.DataFrame:
    """Return metrics by the statistic that leads their question."""
    rows = verdicts[verdicts["leads"].astype(bool) & (verdicts["role"] != "baseline")]
    return rows[rows["value"].notna()]


def verdict_forest(verdicts: pd.DataFrame) -> tuple[Panel, ...]:
    """Draw every question by the statistic that leads it: value, interval, chance.

    Filled marks are metrics that are shown to agree with people, those in bold were
    declared. The dashed line is an annotator who predicts the others.
    """
    rows = leading(verdicts)
    return tuple(_verdicts(question, own) for question, own in grouped(rows))


def _verdicts(question: str, rows: pd.DataFrame) -> Panel:
    shown = best_first(rows)
    order = list(dict.fromkeys(shown["metric"]))
    meant = set(shown.loc[shown["role"] == "declared", "metric"])
    chances, ceilings = (
        sorted(map(float, shown[name].dropna().unique()))
        for name in ("chance", "ceiling")
    )
    statistic, level = (str(shown[name].iloc[0]) for name in ("statistic", "level"))
    axis = AXES.get(statistic, f"{NAMES.get(statistic, statistic)} {LEVELS.get(level)}")
    panel = panels.dots(
        question,
        shown,
        "metric",
        axis,
        groups="source" if shown["source"].nunique() > 1 else "",
        order=order,
        bold=[metric in meant for metric in order],
        lines=chances,
        dashed=ceilings,
        words="",
    )
    # A trace holds one kind of answers.
    for trace, source in zip(panel.data, dict.fromkeys(shown["source"]), strict=True):
        own = records(shown[shown["source"] == source])
        symbol = trace["marker"]["symbol"]
        symbols = [symbol + "-open" * (row["verdict"] != AGREES) for row in own]
        trace["marker"] |= {"size": 9, "symbol": symbols}
        trace["text"] = [_beside_pointer(row) for row in own]
        trace["hovertemplate"] = "%{text}<extra></extra>"
    named = [(x, "chance") for x in chances[:1]]
    named += [(x, "one annotator") for x in ceilings[:1]]
    look = {"yref": "paper", "yanchor": "bottom", "showarrow": False, "y": 1}
    look["font"] = {"size": 11, "color": panels.GREY}
    panel.layout["annotations"] = [
        look | {"x": x, "xanchor": anchor, "text": text}
        for (x, text), anchor in zip(sorted(named), ("right", "left"), strict=False)
    ]
    return replace(panel, height=panel.height + 12)


def _beside_pointer(row: dict[str, Any]) -> str:
    """Return metric, value, interval, n, and verdict."""
    write = per_cent if row["statistic"] == HALF else number
    lines = [f"{as_text(row['metric'])}: {write(row['value'])}"]
    if row["low"] == row["low"] and row["high"] == row["high"]:
        lines.append(f"interval {write(row['low'])} to {write(row['high'])}")
    n = counted(row["n"], POINTS.get(row["level"], "output"))
    return "<br>".join([*lines, n, str(row["verdict"])])
