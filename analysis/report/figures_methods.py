"""Figures of methods: means, rankings, composites, and profiles over metrics."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from analysis.reliability.checklist_labels import ALL
from analysis.report import panels
from analysis.report.figure import (
    MOST_ROWS,
    Instead,
    Panel,
    Part,
    Trace,
    as_text,
    best_first,
    figure,
    grouped,
    said,
    values,
)
from analysis.report.language import headed, listed, say, texts
from analysis.report.metric_order import nearest_metrics
from analysis.report.panels import dots, in_per_cent

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


@figure("labels")
def label_dots(labels: pd.DataFrame) -> Iterator[Part]:
    """Draw recall and precision of each method over all labels of a checklist."""
    whole = labels[labels["label"] == ALL]
    parts = [in_per_cent(whole, "method", *kind) for kind in KEPT.items()]
    both = pd.concat(parts).dropna(subset=["value"])
    if len(both):
        yield dots(
            say("all labels"),
            both,
            "method",
            say("per cent"),
            groups="kind",
            order=list(best_first(parts[0], "value", "method")["method"]),
            span=(0, 100),
            words=said(parts[0], "method"),
        )


@figure("means")
def mean_dots(method_means: pd.DataFrame) -> Iterator[Part]:
    """Draw what people think of each method, question by question."""
    axis = say("mean rating")
    for question, rows in grouped(method_means, "dimension"):
        rows = best_first(rows, "mean", "method")
        yield dots(question, rows, "method", axis, value="mean")
    yield say(
        "Mean ratings of the methods with their intervals, best on top."
        if method_means["low"].notna().any()
        else "Mean ratings of the methods, best on top."
    )


@figure("standings")
def standing_dots(rating_leaderboard: pd.DataFrame) -> Iterator[Part]:
    """Draw means, standardised means and mixed-model effects side by side.

    Only where the ways do not give the same order: else the means say it all.
    """
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
            yield dots(
                headed(question, title),
                rows[rows["method"].isin(order)].rename(columns=bounds),
                "method",
                title,
                value=column,
                order=order,
                words=text if column == [*shown][-1] else "",
            )
    yield bool(alike) and say(
        "The three ways give one order for {questions}.", questions=listed(alike)
    )


@figure("method-ranks")
def rank_dots(rating_leaderboard: pd.DataFrame) -> Iterator[Part]:
    """Draw the rank of each method by its mean rating, with the interval of the rank.

    Nothing is drawn of questions without intervals, or with two methods.
    """
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
        yield panel


@figure("ladder")
def ladders(leaderboard: pd.DataFrame) -> Iterator[Part]:
    """Draw the Bradley-Terry ratings with intervals, and the intervals of ranks."""
    yield Instead(alt=say("{text}.", text=say("Leaderboard")))
    yield from _ladders(leaderboard, "Bradley-Terry")


@figure("ranking-ladder")
def ranking_ladders(ranking_leaderboard: pd.DataFrame) -> Iterator[Part]:
    """Draw the Plackett-Luce ratings in the same way."""
    yield Instead(alt=say("{text}.", text=say("Leaderboard of rankings")))
    yield from _ladders(ranking_leaderboard, "Plackett-Luce")


def _ladders(board: pd.DataFrame, model: str) -> Iterator[Part]:
    axis = say("rating (mean 1000)")
    for criterion, rows in grouped(board.dropna(subset=["rating"]), "criterion"):
        rows = best_first(rows, "rating", "method")
        panel = dots(
            criterion, rows, "method", axis, value="rating", lines=[1000], span=()
        )
        places, texts = [*range(len(rows))], _rank_texts(rows)
        yield panels.name_on_the_right(panel, places, texts)
    yield say(
        "{model} ratings with their intervals; 400 points are odds of ten to one."
        if board["low"].notna().any()
        else "{model} ratings; 400 points are odds of ten to one.",
        model=model,
    )
    if "rank_low" in board and board["rank_low"].notna().any():
        yield say(
            "On the right the ranks that each method may have: overlapping ranges are "
            "places that are not settled."
        )


def _rank_texts(rows: pd.DataFrame) -> list[str]:
    if not {"rank_low", "rank_high"} <= set(rows):
        return [""] * len(rows)
    ends = zip(rows["rank_low"], rows["rank_high"], strict=True)
    return [
        ""
        if pd.isna(low) or pd.isna(high)
        else "–".join(dict.fromkeys((f"{low}", f"{high}")))
        for low, high in ends
    ]


@figure("composites")
def composite_dots(composites: pd.DataFrame) -> Iterator[Part]:
    """Draw scores that are put together from several, composite by composite."""
    for name, rows in grouped(composites[composites["value"].notna()], "composite"):
        rows = rows.sort_values(["rank", "method"], kind="stable").head(MOST_ROWS)
        first = rows["method"].iloc[0]
        told = say("{score}: first {method}", score=name, method=first)
        yield dots(name, rows, "method", name, words=told)


# Profiles -----------------------------------------------------------------------------


@figure("profiles")
def profiles(
    cells: pd.DataFrame,
    correlations: pd.DataFrame | None,
    hypotheses: pd.DataFrame | None = None,
) -> Iterator[Part]:
    """Draw every method over all metrics, each divided by the best of the methods."""
    shares = metric_shares(cells)
    if len(shares.columns) > MOST_SPOKES:
        question = str(min(cells["question"].unique()))
        rows = cells[cells["question"] == question]
        best = nearest_metrics(question, rows, correlations, hypotheses, MOST_SPOKES)
        shares = shares[[m for m in shares if m in best]]
    if len(shares.columns) < FEWEST_SPOKES or len(shares) < 2:
        return
    people = cells.groupby("method")["human"].mean()
    order = list(people.sort_values(ascending=False, kind="stable").index)
    order = [method for method in order if method in shares.index]
    for method in order[:MOST_PROFILES]:
        yield _profile(method, shares)
    firsts = shares.idxmax().items()
    methods = listed(headed(metric, str(first)) for metric, first in firsts)
    told = say("Polar charts; the best method by metric is {methods}", methods=methods)
    yield Instead(alt=told)
    names = listed(f"{i + 1} {metric}" for i, metric in enumerate(shares))
    if _are_numbered(shares):
        yield say("Clockwise from the top: {names}.", names=names)
    n, total = MOST_PROFILES, len(order)
    yield total > n and say("The first {n} of {total} are drawn.", n=n, total=total)


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
