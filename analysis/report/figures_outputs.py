"""Figure of every output: people against metrics."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pandas as pd

from analysis.report.figure import (
    MOST_PANELS,
    Panel,
    Part,
    Trace,
    as_text,
    figure,
    grouped,
    short,
    values,
)
from analysis.report.label_places import in_shares, label_order, labelled_points
from analysis.report.language import counted, headed
from analysis.report.language import gettext as _
from analysis.report.metric_order import nearest_metrics
from analysis.report.panels import GREY, LEGEND, PALETTE, SYMBOLS
from analysis.report.wording import word
from analysis.results import Array, Counts, Mask

NUMBERS = ["human", "score", "higher_is_better"]
# Plots of outputs for each question, and in all if there are several questions.
METRICS_EACH, SEVERAL = 3, 6
# With more outputs than this, dense regions are binned.
MOST_POINTS = 600
# The number of bins per side, and the most outputs of a bin that are drawn singly.
MOST_BINS, BINS, FEW = 24, 20, 2
# Diameters in pixels of the smallest and the largest bin.
SMALL, LARGE = 6, 15
# The position of a point, which plotly fills in at the pointer.
AT = {"x": "%{x:.3g}", "y": "%{y:.3g}"}
# Traces with this mark hold outputs, which a page may link to.
OUTPUT = "output"
# Each plot links this many outputs by name, for readers without a pointer.
FARTHEST = 3


@figure("outputs")
def outputs(
    cells: pd.DataFrame,
    correlations: pd.DataFrame | None,
    hypotheses: pd.DataFrame | None = None,
    disagreement: pd.DataFrame | None = None,
) -> Iterator[Part]:
    """Draw every output, people against the metrics that agree best.

    Questions with values of whole methods are left out. Each plot names the outputs on
    which people and the metric differ most in rank.
    """
    n_questions = cells["question"].nunique()
    each = max(1, min(METRICS_EACH, SEVERAL // n_questions))
    for name, rows in grouped(cells):
        if rows["story"].nunique() < 2:
            continue
        for metric in nearest_metrics(name, rows, correlations, hypotheses, each):
            own = rows[rows["metric"] == metric]
            mean = own.groupby("method", sort=True)[NUMBERS].mean().reset_index()
            title = headed(name, metric) if n_questions > 1 else metric
            words = headed(title, counted(len(own), "output"))
            apart = _farthest(disagreement, name, metric)
            panel = _outputs(title, own, mean, metric)
            yield replace(panel, words=words, outputs=apart)
    if cells["method"].nunique() > len(SYMBOLS):
        yield word("captions", "outputs names")
    if (cells.groupby(["question", "metric"]).size() > MOST_POINTS).any():
        yield word("captions", "outputs bins")
    if n_questions > MOST_PANELS:
        yield _("The first {n} questions are drawn.", n=MOST_PANELS)


def _farthest(
    disagreement: pd.DataFrame | None, question: str, metric: str
) -> tuple[tuple[str, str], ...]:
    """Return the outputs, by story and method, with the largest rank differences."""
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


def _method_trace(part: pd.DataFrame, around: Array) -> Trace:
    """Return the methods as points, with as many names as do not overlap.

    `around` has the scores and people's values that the plot must hold, shape (n, 2).
    """
    points = in_shares(part[["score", "human"]].to_numpy(float), around)
    axes = part["score"], part["human"]
    return labelled_points(*axes, points, part["method"], label_order(part)) | {
        "customdata": [as_text(name) for name in part["method"]],
        "hovertemplate": _(
            "{method}<br>metric {x}<br>people {y}<extra></extra>",
            method="%{customdata}",
            **AT,
        ),
    }


def _layout(metric: str, part: pd.DataFrame) -> Trace:
    """Return the axes of people's values by a metric's scores."""
    axis = metric
    if not part["higher_is_better"].all():
        axis = _("{metric} (lower is better)", metric=metric)
    people = {"title": {"text": _("people")}, "automargin": True}
    return {
        "xaxis": {"title": {"text": short(axis, 44)}, "zeroline": False, "nticks": 5},
        "yaxis": people | {"zeroline": False},
        "showlegend": False,
    }


def _outputs(
    title: str, cells: pd.DataFrame, means: pd.DataFrame, metric: str
) -> Panel:
    around = cells[["score", "human"]].to_numpy(float)
    methods = list(means["method"])
    few = len(methods) <= len(SYMBOLS)
    traces: list[Trace] = []
    single = np.ones(len(cells), bool)
    if len(cells) > MOST_POINTS:
        bins, single = _bins(around)
        traces.append(bins)
    looks: list[Trace] = [{"color": PALETTE[0]}] * len(methods)
    marks: Trace = {"color": PALETTE[1], "symbol": "diamond"}
    named = _method_trace(means, around)
    if few:
        pairs = zip(PALETTE, SYMBOLS, strict=True)
        looks = [{"color": color, "symbol": symbol} for color, symbol in pairs]
        looks = looks[: len(methods)]
        marks = {key: [look[key] for look in looks] for key in ("color", "symbol")}
        named["text"] = [""] * len(methods)
    for method, look in zip(methods, looks, strict=True):
        own = cells[single & (cells["method"] == method)]
        traces.append(_points(str(method), own, look))
    white = {"size": 12, "line": {"color": "#fff", "width": 1.5}}
    traces.append(named | {"showlegend": False, "marker": marks | white})
    layout = _layout(metric, means) | {"showlegend": few, "legend": LEGEND}
    return Panel(title, 340, traces, layout)


def _points(method: str, cells: pd.DataFrame, look: Trace) -> Trace:
    """Return the outputs of one method as points with their names."""
    return {
        "type": "scatter",
        "mode": "markers",
        "meta": OUTPUT,
        "name": as_text(method),
        "x": values(cells["score"]),
        "y": values(cells["human"]),
        "text": [as_text(story) for story in cells["story"]],
        "marker": look | {"size": 6, "opacity": 0.6},
        "hovertemplate": _(
            "{story}<br>{method}<br>metric {x}<br>people {y}<extra></extra>",
            story="%{text}",
            method="%{fullData.name}",
            **AT,
        ),
    }


def _bins(points: Array) -> tuple[Trace, Mask]:
    """Return bins of many points, and the mask of points that are drawn singly."""
    (x, columns), (y, rows) = _side(points[:, 0]), _side(points[:, 1])
    bins, place, count = np.unique(
        columns * len(y) + rows, return_inverse=True, return_counts=True
    )
    many = count > FEW
    share = np.sqrt(count[many] / count.max())
    trace: Trace = {
        "type": "scatter",
        "mode": "markers",
        "x": values(x[bins[many] // len(y)]),
        "y": values(y[bins[many] % len(y)]),
        "text": [int(n) for n in count[many]],
        "marker": {
            "symbol": "hexagon2",
            "size": [round(float(s), 1) for s in SMALL + (LARGE - SMALL) * share],
            "color": GREY,
            "opacity": 0.6,
        },
        "showlegend": False,
        "hovertemplate": _(
            "{n} outputs<br>metric {x}<br>people {y}<extra></extra>",
            n="%{text}",
            **AT,
        ),
    }
    return trace, ~many[place]


def _side(column: Array) -> tuple[Array, Counts]:
    """Return the centres of the bins of one side, and the bin of each value.

    Means of a few ratings lie on a lattice, which gets a bin for each step.
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
