"""Write sentences on sample size: methods, stories, annotators, subsets."""

from collections.abc import Iterator, Mapping

import pandas as pd

from analysis.inference.resampling import EXACT_BELOW
from analysis.report.language import counted, listed, retold, say, texts
from analysis.report.wording import (
    FEW_STORIES,
    ClaimText,
    board,
    claim,
    first_row,
    interval,
    number,
    per_cent,
    records,
    with_interval,
)
from analysis.verdicts import FEW_METHODS

# Components of variance in words.
COMPONENTS = texts(
    {
        "method": "the method",
        "story": "the story",
        "annotator": "the annotator",
        "method x story": "what a method makes of a story",
        "method x annotator": "an annotator's liking of a method",
        "story x annotator": "an annotator's liking of a story",
        "rest": "what is left over",
    }
)
RANDOM = "kendall_random"
# Resamples of fewer methods repeat the same few.
FEW_DRAWN = 10
# Below, tests that speak of other annotators reject too often (docs/coverage.md).
FEW_ANNOTATORS = 5
ResultTables = Mapping[str, pd.DataFrame]


def few_methods(correlations: pd.DataFrame) -> Iterator[str]:
    """Say that little can be shown over the means of few methods."""
    over_methods = (correlations["level"] == "method") & correlations["value"].notna()
    methods = correlations.loc[over_methods, "n"].max()
    if 0 < methods < EXACT_BELOW:
        yield say(
            "Only {methods}: not even a perfect order of their means can be told from "
            "chance."
            if methods < FEW_METHODS
            else "Only {methods}: over their means only strong agreement can be shown, "
            "by the exact test of all their orders.",
            methods=counted(methods, "method"),
        )


def few_stories(tables: ResultTables) -> Iterator[str]:
    """Say that resampled intervals over few stories are too narrow."""
    counts = [
        tables[name]["n_stories"].max()
        for name in ("method_means", "win_rates", "ranking_leaderboard")
        if name in tables
    ]
    most = max((int(count) for count in counts if not pd.isna(count)), default=0)
    if _have_intervals(tables) and 1 < most < FEW_STORIES:
        yield say(
            "Only {stories}: intervals that resample them are too narrow with so few, "
            "so treat borderline results as undecided.",
            stories=counted(most, "story"),
        )


def few_annotators(
    method_verdicts: pd.DataFrame, agreement: pd.DataFrame | None
) -> Iterator[str]:
    """Say that few annotators say little of others."""
    if agreement is None:
        return
    drawn = method_verdicts["drawn"].str.contains("annotators")
    n = int(agreement["n_annotators"].fillna(0).max())
    if drawn.any() and 1 < n < FEW_ANNOTATORS:
        yield say(
            "Only {annotators}: what is said of other annotators rests on so few, and "
            "errs somewhat more often than it says where they differ.",
            annotators=counted(n, "annotator"),
        )


def interval_limits(tables: ResultTables) -> Iterator[str]:
    """Say of what intervals speak, or that there are none."""
    if _have_intervals(tables):
        yield say(
            "Intervals come from this study's own answers; they say nothing "
            "about stories or methods of another kind."
        )
    elif any("low" in table for table in tables.values()):
        yield say(
            "No interval was computed: how far any of these values would move with "
            "other stories, methods or annotators is not known."
        )


def _have_intervals(tables: ResultTables) -> bool:
    return any(
        bool(table["low"].notna().any()) for table in tables.values() if "low" in table
    )


def variance_claims(
    variance: pd.DataFrame, power: pd.DataFrame | None
) -> Iterator[ClaimText]:
    """Say what the ratings of a pilot differ by, the largest three shares first."""
    if power is None:
        return
    for question, rows in variance.groupby("question", sort=False):
        # The interval is that of the component; the share is one of their sum.
        total = rows["value"].clip(lower=0).sum()
        known = rows[rows["share"].notna()]
        if known.empty or not total > 0:
            continue
        largest = known.sort_values("share", ascending=False, kind="stable").head(3)
        if "method" not in set(largest["component"]):
            largest = pd.concat([largest, known[known["component"] == "method"]])
        told = [
            say(
                "{share} comes with {component}"
                if i == 0
                else "{share} with {component}",
                share=per_cent(row["share"], row["low"] / total, row["high"] / total),
                component=say(COMPONENTS[row["component"]]),
            )
            for i, row in enumerate(records(largest))
        ]
        *before, shares = told
        if before:
            shares = say("{parts} and {last}", parts=listed(before), last=shares)
        yield claim(
            True,
            "{question}: of the variance of ratings, {shares}.",
            question=question,
            shares=shares,
        )


def subset_claims(subset: pd.DataFrame) -> Iterator[ClaimText]:
    """Say whether a part of the stories keeps the order and the means of methods."""
    for name, rows in subset.groupby("subset", sort=False):
        order = rows[(rows["statistic"] == "kendall") & rows["value"].notna()]
        yield from _order_claims(str(name), order)
        yield from _random_claims(str(name), rows, order)
        yield from _mean_claims(str(name), rows)


def _order_claims(name: str, order: pd.DataFrame) -> Iterator[ClaimText]:
    """Say by which scores the order of the methods goes with that of the whole.

    An interval above 0 shows a likeness, not that the order is kept; and of a few
    methods every resample repeats the same few.
    """
    like = order[(order["low"] > 0) & (order["n"] >= FEW_DRAWN)]
    for shown, own in ((True, like), (False, order.drop(like.index))):
        if own.empty:
            continue
        evidence = _from_to(own.sort_values("value", kind="stable"))
        if own["n"].max() < FEW_DRAWN:
            evidence = say("{evidence}, too few to show it", evidence=evidence)
        yield claim(
            shown,
            "{subset} orders the methods like the whole by {scores}: {evidence}."
            if shown
            else "{subset} is not shown to order the methods like the whole by "
            "{scores}: {evidence}.",
            subset=name,
            scores=_of(len(own), len(order)),
            evidence=evidence,
        )


def _from_to(rows: pd.DataFrame) -> str:
    """Word the lowest and the highest of sorted coefficients."""
    ends = records(rows.iloc[[0, -1]])
    low, high = (
        say("{value} ({scores})", value=with_interval(row), scores=board(row))
        for row in ends
    )
    n = counted(int(ends[0]["n"]), "method")
    if len(rows) == 1:
        return say("Kendall's tau-b {value}, n = {n}", value=low, n=n)
    return say("Kendall's tau-b from {low} to {high}, n = {n}", low=low, high=high, n=n)


def _random_claims(
    name: str, rows: pd.DataFrame, order: pd.DataFrame
) -> Iterator[ClaimText]:
    """Say whether the subset beats nearly all random ones of its size."""
    keys = ["question", "metric"]
    random = rows[rows["statistic"] == RANDOM].set_index(keys)["high"]
    own = order.set_index(keys)["value"]
    both = pd.concat([own, random], axis=1, keys=["own", "random"]).dropna()
    better = int((both["own"] > both["random"]).sum())
    for shown, n in ((True, better), (False, len(both) - better)):
        if n:
            yield claim(
                shown,
                "{subset} keeps the order better than random subsets of its size "
                "by {scores}."
                if shown
                else "{subset} is not shown to keep the order better than random "
                "subsets of its size by {scores}.",
                subset=name,
                scores=_of(n, len(both)),
            )


def _mean_claims(name: str, rows: pd.DataFrame) -> Iterator[ClaimText]:
    moved = rows[(rows["statistic"] == "difference_percent") & rows["low"].notna()]
    apart = moved[(moved["low"] > 0) | (moved["high"] < 0)]
    if len(apart):
        far = first_row(apart.loc[[apart["value"].abs().idxmax()]])
        yield claim(
            True,
            "{subset} moves the mean of {scores}: by {most} at most ({score}).",
            subset=name,
            scores=_of(len(apart), len(moved)),
            most=f"{number(far['value'])} %{interval(far)}",
            score=board(far),
        )
    if len(apart) < len(moved):
        bounds = moved.drop(apart.index)[["low", "high"]].abs().max(axis=1)
        yield claim(
            False,
            "{subset} is not shown to move the mean of {scores}; by up to {most} "
            "remains possible.",
            subset=name,
            scores=_of(len(moved) - len(apart), len(moved)),
            most=f"{number(float(bounds.max()))} %",
        )


def choice_claims(best_subset: pd.DataFrame) -> Iterator[ClaimText]:
    """Say whether chosen stories do better than random ones for other methods."""
    gain = best_subset[
        (best_subset["source"] == "gain")
        & (best_subset["statistic"] == "kendall")
        & best_subset["value"].notna()
    ]
    if gain.empty:
        undefined = best_subset.loc[best_subset["value"].isna(), "reason"]
        for reason in undefined.unique():
            yield claim(
                False,
                "No stories are chosen to stand for all: {reason}.",
                reason=retold(reason),
            )
        return
    better = gain[gain["low"] > 0]
    for row in records(better):
        yield claim(
            True,
            "{n} chosen stories keep the order by {scores} better than random "
            "ones, for methods that had no part in the choice: {value} of "
            "Kendall's tau-b.",
            n=f"{row['size']:.0f}",
            scores=board(row),
            value=with_interval(row),
        )
    if len(better) < len(gain):
        yield claim(
            False,
            "Choosing stories is not shown to beat random ones for methods that "
            "had no part in the choice, in {n} of {total} sizes and orders.",
            n=len(gain) - len(better),
            total=len(gain),
        )


def _of(n: int, total: int) -> str:
    if total == 1:
        return say("the one score")
    if n < total:
        return say("{n} of {total} scores", n=n, total=total)
    return say("both scores") if total == 2 else say("all {n} scores", n=total)
