"""Figures of where ratings differ, and what more annotators would bring."""

import math

import pandas as pd

from analysis.report.figure_parts import (
    LEGEND,
    MOST_PANELS,
    MOST_ROWS,
    PALETTE,
    Figure,
    Panel,
    as_text,
    error_bars,
    figure_of,
    line,
    values,
    vertical,
)
from analysis.report.language import listed, say, texts
from analysis.report.panels import dot_panel, stacked_panel
from analysis.report.wording import per_cent

SECTION = "planning"
RELIABILITIES = texts(
    {
        "generalizability_output": "mean of an output",
        "generalizability_method": "mean of a method",
    }
)
# With more questions than this each is a bar.
FEW_QUESTIONS = 3
COMPONENTS = texts(
    {
        "method": "method",
        "story": "story",
        "annotator": "annotator",
        "method x story": "method × story",
        "method x annotator": "method × annotator",
        "story x annotator": "story × annotator",
        "rest": "rest",
    }
)


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
        most = str(own.idxmax())
        told.append(
            say(
                "{question}: most from {component} ({share})",
                question=question,
                component=_component(most),
                share=per_cent(own.max()),
            )
        )
    return figure_of(
        "variance",
        SECTION,
        say("Where ratings differ"),
        say(
            "Much from methods: they differ, and few ratings rank them. Much from "
            "stories: use the same ones for every method. Much from annotators, or "
            "left over: more annotators help."
        ),
        say("Variance components."),
        [(panel, listed(told, "; "))],
        30,
    )


def _component(name: str) -> str:
    return say(COMPONENTS.get(name, name.replace(" x ", " × ")))


def _variance_dots(known: pd.DataFrame, questions: list[str]) -> Panel:
    """Draw shares with intervals, a row for each component."""
    share = 100 * known["share"].astype(float)
    # The interval is of the component; its share has the same total.
    scale = (share / known["value"].where(known["value"] > 0)).astype(float)
    rows = known.assign(
        name=known["component"].map(_component),
        value=share,
        low=(known["low"] * scale).clip(lower=0) if "low" in known else math.nan,
        high=known["high"] * scale if "high" in known else math.nan,
    )
    return dot_panel(
        questions[0] if len(questions) == 1 else "",
        rows,
        names="name",
        axis=say("per cent of variance"),
        span=(0.0,),
        shapes=[vertical(0)],
        groups="question" if len(questions) > 1 else "",
    )


def _variance_bars(known: pd.DataFrame, questions: list[str]) -> Panel:
    """Draw a bar for each question; its parts are the components."""
    colors = [*PALETTE, "#A0A0A0"]
    bars = []
    for i, component in enumerate(dict.fromkeys(known["component"])):
        own = known[known["component"] == component].set_index("question")["share"]
        label = as_text(_component(component))
        bars.append(
            {
                "x": values(100 * own.reindex(questions).astype(float)),
                "name": label,
                "marker": {"color": colors[i % len(colors)]},
                "hovertemplate": f"{label}: %{{x:.1f}} %<extra></extra>",
            }
        )
    # Room for a legend whose names stand below one another on a narrow screen.
    axis = say("per cent of variance")
    return stacked_panel("", questions, bars, axis, gap=0.3, extra=260)


def reliability_curves(reliability: pd.DataFrame) -> list[Figure]:
    """Draw how reliable means become with more annotators for each output."""
    known = reliability[
        reliability["value"].notna() & reliability["statistic"].isin(RELIABILITIES)
    ]
    drawn = []
    for question, rows in known.groupby("question", sort=True):
        data = []
        for i, (statistic, title) in enumerate(RELIABILITIES.items()):
            own = rows[rows["statistic"] == statistic].sort_values("n_annotators")
            if own.empty:
                continue
            name = say(title)
            curve = line(i, name, own["n_annotators"], own["value"], say("annotators"))
            bars = error_bars(own) | {"color": PALETTE[i], "thickness": 1}
            shown = say(
                "{n} annotators: {value}<extra></extra>", n="%{x}", value="%{y:.2f}"
            )
            data.append(curve | {"error_y": bars, "hovertemplate": shown})
        layout = {
            "xaxis": {
                "title": {"text": say("annotators for each output")},
                "type": "log",
                "tickmode": "array",
                "zeroline": False,
                "tickvals": values(sorted(rows["n_annotators"].unique())),
            },
            "yaxis": {
                "title": {"text": say("reliability")},
                "range": [0, 1.02],
                "zeroline": False,
                "automargin": True,
            },
            "showlegend": True,
            "legend": LEGEND,
        }
        ends = rows[rows["statistic"] == next(iter(RELIABILITIES))]["value"]
        told = say(
            "{question}: from {low} to {high}",
            question=question,
            low=f"{ends.min():.2f}",
            high=f"{ends.max():.2f}",
        )
        drawn.append((Panel(str(question), 280, data, layout), told))
    return figure_of(
        "reliability",
        SECTION,
        say("How reliable means become with more annotators"),
        say(
            "Expected from this study's variance components: 1 means that another "
            "panel would order outputs, or methods, in the same way. Where the curve "
            "is flat, more annotators buy little."
        ),
        say("Expected reliability of an output's mean."),
        drawn,
        most_panels=MOST_PANELS,
    )
