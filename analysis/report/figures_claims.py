"""Figures of favoured methods, and of metrics over questions or studies."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pandas as pd

from analysis.correlations.metric_differences import SIGNIFICANT
from analysis.inference.meta_analysis import ALL
from analysis.report.figure import (
    DECLARED,
    Panel,
    Part,
    Trace,
    as_text,
    figure,
    values,
)
from analysis.report.label_places import labelled_points
from analysis.report.language import counted, headed
from analysis.report.language import gettext as _
from analysis.report.panels import GREY, PALETTE, dots, error_bars
from analysis.report.wording import Row, name_of, records, with_interval, word
from analysis.verdicts import leading_metrics

# Metrics of a question that are drawn.
METRICS_EACH = 2


@figure("favours")
def favours(
    method_deviation: pd.DataFrame, verdicts: pd.DataFrame | None = None
) -> Iterator[Part]:
    """Draw people against the leading metrics on people's scale, a point a method."""
    known = method_deviation[method_deviation["value"].notna()]
    several = known["question"].nunique() > 1
    drawn = []
    for (name, source), rows in known.groupby(["question", "source"], sort=True):
        for metric in leading_metrics(verdicts, name, source)[:METRICS_EACH]:
            own = rows[rows["metric"] == metric]
            if len(own):
                drawn.append(_panel(headed(name, metric) if several else metric, own))
    yield from drawn
    shown = drawn[: DECLARED["favours"].panels]
    unnamed = sum(panel.data[1]["text"].count("") for panel in shown)
    yield unnamed > 0 and word("captions", "favours unnamed", n=unnamed)


def _panel(title: str, rows: pd.DataFrame) -> Panel:
    """Draw a line of equal values, and how far each method lies from it."""
    apart = (rows["p_adjusted"] <= SIGNIFICANT).to_numpy(bool)
    ends = rows[["human", "predicted"]].to_numpy(float)
    least, most = float(np.nanmin(ends)), float(np.nanmax(ends))
    room = 0.08 * (most - least) or 0.5
    low, high = least - room, most + room
    span = values([low, high])
    shares = (rows[["predicted", "human"]].to_numpy(float) - low) / (high - low)
    order = np.argsort(-np.abs(rows["value"].to_numpy(float)), kind="stable")
    named = sorted(map(int, order), key=lambda i: not apart[i])
    axes = rows["predicted"], rows["human"]
    bars = rows.assign(
        low=rows["human"] + rows["low"], high=rows["human"] + rows["high"]
    )
    bar_ends = (bars[["low", "high"]].to_numpy(float) - low) / (high - low)
    points = labelled_points(*axes, shares, rows["method"], named, bar_ends) | {
        "error_x": error_bars(bars, "predicted", color=GREY, thickness=1),
        "marker": {
            "size": 8,
            "color": [PALETTE[1] if one else PALETTE[0] for one in apart],
            "symbol": ["diamond" if one else "circle" for one in apart],
        },
        "customdata": [_beside(row) for row in records(rows)],
        "hovertemplate": "%{customdata}<extra></extra>",
    }
    line: Trace = {
        "type": "scatter",
        "mode": "lines",
        "x": span,
        "y": span,
        "line": {"color": GREY, "width": 1},
        "hoverinfo": "skip",
    }
    axis = {"zeroline": False, "range": span, "nticks": 5}
    layout = {
        "xaxis": {"title": {"text": _("metric, on people's scale")}, **axis},
        "yaxis": {"title": {"text": _("people")}, "automargin": True, **axis},
        "showlegend": False,
    }
    most_apart = records(rows.iloc[order[:1]])[0]
    words = headed(title, f"{most_apart['method']} {with_interval(most_apart)}")
    return Panel(title, 320, [line, points], layout, words)


def _beside(row: Row) -> str:
    return f"{as_text(row['method'])}: {with_interval(row)}"


@figure("meta")
def forests(meta_analysis: pd.DataFrame) -> Iterator[Part]:
    """Draw each metric by question or study, and over all, by one statistic."""
    wholes = meta_analysis[meta_analysis["part"] == ALL]
    if wholes.empty:
        return
    way = wholes[["statistic", "level"]].iloc[0]
    rows = meta_analysis[(meta_analysis[way.index] == way).all(axis=1)]
    best = wholes[(wholes[way.index] == way).all(axis=1)]
    best = best.sort_values("value", ascending=False, kind="stable")
    for metric in best["metric"]:
        own = rows[rows["metric"] == metric]
        whole = records(own[own["part"] == ALL])[0]
        noun = "study" if whole["over"] == "studies" else "question"
        every = counted(whole["n"], noun)
        order = [*own.loc[own["part"] != ALL, "part"], every]
        panel = dots(
            "meta",
            str(metric),
            own.assign(part=own["part"].where(own["part"] != ALL, every)),
            axis=name_of(way["statistic"]),
            order=order,
            bold=[part == every for part in order],
        )
        yield replace(panel, words=headed(metric, with_interval(whole)))
    is_of_studies = bool((wholes["over"] == "studies").any())
    yield is_of_studies and word("captions", "meta studies")
