"""Figures of groups of stories, of variance, and of the needs of a further study."""

import math
from collections.abc import Iterator

import pandas as pd

from analysis.options import KNOWN_COEFFICIENTS
from analysis.report import panels
from analysis.report.figure import (
    MOST_ROWS,
    Instead,
    Panel,
    Part,
    as_text,
    best_values,
    figure,
    grouped,
    values,
)
from analysis.report.language import SEMICOLON, headed, listed
from analysis.report.language import gettext as _
from analysis.report.metric_order import by_value
from analysis.report.panels import curve, curves, dots
from analysis.report.wording import (
    WORDS,
    board,
    name_of,
    per_cent,
    records,
    title_of,
    word,
)

# Statistics drawn by group, those with a value for each method, and values of chance.
STATISTICS = ("ppa_half", "mean", "win_rate", "alpha_ordinal")
OF_METHODS = ("mean", "win_rate")
NULLS: dict[str, list[float]] = {"mean": [], "ppa_half": [0.5], "win_rate": [0.5]}
MOST_METRICS = 8
# With more questions than this, the variance of each is a bar.
FEW_QUESTIONS = 3
# Numbers on a logarithmic axis.
TICKS = tuple(step * 10**power for power in range(5) for step in (1, 3))
# The columns of the sizes that grow.
GROWS = {"annotators": "n_annotators", "stories": "n_stories", "methods": "n_methods"}


@figure("strata")
def group_dots(strata: pd.DataFrame) -> Iterator[Part]:
    """Draw each statistic by group of stories, and one coefficient at one level."""
    known = strata[strata["value"].notna()]
    coefficients = [c for c in KNOWN_COEFFICIENTS if (known["statistic"] == c).any()]
    for statistic in (*coefficients[:1], *STATISTICS):
        rows = known[known["statistic"] == statistic]
        if statistic == "mean":
            # Means of metrics have no question and are on other scales.
            rows = rows[rows["question"].fillna("") != ""]
        if statistic in KNOWN_COEFFICIENTS:
            order = ("story", "pooled", "method")
            levels = [level for level in order if level in set(rows["level"])]
            rows = rows[rows["level"].isin(levels[:1])]
        yield from _groups(statistic, rows)


def _groups(statistic: str, rows: pd.DataFrame) -> Iterator[Part]:
    column = "method" if statistic in OF_METHODS else "metric"
    most = MOST_METRICS if column == "metric" else MOST_ROWS
    has_names = False
    named = name_of if statistic == "alpha_ordinal" else title_of
    title = _("By group of stories: {statistic}", statistic=named(statistic))
    yield Instead(title=title, key=f"strata-{statistic.replace('_', '-')}")
    for (question, tag), own in rows.groupby(["question", "tag"], sort=True):
        heading = _("{question}, by {tag}", question=question, tag=tag)
        order: list[str] = []
        if own[column].fillna("").ne("").any():
            has_names, order = True, by_value(own, column)[:most]
            own = own[own[column].isin(order)]
        look = {"axis": named(statistic), "lines": NULLS.get(statistic, [0])}
        look["words"] = headed(heading, best_values(own, "stratum"))
        if order:
            look |= {"names": column, "groups": "stratum", "order": order}
        yield dots("strata", heading, own, **look)
    if column == "metric" and has_names:
        yield _("Only the {n} highest metrics are shown.", n=MOST_METRICS)


@figure("variance")
def variance_bars(variance: pd.DataFrame) -> Iterator[Part]:
    """Draw the sources of the variance of ratings."""
    known = variance[variance["share"].notna()]
    questions = sorted(known["question"].unique())[:MOST_ROWS]
    if not questions:
        return
    words = []
    for question in questions:
        own = known[known["question"] == question].set_index("component")["share"]
        most, share = word("components", own.idxmax()), per_cent(own.max())
        words.append(
            word(
                "captions",
                "variance alt",
                question=question,
                component=most,
                share=share,
            )
        )
    draw = _variance_dots if len(questions) <= FEW_QUESTIONS else _variance_bars
    yield draw(known, questions, listed(words, SEMICOLON))


def _variance_dots(known: pd.DataFrame, questions: list[str], words: str) -> Panel:
    """Draw shares with intervals, a row for each component."""
    share = 100 * known["share"].astype(float)
    # The interval is of the component; its share has the same total.
    scale = (share / known["value"].where(known["value"] > 0)).astype(float)
    rows = known.assign(
        name=[word("components", component) for component in known["component"]],
        value=share,
        low=(known["low"] * scale).clip(lower=0) if "low" in known else math.nan,
        high=known["high"] * scale if "high" in known else math.nan,
    )
    single = len(questions) == 1
    title, groups = (questions[0], "") if single else ("", "question")
    return dots("variance", title, rows, groups=groups, words=words)


def _variance_bars(known: pd.DataFrame, questions: list[str], words: str) -> Panel:
    """Draw a bar for each question; its parts are the components."""
    shares = known.pivot(index="question", columns="component", values="share")
    colors = [*panels.PALETTE, "#A0A0A0"]
    bars = []
    for i, component in enumerate(dict.fromkeys(known["component"])):
        label = as_text(word("components", component))
        own = 100 * shares[component].reindex(questions).astype(float)
        look = {"marker": {"color": colors[i % len(colors)]}, "name": label}
        hover = f"{label}: %{{x:.1f}} %<extra></extra>"
        bars.append(look | {"x": values(own), "hovertemplate": hover})
    # On a narrow screen the names of the legend are in a column.
    axis = _("per cent of variance")
    return panels.stacked("", questions, bars, axis, gap=0.3, extra=260, words=words)


@figure("reliability")
def reliability_curves(reliability: pd.DataFrame) -> Iterator[Part]:
    """Draw the reliability of means with more annotators for each output."""
    titles = WORDS["reliabilities"]
    known = reliability[
        reliability["value"].notna() & reliability["statistic"].isin(titles)
    ]
    hover = _("annotators: {n}<br>{value}<extra></extra>", n="%{x}", value="%{y:.2f}")
    axes = _("annotators for each output"), _("reliability")
    for question, rows in grouped(known.sort_values("n_annotators", kind="stable")):
        traces = []
        for i, statistic in enumerate(titles):
            own = rows[rows["statistic"] == statistic]
            if own.empty:
                continue
            title, color = word("reliabilities", statistic), panels.PALETTE[i]
            bars = panels.error_bars(own, color=color, thickness=1)
            at = own["n_annotators"], own["value"]
            traces.append(panels.curve(i, title, *at, hover=hover) | {"error_y": bars})
        ends = rows[rows["statistic"] == next(iter(titles))]["value"]
        low, high = f"{ends.min():.2f}", f"{ends.max():.2f}"
        words = _(
            "{question}: from {low} to {high}", question=question, low=low, high=high
        )
        ticks = sorted(map(float, rows["n_annotators"].unique()))
        yield panels.curves(question, traces, axes, ticks, words=words)


@figure("power")
def power_curves(
    power: pd.DataFrame, needed: pd.DataFrame | None = None
) -> Iterator[Part]:
    """Draw how intervals shrink with more stories, annotators or methods."""
    known = power[power["half_width"].notna()]
    target, several = None, False
    if needed is not None and len(needed):
        target = float(needed["target"].iloc[0])
    keys = ["question", "statistic", "level"]
    for (question, statistic, level), rows in known.groupby(
        keys, sort=True, dropna=False
    ):
        metric = rows["metric"].iloc[0]
        own = rows[rows["metric"].isin([metric])]
        several = several or len(own) < len(rows)
        name = str(statistic)
        is_coefficient = name in KNOWN_COEFFICIENTS
        called = title_of(name) if is_coefficient else _(name.replace("_", " "))
        parts = [str(question), called]
        if isinstance(level, str) and level:
            parts.append(word("level-titles", level))
        if isinstance(metric, str) and metric:
            parts.append(metric)
        yield _curves(listed(parts), own, target)
    if target is not None:
        yield _("The dotted line is {n}.", n=f"{target:g}")
    yield several and _("One metric is drawn; the table has the others.")


def _curves(title: str, rows: pd.DataFrame, target: float | None) -> Panel:
    traces, numbers = [], []
    for i, (grows, own) in enumerate(grouped(rows, "grows")):
        column, unit = GROWS.get(grows, "n"), word("units", grows)
        own = own.sort_values(column, kind="stable")
        numbers += list(map(float, own[column]))
        traces.append(curve(i, unit, own[column], own["half_width"], unit))
    narrow = float(rows["half_width"].min())
    return curves(
        title,
        traces,
        (_("number"), _("half-width")),
        [tick for tick in TICKS if min(numbers) <= tick <= max(numbers)],
        top=max(float(rows["half_width"].max()) * 1.08, 1.2 * (target or 0)),
        height=300,
        target=target,
        words=_("{title}: down to {n}", title=title, n=f"{narrow:.3g}"),
    )


@figure("subset")
def subset_dots(subset: pd.DataFrame) -> Iterator[Part]:
    """Draw how well the order of methods in a subset keeps that of the whole."""
    known = subset[subset["value"].notna() & subset["statistic"].isin(WORDS["subsets"])]
    for name, rows in grouped(known, "subset"):
        rows = rows.assign(
            board=[board(row) for row in records(rows)],
            kind=[word("subsets", statistic) for statistic in rows["statistic"]],
        )
        order = list(dict.fromkeys(rows["board"]))[:MOST_ROWS]
        rows = rows[rows["board"].isin(order)]
        whole = best_values(rows[rows["statistic"] == "kendall"], "board")
        yield dots("subset", name, rows, order=order, words=headed(name, whole))


@figure("best-subset")
def best_subset_curves(best_subset: pd.DataFrame) -> Iterator[Part]:
    """Draw how chosen and random subsets of growing size keep the ranking."""
    known = best_subset[
        best_subset["value"].notna() & (best_subset["statistic"] == "kendall")
    ]
    known = known.assign(board=[board(row) for row in records(known)])
    stories = word("units", "stories")
    for name, rows in grouped(known.sort_values("size", kind="stable"), "board"):
        traces = [
            curve(i, word("best-subsets", source), own["size"], own["value"], stories)
            for i, source in enumerate(WORDS["best-subsets"])
            if len(own := rows[rows["source"] == source])
        ]
        words = _("{title}: up to {n}", title=name, n=f"{rows['value'].max():.2f}")
        sizes = sorted({float(size) for size in rows["size"]})
        yield curves(name, traces, (stories, "tau-b"), sizes, words=words)
