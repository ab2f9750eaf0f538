"""Figures of groups of stories, and of what a further study would need."""

from collections.abc import Iterator

import pandas as pd

from analysis.options import KNOWN_COEFFICIENTS
from analysis.report.figure import (
    MOST_ROWS,
    Figure,
    Instead,
    Panel,
    Part,
    by_value,
    figure,
    figure_of,
    grouped,
    said,
)
from analysis.report.language import headed, listed, say, texts
from analysis.report.metric_order import LEVEL_NAMES, title_of
from analysis.report.panels import curve, curves, dots
from analysis.report.wording import NAMES, UNITS, board, records

# Statistics of strata that draw, of which some have one value for each method, and what
# stands for no difference.
STRATA = ("ppa_half", "mean", "win_rate", "alpha_ordinal")
OF_METHODS = ("mean", "win_rate")
NULLS: dict[str, list[float]] = {"mean": [], "ppa_half": [0.5], "win_rate": [0.5]}
MOST_METRICS = 8
# Numbers on an axis of small and large ones.
TICKS = tuple(step * 10**power for power in range(5) for step in (1, 3))
# Statistics of subsets that draw, and what they are called.
KEPT = texts(
    kendall="with the whole",
    kendall_others="with the other stories",
    kendall_random="random subsets, with the whole",
)
CHOSEN = texts({"heldout": "chosen, other methods", "random": "at random"})
# What grows, and its column.
GROWS = {"annotators": "n_annotators", "stories": "n_stories", "methods": "n_methods"}


def strata_dots(strata: pd.DataFrame) -> list[Figure]:
    """Draw each statistic by stratum; of coefficients one at one level."""
    known = strata[strata["value"].notna()]
    coefficients = [c for c in KNOWN_COEFFICIENTS if (known["statistic"] == c).any()]
    found: list[Figure] = []
    for statistic in (*coefficients[:1], *STRATA):
        rows = known[known["statistic"] == statistic]
        if statistic == "mean":
            # Means of metrics, which have no question, are on other scales.
            rows = rows[rows["question"].fillna("") != ""]
        if statistic in KNOWN_COEFFICIENTS:
            order = ("story", "pooled", "method")
            levels = [level for level in order if level in set(rows["level"])]
            rows = rows[rows["level"].isin(levels[:1])]
        key = f"strata-{statistic.replace('_', '-')}"
        found += figure_of(key, _strata(statistic, rows), "strata")
    return found


def _strata(statistic: str, rows: pd.DataFrame) -> Iterator[Part]:
    column = "method" if statistic in OF_METHODS else "metric"
    most = MOST_METRICS if column == "metric" else MOST_ROWS
    has_names, lines = False, NULLS.get(statistic, [0])
    is_alpha = statistic == "alpha_ordinal"
    title = say(NAMES[statistic]) if is_alpha else title_of(statistic)
    yield Instead(title=say("By group of stories: {statistic}", statistic=title))
    for (question, tag), own in rows.groupby(["question", "tag"], sort=True):
        heading = say("{question}, by {tag}", question=question, tag=tag)
        order: list[str] = []
        if own[column].fillna("").ne("").any():
            has_names, order = True, by_value(own, column)[:most]
            own = own[own[column].isin(order)]
        yield dots(
            heading,
            own,
            column if order else "stratum",
            title,
            groups="stratum" if order else "",
            order=order,
            lines=lines,
            span=(),
            words=headed(heading, said(own, "stratum")),
        )
    if column == "metric" and has_names:
        yield say("At most {n} metrics, the highest.", n=MOST_METRICS)


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
        title = _power_title(question, statistic, level, metric)
        yield _curves(title, own, target)
    if target is not None:
        yield say("The dotted line is {n}.", n=f"{target:g}")
    yield several and say("One metric is drawn; the table has the others.")


def _power_title(
    question: object, statistic: object, level: object, metric: object
) -> str:
    name = str(statistic)
    is_coefficient = name in KNOWN_COEFFICIENTS
    called = title_of(name) if is_coefficient else say(name.replace("_", " "))
    parts = [str(question), called]
    if isinstance(level, str) and level:
        parts.append(say(LEVEL_NAMES.get(level, level)))
    return listed([*parts, metric] if isinstance(metric, str) and metric else parts)


def _curves(title: str, rows: pd.DataFrame, target: float | None) -> Panel:
    traces, numbers = [], []
    for i, (grows, own) in enumerate(grouped(rows, "grows")):
        column = GROWS.get(grows, "n")
        own, unit = own.sort_values(column, kind="stable"), say(UNITS.get(grows, grows))
        numbers += list(map(float, own[column]))
        traces.append(curve(i, unit, own[column], own["half_width"], unit))
    narrow = float(rows["half_width"].min())
    return curves(
        title,
        traces,
        (say("number"), say("half-width")),
        [tick for tick in TICKS if min(numbers) <= tick <= max(numbers)],
        top=max(float(rows["half_width"].max()) * 1.08, 1.2 * (target or 0)),
        height=300,
        target=target,
        words=say("{title}: down to {n}", title=title, n=f"{narrow:.3g}"),
    )


@figure("subset")
def subset_dots(subset: pd.DataFrame) -> Iterator[Part]:
    """Draw how well the order of methods in a subset keeps that of the whole."""
    known = subset[subset["value"].notna() & subset["statistic"].isin(KEPT)]
    for name, rows in grouped(known, "subset"):
        rows = rows.assign(
            board=[board(row) for row in records(rows)],
            kind=[say(KEPT[statistic]) for statistic in rows["statistic"]],
        )
        order = list(dict.fromkeys(rows["board"]))[:MOST_ROWS]
        rows = rows[rows["board"].isin(order)]
        whole = said(rows[rows["statistic"] == "kendall"], "board")
        yield dots(
            name,
            rows,
            "board",
            say("Kendall's tau-b of method means"),
            groups="kind",
            order=order,
            lines=[0],
            span=(0.0, 1.0),
            words=headed(name, whole),
        )


@figure("best-subset")
def best_subset_curves(best_subset: pd.DataFrame) -> Iterator[Part]:
    """Draw how chosen and random subsets of growing size keep the ranking."""
    known = best_subset[
        best_subset["value"].notna() & (best_subset["statistic"] == "kendall")
    ]
    known = known.assign(board=[board(row) for row in records(known)])
    stories = say("stories")
    for name, rows in grouped(known.sort_values("size", kind="stable"), "board"):
        traces = [
            curve(i, say(title), own["size"], own["value"], stories)
            for i, (source, title) in enumerate(CHOSEN.items())
            if len(own := rows[rows["source"] == source])
        ]
        told = say("{title}: up to {n}", title=name, n=f"{rows['value'].max():.2f}")
        sizes = sorted({float(size) for size in rows["size"]})
        yield curves(name, traces, (stories, "tau-b"), sizes, words=told)
