"""Figure of outputs: what people say of each, its score, and the means of methods."""

from dataclasses import replace

import numpy as np
import pandas as pd

from analysis.report.figure_layout import drawn_metrics
from analysis.report.figure_parts import (
    GREY,
    LEGEND,
    MOST_PANELS,
    PALETTE,
    SYMBOLS,
    Figure,
    Panel,
    Trace,
    as_text,
    figure_of,
    values,
)
from analysis.report.language import counted, headed, listed, say
from analysis.report.plots_scatter import (
    method_points,
    method_trace,
    scatter_layout,
)
from analysis.results import Array, Counts, Mask

SECTION = "disagreement"
# Plots of a question, and of all where there are several questions.
METRICS_EACH, SEVERAL = 3, 6
# Of more outputs those that lie closely together are counted, not drawn one by one.
MOST_POINTS = 600
# How many bins a side has, and how many outputs of a bin are still drawn by themselves.
MOST_BINS, BINS, FEW = 24, 20, 2
# Diameters of the marks of bins, in pixels, of few outputs and of most.
SMALL, LARGE = 6, 15
# What a page knows an output by: it may link to it.
OUTPUT = "output"
# Of each plot as many outputs are linked by their names too, for who has no pointer.
FARTHEST = 3


def outputs(
    cells: pd.DataFrame,
    correlations: pd.DataFrame | None,
    means: pd.DataFrame | None = None,
    hypotheses: pd.DataFrame | None = None,
    disagreement: pd.DataFrame | None = None,
) -> list[Figure]:
    """Draw every output, people against the metrics that agree best.

    Nothing is drawn of questions whose values hold for methods as a whole. Of each
    plot the outputs are named where people and the metric differ most in rank.
    """
    if correlations is not None and correlations["value"].isna().all():
        correlations = None
    points = method_points(cells, means)
    several = cells["question"].nunique() > 1
    each = max(1, min(METRICS_EACH, SEVERAL // cells["question"].nunique()))
    drawn = []
    for name, rows in cells.groupby("question", sort=True):
        if rows["story"].nunique() < 2:
            continue
        metrics = drawn_metrics(str(name), rows, correlations, hypotheses, most=each)
        for metric in metrics:
            own = rows[rows["metric"] == metric]
            mean = points[(points["question"] == name) & (points["metric"] == metric)]
            title = headed(name, metric) if several else metric
            told = headed(title, counted(len(own), "output"))
            panel = _panel(title, own, mean, metric)
            apart = _farthest(disagreement, str(name), metric)
            drawn.append((replace(panel, outputs=apart), told))
    return figure_of(
        "outputs",
        SECTION,
        say("Every output: people and the nearest metrics"),
        _caption(cells),
        say("Scatter of outputs, people by metric."),
        drawn,
        22,
        most_panels=MOST_PANELS,
    )


def _farthest(
    disagreement: pd.DataFrame | None, question: str, metric: str
) -> tuple[tuple[str, str], ...]:
    """Return story and method where people and a metric differ most in rank."""
    if disagreement is None:
        return ()
    own = disagreement[
        (disagreement["question"] == question)
        & (disagreement["metric"] == metric)
        & (disagreement["kind"] == "cell")
    ]
    rows = own.sort_values("value", key=abs, ascending=False, kind="stable")
    rows = rows.head(FARTHEST)
    return tuple(zip(rows["story"], rows["method"], strict=True))


def _caption(cells: pd.DataFrame) -> str:
    told = [
        say(
            "Each point is an output: what people say of it on average, and its score. "
            "Large marks are the means of methods."
        )
    ]
    if cells["method"].nunique() > len(SYMBOLS):
        told.append(say("As many methods are named as have room."))
    if (cells.groupby(["question", "metric"]).size() > MOST_POINTS).any():
        told.append(
            say("A hexagon stands for several outputs, a larger one for more of them.")
        )
    if cells["question"].nunique() > MOST_PANELS:
        told.append(say("The first {n} questions are drawn.", n=MOST_PANELS))
    return listed(told, " ")


def _panel(title: str, cells: pd.DataFrame, means: pd.DataFrame, metric: str) -> Panel:
    around = cells[["score", "human"]].to_numpy(float)
    methods = list(means["method"])
    few = len(methods) <= len(SYMBOLS)
    traces: list[Trace] = []
    single = np.ones(len(cells), bool)
    if len(cells) > MOST_POINTS:
        bins, single = _bins(around)
        traces.append(bins)
    looks = _looks(len(methods))
    for method, look in zip(methods, looks, strict=True):
        own = cells[single & (cells["method"] == method)]
        traces.append(_points(str(method), own, look))
    named = method_trace(means, around) | {"showlegend": False}
    named.pop("error_y", None)
    marks: Trace = {"color": PALETTE[1], "symbol": "diamond"}
    if few:
        named["text"] = [""] * len(methods)
        marks = {key: [look[key] for look in looks] for key in ("color", "symbol")}
    named["marker"] = marks | {"size": 12, "line": {"color": "#fff", "width": 1.5}}
    layout = scatter_layout(metric, means) | {"showlegend": few, "legend": LEGEND}
    return Panel(title, 340, [*traces, named], layout)


def _looks(n: int) -> list[Trace]:
    """Return how the outputs of each of some methods look: all alike of many."""
    if n > len(SYMBOLS):
        return [{"color": PALETTE[0]}] * n
    pairs = zip(PALETTE[:n], SYMBOLS[:n], strict=True)
    return [{"color": color, "symbol": symbol} for color, symbol in pairs]


def _points(method: str, cells: pd.DataFrame, look: Trace) -> Trace:
    """Return the outputs of one method; a page reads from them which they are."""
    return {
        "type": "scatter",
        "mode": "markers",
        "meta": OUTPUT,
        "name": as_text(method),
        "x": values(cells["score"]),
        "y": values(cells["human"]),
        "text": [as_text(story) for story in cells["story"]],
        "marker": look | {"size": 6, "opacity": 0.6},
        "hovertemplate": say(
            "{story}<br>{method}<br>metric {x}<br>people {y}<extra></extra>",
            story="%{text}",
            method="%{fullData.name}",
            x="%{x:.3g}",
            y="%{y:.3g}",
        ),
    }


def _bins(points: Array) -> tuple[Trace, Mask]:
    """Return bins of many points, and which points are drawn by themselves."""
    (x, columns), (y, rows) = _side(points[:, 0]), _side(points[:, 1])
    _bin, place, count = np.unique(
        columns * len(y) + rows, return_inverse=True, return_counts=True
    )
    many = count > FEW
    share = np.sqrt(count[many] / count.max())
    trace: Trace = {
        "type": "scatter",
        "mode": "markers",
        "x": values(x[_bin[many] // len(y)]),
        "y": values(y[_bin[many] % len(y)]),
        "text": [int(n) for n in count[many]],
        "marker": {
            "symbol": "hexagon2",
            "size": [round(float(s), 1) for s in SMALL + (LARGE - SMALL) * share],
            "color": GREY,
            "opacity": 0.6,
        },
        "showlegend": False,
        "hovertemplate": say(
            "{n} outputs<br>metric {x}<br>people {y}<extra></extra>",
            n="%{text}",
            x="%{x:.3g}",
            y="%{y:.3g}",
        ),
    }
    return trace, ~many[place]


def _side(column: Array) -> tuple[Array, Counts]:
    """Return the middles of the bins of one side, and in which of them each value is.

    Means of a few ratings lie on a lattice: they get a bin for each of its steps.
    """
    low, high = float(column.min()), float(column.max())
    gaps = np.round(np.diff(np.unique(column)) / max(high - low, 1e-300), 4)
    sizes, often = np.unique(gaps, return_counts=True)
    n = BINS
    if len(sizes) and sizes[often.argmax()] > 0:
        steps = round(1 / float(sizes[often.argmax()])) + 1
        n = steps if steps <= MOST_BINS else BINS
    middles = np.linspace(low, high, n)
    step = (high - low) / (n - 1) or 1.0
    places = np.clip(np.rint((column - low) / step), 0, n - 1).astype(np.int64)
    return middles, places
