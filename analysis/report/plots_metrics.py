"""Figures of metrics against people: coefficients and ranks."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from analysis.hypotheses import declared
from analysis.report.figure_layout import (
    COEFFICIENT_NAMES,
    LEVEL_NAMES,
    at_level,
    by_value,
    forest_caption,
    human_ceiling,
    main_coefficient,
    metric_ranks,
    of_ratings,
    way_text,
)
from analysis.report.figure_parts import (
    GREY,
    MOST_ROWS,
    PALETTE,
    RED_BLUE,
    Figure,
    Panel,
    Trace,
    as_text,
    column_axis,
    figure_of,
    right_axis,
    row_height,
    said,
    short,
    values,
    vertical,
)
from analysis.report.language import headed, listed, say
from analysis.report.panels import dot_panel, heat_panel
from analysis.report.wording import number, records

SECTION = "metrics"
# Of more metrics than this those are drawn that stand highest in the first column.
MOST_LINES = 30
# A metric that moves by as many ranks is drawn in colour.
FLIP = 3


def forests(
    correlations: pd.DataFrame,
    agreement: pd.DataFrame | None,
    hypotheses: pd.DataFrame | None = None,
) -> list[Figure]:
    """Draw each question's coefficients with intervals and the human ceiling."""
    name = main_coefficient(correlations)
    data = correlations[correlations["coefficient"] == name]
    data = data[data["value"].notna()]
    drawn, ceilings, bold = [], {}, False
    for name_of, rows in data.groupby("dimension", sort=True):
        question = str(name_of)
        # People are held against one another over outputs: no coefficient of methods,
        # or of one story's outputs, is on that scale.
        ceiling = None
        if set(rows["level"]) == {"pooled"}:
            ceiling = human_ceiling(agreement, question, name)
        if ceiling is not None:
            ceilings[question] = ceiling
        metrics = by_value(rows)[:MOST_ROWS]
        meant = [metric in declared(hypotheses, question) for metric in metrics]
        bold |= any(meant)
        panel = _forest(question, rows, metrics, meant, name, ceiling)
        first = next(level for level in LEVEL_NAMES if level in set(rows["level"]))
        highest = said(rows[rows["level"] == first], "metric")
        drawn.append((panel, headed(at_level(question, first), highest)))
    caption = forest_caption(data, ceilings, bold=bold)
    if (data.groupby("dimension")["metric"].nunique() > MOST_ROWS).any():
        most = say("The {n} highest metrics are drawn; the table has all.", n=MOST_ROWS)
        caption = listed([caption, most], " ")
    return figure_of(
        "coefficients",
        SECTION,
        say(
            "Agreement with people ({coefficient})",
            coefficient=say(COEFFICIENT_NAMES[name]),
        ),
        caption,
        say("Coefficients with intervals."),
        drawn,
        26,
    )


def _forest(
    question: str,
    rows: pd.DataFrame,
    metrics: list[str],
    named: list[bool],
    name: str,
    ceiling: float | None,
) -> Panel:
    limits = [] if ceiling is None else [ceiling]
    panel = dot_panel(
        question,
        rows.assign(at=[say(LEVEL_NAMES[level]) for level in rows["level"]]),
        names="metric",
        groups="at",
        marks=[say(name) for name in LEVEL_NAMES.values()],
        order=metrics,
        bold=named,
        axis=say(COEFFICIENT_NAMES.get(name, name)),
        span=[0.0, *limits],
        shapes=[vertical(0), *(vertical(x, dash="dash") for x in limits)],
    )
    height = row_height(len(metrics), lines=rows["level"].nunique(), extra=100)
    return replace(panel, height=height)


def metric_matrix(correlations: pd.DataFrame) -> list[Figure]:
    """Draw all metrics by all questions, one panel for each level."""
    if correlations["dimension"].nunique() < 2:
        return []
    name = main_coefficient(correlations)
    data = correlations[correlations["coefficient"] == name]
    data = data[data["value"].notna()]
    if data.empty:
        return []
    order = by_value(data)
    drawn = []
    for level in [x for x in LEVEL_NAMES if x in set(data["level"])]:
        rows = data[data["level"] == level]
        metrics = [metric for metric in order if metric in set(rows["metric"])]
        drawn.append((_matrix(rows, metrics), ""))
    caption = [
        say("{text}.", text=say(COEFFICIENT_NAMES.get(name, name))),
        say(
            "Blue agrees with people, red disagrees; read a row to see whether a "
            "metric measures what it is meant to, or just quality at large."
        ),
    ]
    if data["low"].notna().any():
        caption.append(say("In parentheses: the interval includes 0."))
    best = data.loc[data.groupby("dimension")["value"].idxmax()]
    told = listed(
        headed(q, f"{m} {number(v)}")
        for q, m, v in zip(
            best["dimension"], best["metric"], best["value"], strict=True
        )
    )
    return figure_of(
        "matrix",
        SECTION,
        say("Every metric by every question"),
        listed(caption, " "),
        say(
            "Matrix of coefficients; the highest of each question are {metrics}",
            metrics=told,
        ),
        drawn,
    )


def _matrix(rows: pd.DataFrame, metrics: list[str]) -> Panel:
    questions = sorted(rows["dimension"].unique())
    at = {(row["metric"], row["dimension"]): row for row in records(rows)}
    grid = [[at.get((metric, q)) for q in questions] for metric in metrics]
    cells: Trace = {
        "z": [values(np.nan if c is None else c["value"] for c in row) for row in grid],
        "text": [["" if c is None else _with_doubt(c) for c in row] for row in grid],
        "texttemplate": "%{text}",
        "zmin": -1,
        "zmax": 1,
        "colorscale": RED_BLUE,
        "hoverinfo": "text",
        "textfont": {"size": 11},
    }
    title = say(LEVEL_NAMES[str(rows["level"].iloc[0])])
    panel = heat_panel(title, 135 + 22 * len(metrics), metrics, questions, cells)
    panel.layout["margin"] = {"t": 10}
    return panel


def _with_doubt(row: Mapping[str, Any]) -> str:
    text = number(row["value"])
    return f"({text})" if row["low"] <= 0 <= row["high"] else text


def rank_flips(
    correlations: pd.DataFrame, pairwise: pd.DataFrame | None
) -> list[Figure]:
    """Draw the rank of every metric under every way of asking."""
    drawn, cut = [], False
    if correlations["value"].isna().all():
        return []
    for question, rows in correlations.groupby("dimension", sort=True):
        ranks = metric_ranks(rows, of_ratings(pairwise, str(question)))
        if len(ranks) < 3 or ranks.shape[1] < 2:
            continue
        firsts = listed(
            say("{metric} by {way}", metric=ranks[c].idxmin(), way=way_text(str(c)))
            for c in ranks
        )
        cut = cut or len(ranks) > MOST_LINES
        highest = ranks.sort_values(list(ranks.columns), kind="stable")[:MOST_LINES]
        drawn.append((_bumps(str(question), highest), headed(question, firsts)))
    caption = [
        say(
            "Rank of each metric (1 is best) by level and coefficient. Level lines: "
            "the choice does not matter. Lines that cross: it does, and one column "
            "alone would mislead. Coloured are metrics that move by {n} ranks or more.",
            n=FLIP,
        )
    ]
    if cut:
        caption.append(
            say("Of many metrics the {n} first by the left column stand.", n=MOST_LINES)
        )
    return figure_of(
        "ranks",
        SECTION,
        say("Does the best metric depend on how one asks?"),
        listed(caption, " "),
        say("Rank charts. First stand,"),
        drawn,
        26,
    )


def _bumps(question: str, ranks: pd.DataFrame) -> Panel:
    moving = (ranks.max(axis=1) - ranks.min(axis=1)) >= FLIP
    # A colour for each line that can be told by it; the rest stay grey.
    coloured = [m for m in ranks.index if moving[m]][: len(PALETTE)]
    # Equal ranks would hide one another: the later metric stands a little lower.
    shown = ranks + ranks.apply(lambda column: 0.25 * column.groupby(column).cumcount())
    data: list[Trace] = []
    x = list(range(ranks.shape[1]))
    for metric, row in shown.iterrows():
        color = GREY
        if metric in coloured:
            color = PALETTE[coloured.index(str(metric))]
        data.append(
            {
                "type": "scatter",
                "mode": "lines+markers",
                "x": x,
                "y": values(row),
                "line": {"color": color, "width": 2.5 if color != GREY else 1},
                "marker": {"size": 7},
                "name": as_text(metric),
                "hovertemplate": as_text(metric) + ": %{y:d}<extra></extra>",
            }
        )
    last, lowest = shown.iloc[:, -1], float(shown.to_numpy().max())
    layout = {
        "xaxis": column_axis([])
        | {"tickvals": x, "ticktext": list(map(way_text, ranks.columns))}
        | {"range": [-0.15, len(x) - 0.85], "tickangle": -45},
        "yaxis": {
            "range": [lowest + 0.7, 0.3],
            "title": {"text": say("rank")},
            "automargin": True,
            "dtick": max(1, int(lowest) // 10),
            "tick0": 1,
            "zeroline": False,
        },
        "yaxis2": right_axis(
            [lowest + 0.7, 0.3],
            values(last),
            [short(metric, 22) for metric in last.index],
        ),
        "showlegend": False,
    }
    # An axis without a trace is not drawn.
    data.append(
        {"type": "scatter", "x": [0], "y": [None], "yaxis": "y2", "hoverinfo": "skip"}
    )
    return Panel(
        question, 130 + (26 if len(ranks) <= 15 else 17) * len(ranks), data, layout
    )
