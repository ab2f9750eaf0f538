"""Figures of annotators together: who agrees with whom, and what more would bring."""

import math
from collections.abc import Iterator

import pandas as pd

from analysis.report import panels
from analysis.report.figure import (
    MOST_ROWS,
    Panel,
    Part,
    Trace,
    as_text,
    figure,
    grouped,
    values,
)
from analysis.report.language import listed, say, texts
from analysis.report.wording import per_cent

RELIABILITIES = texts(
    generalizability_output="mean of an output",
    generalizability_method="mean of a method",
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


@figure("variance")
def variance_bars(variance: pd.DataFrame) -> Iterator[Part]:
    """Draw which share of the variance of ratings comes from where."""
    known = variance[variance["share"].notna()]
    questions = sorted(known["question"].unique())[:MOST_ROWS]
    if not questions:
        return
    told = []
    for question in questions:
        own = known[known["question"] == question].set_index("component")["share"]
        told.append(
            say(
                "{question}: most from {component} ({share})",
                question=question,
                component=_component(str(own.idxmax())),
                share=per_cent(own.max()),
            )
        )
    draw = _variance_dots if len(questions) <= FEW_QUESTIONS else _variance_bars
    yield draw(known, questions, listed(told, "; "))


def _component(name: str) -> str:
    return say(COMPONENTS.get(name, name.replace(" x ", " × ")))


def _variance_dots(known: pd.DataFrame, questions: list[str], words: str) -> Panel:
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
    return panels.dots(
        questions[0] if len(questions) == 1 else "",
        rows,
        "name",
        say("per cent of variance"),
        lines=[0],
        groups="question" if len(questions) > 1 else "",
        words=words,
    )


def _variance_bars(known: pd.DataFrame, questions: list[str], words: str) -> Panel:
    """Draw a bar for each question; its parts are the components."""
    shares = known.pivot(index="question", columns="component", values="share")
    colors = [*panels.PALETTE, "#A0A0A0"]
    bars: list[Trace] = []
    for i, component in enumerate(dict.fromkeys(known["component"])):
        label = as_text(_component(component))
        own = 100 * shares[component].reindex(questions).astype(float)
        look = {"marker": {"color": colors[i % len(colors)]}, "name": label}
        hover = f"{label}: %{{x:.1f}} %<extra></extra>"
        bars.append(look | {"x": values(own), "hovertemplate": hover})
    # Room for a legend whose names stand below one another on a narrow screen.
    axis = say("per cent of variance")
    return panels.stacked("", questions, bars, axis, gap=0.3, extra=260, words=words)


@figure("reliability")
def reliability_curves(reliability: pd.DataFrame) -> Iterator[Part]:
    """Draw how reliable means become with more annotators for each output."""
    known = reliability[
        reliability["value"].notna() & reliability["statistic"].isin(RELIABILITIES)
    ]
    hover = say("{n} annotators: {value}<extra></extra>", n="%{x}", value="%{y:.2f}")
    for question, rows in grouped(known.sort_values("n_annotators", kind="stable")):
        traces = []
        for i, (statistic, title) in enumerate(RELIABILITIES.items()):
            own = rows[rows["statistic"] == statistic]
            if own.empty:
                continue
            at = own["n_annotators"], own["value"]
            look = {"color": panels.PALETTE[i], "thickness": 1}
            bars = {"error_y": panels.error_bars(own) | look}
            traces.append(panels.curve(i, say(title), *at, hover=hover) | bars)
        ends = rows[rows["statistic"] == next(iter(RELIABILITIES))]["value"]
        low, high = f"{ends.min():.2f}", f"{ends.max():.2f}"
        told = say(
            "{question}: from {low} to {high}", question=question, low=low, high=high
        )
        axes = say("annotators for each output"), say("reliability")
        ticks = sorted(map(float, rows["n_annotators"].unique()))
        yield panels.curves(question, traces, axes, ticks, words=told)
