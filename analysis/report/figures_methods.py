"""Figures of methods: means, rankings, composites, and profiles over metrics."""

import numpy as np
import pandas as pd

from analysis.reliability.checklist_labels import ALL
from analysis.report import panels
from analysis.report.figure import (
    MOST_ROWS,
    Figure,
    Panel,
    Trace,
    as_text,
    best_first,
    figure_of,
    grouped,
    said,
    values,
)
from analysis.report.language import headed, listed, say, texts
from analysis.report.metric_order import nearest_metrics
from analysis.report.panels import dots

KEPT = texts({"recall": "recall", "precision": "precision"})
MEASURES = texts(
    mean="mean of cells",
    standardised="standardised by annotator",
    mixed="mixed model",
)
# A profile has at most as many metrics, and as many methods have one.
MOST_SPOKES, MOST_PROFILES, FEWEST_SPOKES = 16, 12, 3
# Longer names of metrics stand in the caption of profiles, not around them.
SHORT_NAME = 9
FAINT = "rgba(128,128,128,0.3)"


def label_dots(labels: pd.DataFrame) -> list[Figure]:
    """Draw recall and precision of each method over all labels of a checklist."""
    whole = labels[labels["label"] == ALL]
    parts = [
        whole[["method"]].assign(
            kind=say(name),
            value=100 * whole[column],
            low=100 * whole[f"{column}_low"],
            high=100 * whole[f"{column}_high"],
        )
        for column, name in KEPT.items()
    ]
    both = pd.concat(parts).dropna(subset=["value"])
    if both.empty:
        return []
    panel = dots(
        say("all labels"),
        both,
        "method",
        say("per cent"),
        groups="kind",
        order=list(best_first(parts[0], "value", "method")["method"]),
        span=(0, 100),
        words=said(parts[0], "method"),
    )
    return figure_of(
        "labels",
        "What the text asks for, and what is shown",
        "Recall: how much of what the text asks for is shown. Precision: how much "
        "of what is shown was asked for. Of all labels together, most recall on "
        "top; the table has each label.",
        "Recall and precision.",
        [panel],
    )


def mean_dots(method_means: pd.DataFrame) -> list[Figure]:
    """Draw what people think of each method, question by question."""
    axis = say("mean rating")
    return figure_of(
        "means",
        "What people say of each method",
        "Mean ratings of the methods with their intervals, best on top."
        if method_means["low"].notna().any()
        else "Mean ratings of the methods, best on top.",
        "Mean ratings.",
        [
            dots(
                question,
                best_first(rows, "mean", "method"),
                "method",
                axis,
                value="mean",
            )
            for question, rows in grouped(method_means, "dimension")
        ],
    )


def standing_dots(rating_leaderboard: pd.DataFrame) -> list[Figure]:
    """Draw means, standardised means and mixed-model effects side by side.

    Only where the ways do not give the same order: else the means say it all.
    """
    drawn: list[Panel] = []
    alike = []
    for question, rows in grouped(rating_leaderboard):
        shown = {
            c: say(t)
            for c, t in MEASURES.items()
            if c in rows and rows[c].notna().any()
        }
        if len(shown) < 2:
            continue
        ranks = rows[[f"{c}_rank" for c in shown if f"{c}_rank" in rows]]
        differ = int((ranks.nunique(axis=1) > 1).sum())
        if not differ:
            alike.append(question)
            continue
        order = list(best_first(rows, "mean", "method")["method"])
        text = say(
            "{question}: the rank of {n} of {total} methods differs",
            question=question,
            n=differ,
            total=len(rows),
        )
        for column, title in shown.items():
            bounds = {f"{column}_low": "low", f"{column}_high": "high"}
            panel = dots(
                headed(question, title),
                rows[rows["method"].isin(order)].rename(columns=bounds),
                "method",
                title,
                value=column,
                order=order,
                words=text if title is list(shown.values())[-1] else "",
            )
            drawn.append(panel)
    return figure_of(
        "standings",
        "The same ratings, ranked in three ways",
        (
            "Methods in the order of their means. Where the next columns leave that "
            "order, strict or mild annotators, or who rated what, had made a "
            "difference.",
            bool(alike)
            and say(
                "The three ways give one order for {questions}.",
                questions=listed(alike),
            ),
        ),
        "Rankings from ratings.",
        drawn,
        18,
    )


def rank_dots(rating_leaderboard: pd.DataFrame) -> list[Figure]:
    """Draw the rank of each method by its mean rating, with the interval of the rank.

    Nothing is drawn of questions without intervals, or with two methods.
    """
    drawn = []
    names = {"mean_rank": "value", "mean_rank_low": "low", "mean_rank_high": "high"}
    for question, rows in grouped(rating_leaderboard):
        rows = rows[["method", *names]].rename(columns=names).dropna()
        if len(rows) < 3:
            continue
        rows = rows.sort_values(["value", "method"]).head(MOST_ROWS)
        settled = int((rows["low"] == rows["high"]).sum())
        told = say("{n} of {total} ranks settled", n=settled, total=len(rows))
        panel = dots(
            question, rows, "method", say("rank"), words=headed(question, told)
        )
        panel.layout["xaxis"] |= {"dtick": max(1, len(rows) // 10), "tick0": 1}
        drawn.append(panel)
    return figure_of(
        "method-ranks",
        "Which ranks are settled",
        "The rank of each method by its mean rating, 1 being best, and the ranks "
        "that it may have: overlapping bars are places that are not settled.",
        "Ranks with intervals.",
        drawn,
    )


def ladders(leaderboard: pd.DataFrame) -> list[Figure]:
    """Draw the Bradley-Terry ratings with intervals, and the intervals of ranks."""
    return _ladders(leaderboard, "ladder", say("Leaderboard"), "Bradley-Terry")


def ranking_ladders(ranking_leaderboard: pd.DataFrame) -> list[Figure]:
    """Draw the Plackett-Luce ratings in the same way."""
    title = say("Leaderboard of rankings")
    return _ladders(ranking_leaderboard, "ranking-ladder", title, "Plackett-Luce")


def _ladders(board: pd.DataFrame, key: str, title: str, model: str) -> list[Figure]:
    drawn = []
    axis = say("rating (mean 1000)")
    for criterion, rows in grouped(board.dropna(subset=["rating"]), "criterion"):
        rows = best_first(rows, "rating", "method")
        panel = dots(
            criterion, rows, "method", axis, value="rating", lines=[1000], span=()
        )
        places, texts = [*range(len(rows))], _rank_texts(rows)
        drawn.append(panels.name_on_the_right(panel, places, texts))
    return figure_of(
        key,
        title,
        (
            say(
                "{model} ratings with their intervals; 400 points are odds of ten to "
                "one."
                if board["low"].notna().any()
                else "{model} ratings; 400 points are odds of ten to one.",
                model=model,
            ),
            "rank_low" in board
            and board["rank_low"].notna().any()
            and "On the right the ranks that each method may have: overlapping ranges "
            "are places that are not settled.",
        ),
        say("{text}.", text=title),
        drawn,
        22,
    )


def _rank_texts(rows: pd.DataFrame) -> list[str]:
    if not {"rank_low", "rank_high"} <= set(rows):
        return [""] * len(rows)
    return [
        ""
        if pd.isna(low) or pd.isna(high)
        else f"{low}"
        if low == high
        else f"{low}–{high}"
        for low, high in zip(rows["rank_low"], rows["rank_high"], strict=True)
    ]


def composite_dots(composites: pd.DataFrame) -> list[Figure]:
    """Draw scores that are put together from several, composite by composite."""
    drawn = []
    for name, rows in grouped(composites[composites["value"].notna()], "composite"):
        rows = rows.sort_values(["rank", "method"], kind="stable").head(MOST_ROWS)
        first = rows["method"].iloc[0]
        told = say("{score}: first {method}", score=name, method=first)
        drawn.append(dots(name, rows, "method", name, words=told))
    return figure_of(
        "composites",
        "Composite scores",
        "Methods by scores that weigh several parts, best on top (of ranks, 1 is "
        "best); other weights may give another order.",
        "Composite scores.",
        drawn,
    )


# Profiles -----------------------------------------------------------------------------


def profiles(
    cells: pd.DataFrame,
    correlations: pd.DataFrame | None,
    hypotheses: pd.DataFrame | None = None,
) -> list[Figure]:
    """Draw every method over all metrics, each divided by the best of the methods."""
    shares = metric_shares(cells)
    if len(shares.columns) > MOST_SPOKES:
        question = str(min(cells["question"].unique()))
        rows = cells[cells["question"] == question]
        best = nearest_metrics(question, rows, correlations, hypotheses, MOST_SPOKES)
        shares = shares[[m for m in shares if m in best]]
    if len(shares.columns) < FEWEST_SPOKES or len(shares) < 2:
        return []
    people = cells.groupby("method")["human"].mean()
    order = list(people.sort_values(ascending=False, kind="stable").index)
    order = [method for method in order if method in shares.index]
    names = listed(f"{i + 1} {metric}" for i, metric in enumerate(shares))
    total = len(order)
    firsts = listed(
        headed(metric, str(first)) for metric, first in shares.idxmax().items()
    )
    return figure_of(
        "profiles",
        "Profiles of methods over metrics",
        (
            "Each metric divided by the best of the methods (turned round where lower "
            "is better): the rim is the best. Grey is the median method. Methods in "
            "the order of people's ratings.",
            _are_numbered(shares)
            and say("Clockwise from the top: {names}.", names=names),
            total > MOST_PROFILES
            and say(
                "The first {n} of {total} are drawn.", n=MOST_PROFILES, total=total
            ),
        ),
        say("Polar charts; the best method by metric is {methods}", methods=firsts),
        [_profile(method, shares) for method in order[:MOST_PROFILES]],
        15,
    )


def _are_numbered(shares: pd.DataFrame) -> bool:
    """Tell whether names of metrics would leave no room for the plot."""
    return any(len(str(metric)) > SHORT_NAME for metric in shares)


def metric_shares(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the mean score of each method as a share of the best method's.

    Where lower is better the best score is divided by the method's (ViStoryBench, E.2).
    Metrics with a mean of 0 or below have no shares and are left out.
    """
    unique = cells.drop_duplicates(["metric", "story", "method"])
    means = unique.pivot_table(index="method", columns="metric", values="score")
    higher = unique.groupby("metric")["higher_is_better"].first().astype(bool)
    means = means.loc[:, (means > 0).all() & means.notna().all()]
    found = {}
    for metric in map(str, means):
        own = means[metric]
        found[metric] = own / own.max() if higher[metric] else own.min() / own
    return pd.DataFrame(found, index=means.index)


def _profile(method: str, shares: pd.DataFrame) -> Panel:
    names = [as_text(name) for name in shares]
    # The caption has long names.
    ticks = [str(i + 1) for i in range(len(names))] if _are_numbered(shares) else names
    angles = [round(360 * i / len(names), 2) for i in range(len(names))]
    typical, row = shares.median(), shares.loc[method]
    data: list[Trace] = [
        {
            "type": "scatterpolar",
            "mode": "lines",
            "fill": fill,
            "r": values([*trace, trace.iloc[0]]),
            "theta": [*angles, angles[0]],
            "line": {"color": color, "width": 1.5},
            "text": [*names, names[0]],
            "hovertemplate": "%{text}: %{r:.2f}<extra></extra>",
        }
        for trace, color, fill in (
            (typical, "#A0A0A0", "none"),
            (row, panels.PALETTE[0], "toself"),
        )
    ]
    low = float(np.floor(10 * min(row.min(), typical.min())) / 10)
    look = {"gridcolor": FAINT, "tickfont": {"size": 9}}
    layout = {
        "showlegend": False,
        "margin": {"l": 45, "r": 45, "t": 22, "b": 22},
        "polar": {
            "bgcolor": "rgba(0,0,0,0)",
            "radialaxis": look
            | {
                "range": [min(low, 0.9), 1.0],
                "nticks": 3,
                "angle": 90,
                "linecolor": "rgba(0,0,0,0)",
            },
            "angularaxis": look
            | {
                "tickmode": "array",
                "tickvals": angles,
                "ticktext": ticks,
                "direction": "clockwise",
                "rotation": 90,
            },
        },
    }
    return Panel(method, 230, data, layout)
