"""Figures of method means: people against metrics."""

import numpy as np
import pandas as pd

from analysis.report.figure_layout import MOST_SCATTERS, drawn_metrics
from analysis.report.figure_parts import (
    PALETTE,
    Figure,
    Panel,
    Trace,
    as_text,
    error_bars,
    figure_of,
    short,
    values,
)
from analysis.report.label_places import in_shares, placed_labels, telling_order
from analysis.report.language import headed, listed, say
from analysis.results import Array

LONGEST_LABEL = 18


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
    caption = [say("Each point is a method: the mean of its cells.")]
    if points["low"].notna().any():
        caption.append(say("Bars are the intervals of what people say."))
    if sum(len(metrics) for metrics in ranked.values()) <= MOST_SCATTERS:
        return [
            figure
            for i, (question, metrics) in enumerate(ranked.items())
            for figure in _scatters(
                f"scatter-{i}",
                say("{question}: people and the nearest metrics", question=question),
                listed(caption, " "),
                points,
                [(question, m) for m in metrics],
            )
        ]
    best = [(question, metrics[0]) for question, metrics in ranked.items()]
    caption.append(say("Of each question only the best metric is drawn."))
    title = say("People and the best metric of each question")
    return _scatters("scatter", title, listed(caption, " "), points, best)


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
        heading = headed(question, metric) if several else metric
        drawn.append((_scatter(heading, points[here], metric), ""))
    n = int(points["method"].nunique())
    alt = say(
        "Scatter of {n} methods, people by metric: {metrics}",
        n=n,
        metrics=listed(panel.title for panel, _text in drawn),
    )
    return figure_of(key, "disagreement", title, caption, alt, drawn, 17)


def _scatter(title: str, part: pd.DataFrame, metric: str) -> Panel:
    ends = part[["human", "low", "high"]].agg(["min", "max"]).to_numpy(float)
    around = np.column_stack(
        [part["score"].agg(["min", "max"]), [np.nanmin(ends), np.nanmax(ends)]]
    )
    return Panel(title, 300, [method_trace(part, around)], scatter_layout(metric, part))


def method_trace(part: pd.DataFrame, around: Array) -> Trace:
    """Return the methods as points, with as many names as stand clear of one another.

    Parameters
    ----------
    part
        Rows of `method_points` of one question and metric.
    around
        Shape (n, 2): what the plot holds, by score and people's values.
    """
    points = in_shares(part[["score", "human"]].to_numpy(float), around)
    names = [short(name, LONGEST_LABEL) for name in part["method"]]
    labels = placed_labels(points, names, telling_order(part))
    trace: Trace = {
        "type": "scatter",
        "mode": "markers+text",
        "x": values(part["score"]),
        "y": values(part["human"]),
        "text": [text for text, _place in labels],
        "textposition": [place for _text, place in labels],
        "textfont": {"size": 10},
        "cliponaxis": False,
        "marker": {"size": 8, "color": PALETTE[0]},
        "customdata": [as_text(name) for name in part["method"]],
        "hovertemplate": say(
            "{method}<br>metric {x}<br>people {y}<extra></extra>",
            method="%{customdata}",
            x="%{x:.3g}",
            y="%{y:.3g}",
        ),
    }
    if part["low"].notna().any():
        bars = error_bars(part, "human")
        trace["error_y"] = bars | {"color": PALETTE[0], "thickness": 1}
    return trace


def scatter_layout(metric: str, part: pd.DataFrame) -> Trace:
    """Return the axes of people's values by a metric's scores."""
    axis = metric
    if not part["higher_is_better"].all():
        axis = say("{metric} (lower is better)", metric=metric)
    return {
        "xaxis": {"title": {"text": short(axis, 44)}, "zeroline": False, "nticks": 5},
        "yaxis": {
            "title": {"text": say("people")},
            "zeroline": False,
            "automargin": True,
        },
        "showlegend": False,
    }
