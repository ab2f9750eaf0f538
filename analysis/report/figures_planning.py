"""Figures of groups of stories, and of what a further study would need."""

import pandas as pd

from analysis.report.figure import (
    MOST_PANELS,
    MOST_ROWS,
    MOST_WORDS,
    Figure,
    Panel,
    by_value,
    cut,
    figure_of,
    grouped,
    said,
)
from analysis.report.language import headed, listed, say, texts
from analysis.report.metric_order import COEFFICIENT_NAMES, LEVEL_NAMES
from analysis.report.panels import curve, curves, dots
from analysis.report.wording import UNITS, board, records

# The statistics of strata that are drawn, and what their axis is called.
STRATA = texts(
    {
        **COEFFICIENT_NAMES,
        "ppa_half": "pairwise accuracy, a tie is half",
        "mean": "mean rating",
        "win_rate": "win rate",
        "alpha_ordinal": "ordinal alpha",
    }
)
# Of which a stratum has one for each method, and what stands for no difference.
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
GROUPS_APART = texts(
    "Groups of stories apart. A difference between two groups counts where the "
    "table of differences says so, not where two intervals look apart."
)


def strata_dots(strata: pd.DataFrame) -> list[Figure]:
    """Draw each statistic by stratum; of coefficients one at one level."""
    known = strata[strata["value"].notna()]
    coefficients = [c for c in COEFFICIENT_NAMES if (known["statistic"] == c).any()]
    shown = [*coefficients[:1], "ppa_half", "mean", "win_rate", "alpha_ordinal"]
    found: list[Figure] = []
    for statistic in shown:
        rows = known[known["statistic"] == statistic]
        if statistic == "mean":
            # Means of metrics, which have no question, are on other scales.
            rows = rows[rows["question"].fillna("") != ""]
        if statistic in COEFFICIENT_NAMES:
            order = ("story", "pooled", "method")
            levels = [level for level in order if level in set(rows["level"])]
            rows = rows[rows["level"].isin(levels[:1])]
        found += _strata(statistic, rows)
    return found


def _strata(statistic: str, rows: pd.DataFrame) -> list[Figure]:
    column = "method" if statistic in OF_METHODS else "metric"
    most = MOST_METRICS if column == "metric" else MOST_ROWS
    title, drawn = say(STRATA[statistic]), []
    lines, has_names = NULLS.get(statistic, [0]), False
    for (question, tag), own in rows.groupby(["question", "tag"], sort=True):
        heading = say("{question}, by {tag}", question=question, tag=tag)
        order: list[str] = []
        if own[column].fillna("").ne("").any():
            has_names, order = True, by_value(own, column)[:most]
            own = own[own[column].isin(order)]
        panel = dots(
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
        drawn.append(panel)
    return figure_of(
        f"strata-{statistic.replace('_', '-')}",
        say("By group of stories: {statistic}", statistic=title),
        (
            GROUPS_APART,
            column == "metric"
            and has_names
            and say("At most {n} metrics, the highest.", n=MOST_METRICS),
            cut(drawn),
        ),
        "By stratum.",
        drawn,
        24,
        most_panels=MOST_PANELS,
        most_words=MOST_WORDS,
    )


def power_curves(
    power: pd.DataFrame, needed: pd.DataFrame | None = None
) -> list[Figure]:
    """Draw how intervals shrink with more stories, annotators or methods."""
    known = power[power["half_width"].notna()]
    target = None
    if needed is not None and len(needed):
        target = float(needed["target"].iloc[0])
    drawn, several = [], False
    keys = ["question", "statistic", "level"]
    for (question, statistic, level), rows in known.groupby(
        keys, sort=True, dropna=False
    ):
        metric = rows["metric"].iloc[0]
        own = rows[rows["metric"].isin([metric])]
        several = several or len(own) < len(rows)
        title = _power_title(question, str(statistic), level, metric)
        drawn.append(_curves(title, own, target))
    return figure_of(
        "power",
        "What more stories, annotators or methods buy",
        (
            "Half the width of the interval, expected from this study's own variance, "
            "when one thing grows and the rest stays. A curve that levels off says "
            "that something else limits the study.",
            target is not None and say("The dotted line is {n}.", n=f"{target:g}"),
            several and "One metric is drawn; the table has the others.",
            cut(drawn),
        ),
        "Expected half-widths.",
        drawn,
        most_panels=MOST_PANELS,
        most_words=MOST_WORDS,
    )


def _power_title(
    question: object, statistic: str, level: object, metric: object
) -> str:
    parts = [str(question)]
    parts.append(say(COEFFICIENT_NAMES.get(statistic, statistic.replace("_", " "))))
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


def subset_dots(subset: pd.DataFrame) -> list[Figure]:
    """Draw how well the order of methods in a subset keeps that of the whole."""
    known = subset[subset["value"].notna() & subset["statistic"].isin(KEPT)]
    drawn = []
    for name, rows in grouped(known, "subset"):
        rows = rows.assign(
            board=[board(row) for row in records(rows)],
            kind=[say(KEPT[statistic]) for statistic in rows["statistic"]],
        )
        order = list(dict.fromkeys(rows["board"]))[:MOST_ROWS]
        rows = rows[rows["board"].isin(order)]
        whole = said(rows[rows["statistic"] == "kendall"], "board")
        panel = dots(
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
        drawn.append(panel)
    return figure_of(
        "subset",
        "Does a part of the stories keep the ranking?",
        "Order of the methods in the subset against the whole, which holds the "
        "subset and so flatters it, and against the stories outside it. A "
        "subset is worth its name where it beats random ones of its size.",
        "Rank correlations of a subset with the whole.",
        drawn,
        24,
        most_panels=MOST_PANELS,
    )


def best_subset_curves(best_subset: pd.DataFrame) -> list[Figure]:
    """Draw how chosen and random subsets of growing size keep the ranking."""
    known = best_subset[
        best_subset["value"].notna() & (best_subset["statistic"] == "kendall")
    ]
    known = known.assign(board=[board(row) for row in records(known)])
    drawn, stories = [], say("stories")
    for name, rows in grouped(known.sort_values("size", kind="stable"), "board"):
        traces = [
            curve(i, say(title), own["size"], own["value"], stories)
            for i, (source, title) in enumerate(CHOSEN.items())
            if len(own := rows[rows["source"] == source])
        ]
        told = say("{title}: up to {n}", title=name, n=f"{rows['value'].max():.2f}")
        sizes = sorted({float(size) for size in rows["size"]})
        drawn.append(curves(name, traces, (stories, "tau-b"), sizes, words=told))
    return figure_of(
        "best-subset",
        "How few stories keep the ranking?",
        "Stories chosen on one half of the methods and checked on the other, "
        "beside as many stories at random. The gap between the two is what "
        "choosing buys.",
        "Rank correlations by size.",
        drawn,
        most_panels=MOST_PANELS,
        most_words=MOST_WORDS,
    )
