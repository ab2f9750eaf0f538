"""Figures of where ratings differ, and what more annotators would bring."""

import math

import pandas as pd

from analysis.report.figure_parts import (
    LEGEND,
    MOST_ROWS,
    PALETTE,
    SYMBOLS,
    Figure,
    Panel,
    Trace,
    as_text,
    dot_panel,
    error_bars,
    figure_of,
    row_axis,
    row_height,
    values,
    vertical,
)
from analysis.report.wording import per_cent

SECTION = "people"
RELIABILITIES = {
    "generalizability_output": "mean of an output",
    "generalizability_method": "mean of a method",
}
# With more questions than this each is a bar.
FEW_QUESTIONS = 3
MOST_PANELS = 12


def variance_bars(variance: pd.DataFrame) -> list[Figure]:
    """Draw which share of the variance of ratings comes from where."""
    known = variance[variance["share"].notna()]
    if known.empty:
        return []
    questions = sorted(known["question"].unique())[:MOST_ROWS]
    draw = _variance_dots if len(questions) <= FEW_QUESTIONS else _variance_bars
    panel = draw(known, questions)
    told = []
    for question in questions:
        own = known[known["question"] == question].set_index("component")["share"]
        told.append(f"{question}: most from {own.idxmax()} ({per_cent(own.max())})")
    return figure_of(
        "variance",
        SECTION,
        "Where ratings differ",
        "Much from methods: they differ, and few ratings rank them. Much from "
        "stories: use the same ones for every method. Much from annotators, or "
        "left over: more annotators help.",
        f"Variance components. {'; '.join(told)}.",
        (panel,),
        30,
    )


def _variance_dots(known: pd.DataFrame, questions: list[str]) -> Panel:
    """Draw shares with intervals, a row for each component."""
    share = 100 * known["share"].astype(float)
    # The interval is of the component; its share has the same total.
    scale = (share / known["value"].where(known["value"] > 0)).astype(float)
    rows = known.assign(
        name=known["component"].map(lambda name: str(name).replace(" x ", " × ")),
        value=share,
        low=(known["low"] * scale).clip(lower=0) if "low" in known else math.nan,
        high=known["high"] * scale if "high" in known else math.nan,
    )
    return dot_panel(
        questions[0] if len(questions) == 1 else "",
        rows,
        names="name",
        axis="per cent of variance",
        span=(0.0,),
        shapes=[vertical(0)],
        groups="question" if len(questions) > 1 else "",
    )


def _variance_bars(known: pd.DataFrame, questions: list[str]) -> Panel:
    """Draw a bar for each question; its parts are the components."""
    data: list[Trace] = []
    for i, component in enumerate(dict.fromkeys(known["component"])):
        own = known[known["component"] == component].set_index("question")["share"]
        label = as_text(component).replace(" x ", " × ")
        data.append(
            {
                "type": "bar",
                "orientation": "h",
                "y": list(range(len(questions))),
                "x": values(100 * own.reindex(questions).astype(float)),
                "name": label,
                "marker": {"color": [*PALETTE, "#A0A0A0"][i % (len(PALETTE) + 1)]},
                "hovertemplate": f"{label}: %{{x:.1f}} %<extra></extra>",
            }
        )
    layout = {
        "barmode": "stack",
        "bargap": 0.3,
        "showlegend": True,
        "xaxis": {"title": {"text": "per cent of variance"}, "range": [0, 100]},
        "yaxis": row_axis(questions),
        "legend": LEGEND | {"traceorder": "normal"},
    }
    # Room for a legend whose names stand below one another on a narrow screen.
    return Panel("", row_height(len(questions), extra=260), data, layout)


def reliability_curves(reliability: pd.DataFrame) -> list[Figure]:
    """Draw how reliable means become with more annotators for each output."""
    known = reliability[
        reliability["value"].notna() & reliability["statistic"].isin(RELIABILITIES)
    ]
    panels, told = [], []
    for question, rows in known.groupby("question", sort=True):
        data: list[Trace] = []
        for i, (statistic, title) in enumerate(RELIABILITIES.items()):
            own = rows[rows["statistic"] == statistic].sort_values("n_annotators")
            if own.empty:
                continue
            data.append(
                {
                    "type": "scatter",
                    "mode": "lines+markers",
                    "name": title,
                    "x": values(own["n_annotators"]),
                    "y": values(own["value"]),
                    "line": {"color": PALETTE[i]},
                    "marker": {"symbol": SYMBOLS[i], "size": 7},
                    "error_y": error_bars(own) | {"color": PALETTE[i], "thickness": 1},
                    "hovertemplate": "%{x} annotators: %{y:.2f}<extra></extra>",
                }
            )
        layout = {
            "xaxis": {
                "title": {"text": "annotators for each output"},
                "type": "log",
                "tickmode": "array",
                "zeroline": False,
                "tickvals": values(sorted(rows["n_annotators"].unique())),
            },
            "yaxis": {
                "title": {"text": "reliability"},
                "range": [0, 1.02],
                "zeroline": False,
                "automargin": True,
            },
            "showlegend": True,
            "legend": LEGEND,
        }
        panels.append(Panel(str(question), 280, data, layout))
        ends = rows[rows["statistic"] == next(iter(RELIABILITIES))]["value"]
        told.append(f"{question}: from {ends.min():.2f} to {ends.max():.2f}")
    return figure_of(
        "reliability",
        SECTION,
        "How reliable means become with more annotators",
        "Expected from this study's variance components: 1 means that another "
        "panel would order outputs, or methods, in the same way. Where the curve "
        "is flat, more annotators buy little.",
        f"Expected reliability of an output's mean. {'; '.join(told)}.",
        tuple(panels[:MOST_PANELS]),
        20,
    )
