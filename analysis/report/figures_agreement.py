"""Figures of annotators together: who agrees with whom, and what more would bring."""

import math
from collections.abc import Iterator

import numpy as np
import pandas as pd
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial.distance import squareform

from analysis.reliability.annotator_pairs import FEW_UNITS
from analysis.report import panels
from analysis.report.figure import (
    MOST_ROWS,
    Panel,
    Part,
    Trace,
    as_text,
    figure,
    grouped,
    short,
    values,
)
from analysis.report.language import headed, listed, say, texts
from analysis.report.metric_order import title_of
from analysis.report.wording import Row, interval, number, per_cent, records

# Of more people those who agree least are drawn, and in smaller cells no number has
# room.
MOST_PEOPLE, MOST_NUMBERS = 30, 12
# With more letters in all, names stand at rows only, and columns have their numbers.
MOST_LETTERS = 48
MOST_QUESTIONS = 6
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


@figure("annotator-pairs")
def pair_matrices(annotator_pairs: pd.DataFrame) -> Iterator[Part]:
    """Draw the agreement of each two annotators, question by question.

    Questions of fewer than three people, or without any value, are not drawn.
    """
    n_drawn, empty, cut = 0, False, False
    keys = ["question", "statistic"]
    for (question, statistic), rows in annotator_pairs.groupby(keys, sort=True):
        table = _both_ways(rows, "value").astype(float)
        people = _by_agreement(table)
        if len(people) < 3 or rows["value"].isna().all():
            continue
        shown = _side_by_side(people[-MOST_PEOPLE:], table)
        cut |= len(shown) < len(people)
        here = table.loc[shown, shown]
        empty |= int(here.isna().to_numpy().sum()) > len(shown)
        title = headed(question, title_of(str(statistic)))
        yield _matrix(title, rows, here, headed(question, _told(rows)))
        n_drawn += 1
    yield empty and say(
        "Empty: fewer than {n} units that both answered, or no value; the table has "
        "the reason.",
        n=FEW_UNITS,
    )
    yield cut and say(
        "The {n} who agree least with the others are drawn; the table has all.",
        n=MOST_PEOPLE,
    )
    n = MOST_QUESTIONS
    yield n_drawn > n and say("The first {n} questions are drawn.", n=n)


def _both_ways(rows: pd.DataFrame, column: str) -> pd.DataFrame:
    """Return a column by annotator and annotator."""
    names = {"annotator_a": "annotator_b", "annotator_b": "annotator_a"}
    both = pd.concat([rows, rows.rename(columns=names)])
    return both.pivot(index="annotator_a", columns="annotator_b", values=column)


def _by_agreement(table: pd.DataFrame) -> list[str]:
    """Return who has no value, then all others, the highest mean of pairs first."""
    means = table.mean(axis=1)
    return sorted(
        map(str, means.index),
        key=lambda name: (means.notna()[name], -means[name], name),
    )


def _side_by_side(people: list[str], table: pd.DataFrame) -> list[str]:
    """Order people so that who answer alike stand together, unknown ones last.

    Leaves of a tree that joins the groups of the highest mean agreement first; a pair
    without a value counts as the mean of all.
    """
    found = table.loc[people, people].to_numpy()
    known = np.isfinite(found).any(axis=1)
    if known.sum() < 3:
        return people
    here = found[np.ix_(known, known)]
    apart = 1 - np.where(np.isfinite(here), here, np.nanmean(here))
    np.fill_diagonal(apart, 0)
    tree = linkage(squareform(apart), "average", optimal_ordering=True)
    places = np.flatnonzero(known)[leaves_list(tree)].tolist()
    # Of the two ends the one that stands higher by its mean comes first.
    places = places if places[0] < places[-1] else places[::-1]
    return [people[i] for i in (*places, *np.flatnonzero(~known))]


def _matrix(title: str, rows: pd.DataFrame, table: pd.DataFrame, words: str) -> Panel:
    people = [str(name) for name in table]
    numbered = sum(map(len, people)) > MOST_LETTERS
    told = rows.assign(told=[_evidence(row) for row in records(rows)])
    told = _both_ways(told, "told").reindex(index=people, columns=people).fillna("")
    text = table.map(lambda x: "" if math.isnan(x) else number(x))
    if numbered:
        table = table.set_axis([f"{i}  {name}" for i, name in enumerate(people, 1)])
        table = table.set_axis([str(i + 1) for i in range(len(people))], axis=1)
    return panels.heat(
        title,
        table,
        text,
        (-1, 1),
        panels.red_to_blue("#dfe3e1"),  # none is the colour of a page
        height=110 + 21 * len(people),
        angle=-90 if numbered else -35,
        words=words,
        texttemplate="%{text}" if len(people) <= MOST_NUMBERS else "",
        customdata=told.to_numpy().tolist(),
        hovertemplate="%{customdata}<extra></extra>",
    )


def _evidence(row: Row) -> str:
    """Return both names, value, interval and n; without a value n alone."""
    names = f"{short(row['annotator_a'])} · {short(row['annotator_b'])}"
    value = float(row["value"])
    told = "" if math.isnan(value) else f"{number(value)}{interval(row)}, "
    return f"{names}<br>{told}n = {row['n']}"


def _told(rows: pd.DataFrame) -> str:
    """Word the row of the two who agree least, and of the two who agree most."""
    known = rows.sort_values("value", kind="stable").dropna(subset=["value"])
    low, high = (known.iloc[place] for place in (0, -1))
    return say(
        "from {low} ({first} and {second}) to {high} ({third} and {fourth})",
        low=number(low["value"]),
        first=low["annotator_a"],
        second=low["annotator_b"],
        high=number(high["value"]),
        third=high["annotator_a"],
        fourth=high["annotator_b"],
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
