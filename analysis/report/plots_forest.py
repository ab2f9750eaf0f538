"""Figure of verdicts: each metric by the statistic that leads its question."""

from dataclasses import replace

import pandas as pd
import plotly.graph_objects as go

from analysis.printing import counted
from analysis.report.figure_parts import (
    GREY,
    PALETTE,
    SYMBOLS,
    Figure,
    Panel,
    as_text,
    best_first,
    figure_of,
    said,
    vertical,
)
from analysis.report.panels import dot_panel
from analysis.report.plotly_figures import plotly_figure
from analysis.report.wording import LEVELS, NAMES, number, per_cent, records
from analysis.verdicts import AGREES

KEY = "forest"
HALF = "ppa_half"
AXES = {HALF: "PPA half: share of pairs preferred as people do, ties being half"}
POINTS = {"pairs": "pair", "method": "method"}


def forest(verdicts: pd.DataFrame, question: str) -> go.Figure:
    """Draw the metrics of one question: value, interval, chance, one annotator.

    Parameters
    ----------
    verdicts
        The table ``verdicts``.
    question
        One of its questions.

    Returns
    -------
    plotly.graph_objects.Figure
        Without a metric where no statistic leads the question.
    """
    return plotly_figure((forest_panel(verdicts, question),))


def forests(verdicts: pd.DataFrame) -> list[Figure]:
    """Draw every question that a statistic leads, a panel each."""
    rows = _leading(verdicts)
    drawn = [
        (forest_panel(verdicts, str(question)), f"{question}: {said(own, 'metric')}")
        for question, own in rows.groupby("question", sort=True)
    ]
    return figure_of(
        KEY,
        "metrics",
        "Each metric by the statistic that leads",
        "Filled marks are metrics that are shown to agree with people; bars are "
        "intervals. The line is chance, the dashed one an annotator who predicts the "
        "others. Metrics in bold were declared to measure the question.",
        "Values with intervals.",
        drawn,
        26,
        tables=("verdicts",),
    )


def forest_panel(verdicts: pd.DataFrame, question: str) -> Panel:
    """Return the plot of one question, the highest metric on top."""
    leading = _leading(verdicts)
    rows = best_first(leading[leading["question"] == question])
    order = list(dict.fromkeys(rows["metric"]))
    declared = set(rows.loc[rows["role"] == "declared", "metric"])
    chances, ceilings = (
        sorted(map(float, rows[name].dropna().unique()))
        for name in ("chance", "ceiling")
    )
    panel = dot_panel(
        question,
        rows,
        names="metric",
        groups="source" if rows["source"].nunique() > 1 else "",
        axis=_axis(rows),
        order=order,
        bold=[metric in declared for metric in order],
        span=[*chances, *ceilings],
        shapes=[
            *(vertical(x) for x in chances),
            *(vertical(x, dash="dash") for x in ceilings),
        ],
    )
    _mark(panel, rows)
    named = [(x, "chance") for x in chances[:1]]
    named += [(x, "one annotator") for x in ceilings[:1]]
    panel.layout["annotations"] = [
        _named(x, text, anchor)
        for (x, text), anchor in zip(sorted(named), ("right", "left"), strict=False)
    ]
    return replace(panel, height=panel.height + 12)


def _mark(panel: Panel, rows: pd.DataFrame) -> None:
    """Fill the marks of metrics that agree, and say beside the pointer what is known.

    The panel has a trace for each kind of answers.
    """
    sources = list(dict.fromkeys(rows["source"]))
    for i, (trace, source) in enumerate(zip(panel.data, sources, strict=False)):
        own = records(rows[rows["source"] == source])
        symbol = SYMBOLS[i % len(SYMBOLS)]
        agreeing = [row["verdict"] == AGREES for row in own]
        trace["marker"] = {
            "color": PALETTE[i % len(PALETTE)],
            "symbol": [symbol if shown else f"{symbol}-open" for shown in agreeing],
            "size": 9,
        }
        trace["text"] = [_told(row) for row in own]
        trace["hovertemplate"] = "%{text}<extra></extra>"


def _leading(verdicts: pd.DataFrame) -> pd.DataFrame:
    """Return metrics by the statistic that leads their question."""
    rows = verdicts[verdicts["leads"].astype(bool) & (verdicts["role"] != "baseline")]
    return rows[rows["value"].notna()]


def _axis(rows: pd.DataFrame) -> str:
    if rows.empty:
        return ""
    statistic, level = (str(rows[name].iloc[0]) for name in ("statistic", "level"))
    return AXES.get(statistic, f"{NAMES.get(statistic, statistic)} {LEVELS.get(level)}")


def _told(row: dict[str, object]) -> str:
    """Return what stands beside the pointer: metric, value, interval, n, verdict."""
    write = per_cent if row["statistic"] == HALF else number
    value, low, high = (float(str(row[key])) for key in ("value", "low", "high"))
    n = counted(float(str(row["n"])), POINTS.get(str(row["level"]), "output"))
    lines = [f"{as_text(row['metric'])}: {write(value)}"]
    if low == low and high == high:
        lines.append(f"interval {write(low)} to {write(high)}")
    return "<br>".join([*lines, n, str(row["verdict"])])


def _named(x: float, text: str, anchor: str) -> dict[str, object]:
    """Return the name of a line, above the plot and beside the line."""
    return {
        "x": x,
        "xanchor": anchor,
        "y": 1,
        "yref": "paper",
        "yanchor": "bottom",
        "text": text,
        "showarrow": False,
        "font": {"size": 11, "color": GREY},
    }
