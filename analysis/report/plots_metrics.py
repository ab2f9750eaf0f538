"""Figures of metrics against people: coefficients, ranks, method means."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from analysis.hypotheses import declared
from analysis.report.figure_layout import (
    COEFFICIENT_NAMES,
    LEVEL_NAMES,
    MOST_SCATTERS,
    by_value,
    drawn_metrics,
    forest_caption,
    human_ceiling,
    label_places,
    labelled_points,
    main_coefficient,
    metric_ranks,
    of_ratings,
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
    dot_panel,
    error_bars,
    figure_of,
    heat_panel,
    right_axis,
    row_height,
    said,
    short,
    values,
    vertical,
)
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
        ceiling = human_ceiling(agreement, question, name)
        if ceiling is not None:
            ceilings[question] = ceiling
        metrics = by_value(rows)[:MOST_ROWS]
        meant = [metric in declared(hypotheses, question) for metric in metrics]
        bold |= any(meant)
        panel = _forest(question, rows, metrics, meant, name, ceiling)
        first = next(level for level in LEVEL_NAMES if level in set(rows["level"]))
        highest = said(rows[rows["level"] == first], "metric")
        drawn.append((panel, f"{question}, {LEVEL_NAMES[first]}: {highest}"))
    caption = forest_caption(data, ceilings, bold=bold)
    if (data.groupby("dimension")["metric"].nunique() > MOST_ROWS).any():
        caption += f" The {MOST_ROWS} highest metrics are drawn; the table has all."
    return figure_of(
        "coefficients",
        SECTION,
        f"Agreement with people ({COEFFICIENT_NAMES[name]})",
        caption,
        "Coefficients with intervals.",
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
        rows.assign(at=rows["level"].map(LEVEL_NAMES)),
        names="metric",
        groups="at",
        marks=list(LEVEL_NAMES.values()),
        order=metrics,
        bold=named,
        axis=COEFFICIENT_NAMES.get(name, name),
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
    caption = (
        f"{COEFFICIENT_NAMES.get(name, name)}. Blue agrees with people, red disagrees; "
        "read a row to see whether a metric measures what it is meant to, or just "
        "quality at large."
    )
    if data["low"].notna().any():
        caption += " In parentheses: the interval includes 0."
    best = data.loc[data.groupby("dimension")["value"].idxmax()]
    told = ", ".join(
        f"{q}: {m} {number(v)}"
        for q, m, v in zip(
            best["dimension"], best["metric"], best["value"], strict=True
        )
    )
    return figure_of(
        "matrix",
        SECTION,
        "Every metric by every question",
        caption,
        f"Matrix of coefficients; the highest of each question are {told}",
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
    title = LEVEL_NAMES[str(rows["level"].iloc[0])]
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
        firsts = ", ".join(f"{ranks[c].idxmin()} by {c}" for c in ranks)
        cut = cut or len(ranks) > MOST_LINES
        highest = ranks.sort_values(list(ranks.columns), kind="stable")[:MOST_LINES]
        drawn.append((_bumps(str(question), highest), f"{question}: {firsts}"))
    caption = (
        "Rank of each metric (1 is best) by level and coefficient. Level lines: the "
        "choice does not matter. Lines that cross: it does, and one column alone would "
        f"mislead. Coloured are metrics that move by {FLIP} ranks or more."
    )
    if cut:
        caption += f" Of many metrics the {MOST_LINES} first by the left column stand."
    return figure_of(
        "ranks",
        SECTION,
        "Does the best metric depend on how one asks?",
        caption,
        "Rank charts. First stand,",
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
        | {"tickvals": x, "ticktext": list(ranks.columns)}
        | {"range": [-0.15, len(x) - 0.85], "tickangle": -45},
        "yaxis": {
            "range": [lowest + 0.7, 0.3],
            "title": {"text": "rank"},
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


def scatters(
    cells: pd.DataFrame,
    correlations: pd.DataFrame | None,
    means: pd.DataFrame | None = None,
    hypotheses: pd.DataFrame | None = None,
) -> list[Figure]:
    """Draw method means: people against the metrics that agree best."""
    if correlations is not None and correlations["value"].isna().all():
        correlations = None
    points = method_points(cells, means)
    ranked = {
        str(question): drawn_metrics(str(question), rows, correlations, hypotheses)
        for question, rows in points.groupby("question", sort=True)
    }
    ranked = {question: metrics for question, metrics in ranked.items() if metrics}
    caption = "Each point is a method: the mean of its cells."
    if points["low"].notna().any():
        caption += " Bars are the intervals of what people say."
    if sum(len(metrics) for metrics in ranked.values()) <= MOST_SCATTERS:
        return [
            figure
            for i, (question, metrics) in enumerate(ranked.items())
            for figure in _scatters(
                f"scatter-{i}",
                f"{question}: people and the nearest metrics",
                caption,
                points,
                [(question, m) for m in metrics],
            )
        ]
    best = [(question, metrics[0]) for question, metrics in ranked.items()]
    caption += " Of each question only the best metric is drawn."
    title = "People and the best metric of each question"
    return _scatters("scatter", title, caption, points, best)


def method_points(cells: pd.DataFrame, means: pd.DataFrame | None) -> pd.DataFrame:
    """Return the mean of people and metrics for every method, with people's interval.

    The interval is that of the method's mean rating; it is left out where that mean is
    over other cells than those the metrics cover.
    """
    keys = ["question", "metric", "method"]
    numbers = ["human", "score", "higher_is_better"]
    points = cells.groupby(keys, sort=True)[numbers].mean().reset_index()
    points["low"] = points["high"] = np.nan
    if means is None:
        return points
    known = means.rename(columns={"dimension": "question", "low": "l", "high": "h"})
    points = points.merge(
        known[["question", "method", "mean", "l", "h"]],
        on=["question", "method"],
        how="left",
    )
    same = np.isclose(points["mean"].astype(float), points["human"], atol=1e-6)
    points["low"] = points["l"].astype(float).where(same)
    points["high"] = points["h"].astype(float).where(same)
    return points.drop(columns=["mean", "l", "h"])


def _scatters(
    key: str,
    title: str,
    caption: str,
    points: pd.DataFrame,
    shown: list[tuple[str, str]],
) -> list[Figure]:
    several = len({question for question, _metric in shown}) > 1
    drawn = []
    for question, metric in shown:
        here = (points["question"] == question) & (points["metric"] == metric)
        heading = f"{question}: {metric}" if several else metric
        drawn.append((_scatter(heading, points[here], metric), ""))
    n = int(points["method"].nunique())
    alt = f"Scatter of {n} methods, people by metric: " + ", ".join(
        panel.title for panel, _text in drawn
    )
    return figure_of(key, "disagreement", title, caption, alt, drawn, 17)


def _scatter(title: str, part: pd.DataFrame, metric: str) -> Panel:
    part = part.reset_index(drop=True)
    axis = metric
    if not part["higher_is_better"].all():
        axis += " (lower is better)"
    names = labelled_points(part)
    trace: Trace = {
        "type": "scatter",
        "mode": "markers+text",
        "x": values(part["score"]),
        "y": values(part["human"]),
        "text": [short(name, 18) if name else "" for name in names],
        "textposition": label_places(part),
        "textfont": {"size": 10},
        "cliponaxis": False,
        "marker": {"size": 8, "color": PALETTE[0]},
        "customdata": [as_text(name) for name in part["method"]],
        "hovertemplate": "%{customdata}<br>metric %{x:.3g}<br>people %{y:.3g}"
        "<extra></extra>",
    }
    if part["low"].notna().any():
        bars = error_bars(part, "human")
        trace["error_y"] = bars | {"color": PALETTE[0], "thickness": 1}
    layout = {
        "xaxis": {"title": {"text": short(axis, 44)}, "zeroline": False, "nticks": 5},
        "yaxis": {"title": {"text": "people"}, "zeroline": False, "automargin": True},
        "showlegend": False,
    }
    return Panel(title, 300, [trace], layout)
