"""What can be claimed of subsets, of judges, and of where ratings differ."""

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from analysis.report.language import counted, listed, retold, say, texts
from analysis.report.wording import (
    LEVELS,
    NAMES,
    PEOPLE,
    ClaimText,
    first_row,
    interval,
    number,
    per_cent,
    records,
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


def variance_claims(variance: pd.DataFrame) -> Iterator[ClaimText]:
    """Say what the ratings of a pilot differ by, the largest three shares first."""
    for question, rows in variance.groupby("question", sort=False):
        # The interval is that of the component; the share is one of their sum.
        total = rows["value"].clip(lower=0).sum()
        known = rows[rows["share"].notna()]
        if known.empty or not total > 0:
            continue
        largest = known.sort_values("share", ascending=False, kind="stable").head(3)
        if "method" not in set(largest["component"]):
            own = known[known["component"] == "method"]
            largest = pd.concat([largest, own])
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
        yield (
            True,
            say(
                "{question}: of the variance of ratings, {shares}.",
                question=question,
                shares=_joined(told),
            ),
        )


def subset_claims(subset: pd.DataFrame) -> Iterator[ClaimText]:
    """Say whether a part of the stories keeps the order and the means of methods."""
    for name, rows in subset.groupby("subset", sort=False):
        yield from _order_claims(str(name), rows)
        yield from _mean_claims(str(name), rows)


def _order_claims(name: str, rows: pd.DataFrame) -> Iterator[ClaimText]:
    """Say by which scores the order of the methods goes with that of the whole.

    An interval above 0 shows a likeness, not that the order is kept; and of a few
    methods every resample repeats the same few.
    """
    order = rows[(rows["statistic"] == "kendall") & rows["value"].notna()]
    with_interval = order[order["low"].notna()]
    like = with_interval[(with_interval["low"] > 0) & (with_interval["n"] >= FEW_DRAWN)]
    for shown, own in ((True, like), (False, order.drop(like.index))):
        if own.empty:
            continue
        own = own.sort_values("value", kind="stable")
        evidence = _from_to(own)
        if own["n"].max() < FEW_DRAWN:
            evidence = say("{evidence}, too few to show it", evidence=evidence)
        yield (
            shown,
            say(
                "{subset} orders the methods like the whole by {scores}: {evidence}."
                if shown
                else "{subset} is not shown to order the methods like the whole by "
                "{scores}: {evidence}.",
                subset=name,
                scores=_of(len(own), len(order)),
                evidence=evidence,
            ),
        )
    yield from _random_claims(name, rows, order)


def _from_to(rows: pd.DataFrame) -> str:
    """Word the lowest and the highest of sorted coefficients."""
    ends = records(rows.iloc[[0, -1]])
    low, high = (
        say(
            "{value} ({scores})",
            value=f"{number(row['value'])}{interval(row)}",
            scores=_board(row),
        )
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
            yield (
                shown,
                say(
                    "{subset} keeps the order better than random subsets of its size "
                    "by {scores}."
                    if shown
                    else "{subset} is not shown to keep the order better than random "
                    "subsets of its size by {scores}.",
                    subset=name,
                    scores=_of(n, len(both)),
                ),
            )


def _mean_claims(name: str, rows: pd.DataFrame) -> Iterator[ClaimText]:
    moved = rows[(rows["statistic"] == "difference_percent") & rows["low"].notna()]
    if moved.empty:
        return
    apart = moved[(moved["low"] > 0) | (moved["high"] < 0)]
    if len(apart):
        far = first_row(apart.loc[[apart["value"].abs().idxmax()]])
        yield (
            True,
            say(
                "{subset} moves the mean of {scores}: by {most} at most ({score}).",
                subset=name,
                scores=_of(len(apart), len(moved)),
                most=f"{number(far['value'])} %{interval(far)}",
                score=_board(far),
            ),
        )
    if len(apart) < len(moved):
        bounds = moved.drop(apart.index)[["low", "high"]].abs().max(axis=1)
        yield (
            False,
            say(
                "{subset} is not shown to move the mean of {scores}; by up to {most} "
                "remains possible.",
                subset=name,
                scores=_of(len(moved) - len(apart), len(moved)),
                most=f"{number(float(bounds.max()))} %",
            ),
        )


def choice_claims(best: pd.DataFrame) -> Iterator[ClaimText]:
    """Say whether chosen stories do better than random ones for other methods."""
    gain = best[
        (best["source"] == "gain")
        & (best["statistic"] == "kendall")
        & best["value"].notna()
    ]
    if gain.empty:
        for reason in best.loc[best["value"].isna(), "reason"].unique():
            text = say(
                "No stories are chosen to stand for all: {reason}.",
                reason=retold(reason),
            )
            yield False, text
        return
    better = gain[gain["low"] > 0]
    for row in records(better):
        yield (
            True,
            say(
                "{n} chosen stories keep the order by {scores} better than random "
                "ones, for methods that had no part in the choice: {value} of "
                "Kendall's tau-b.",
                n=f"{row['size']:.0f}",
                scores=_board(row),
                value=f"{number(row['value'])}{interval(row)}",
            ),
        )
    if len(better) < len(gain):
        yield (
            False,
            say(
                "Choosing stories is not shown to beat random ones for methods that "
                "had no part in the choice, in {n} of {total} sizes and orders.",
                n=len(gain) - len(better),
                total=len(gain),
            ),
        )


def stability_claims(stability: pd.DataFrame) -> Iterator[ClaimText]:
    """Say how far the scores of a judge move from trial to trial."""
    whole = stability[stability["method"].fillna("") == ""]
    for (question, judge), rows in whole.groupby(["question", "metric"], sort=False):
        known = {row["statistic"]: row for row in records(rows[rows["value"].notna()])}
        if "sd_output" not in known:
            continue
        sd, same = known["sd_output"], known.get("same_share")
        clause = say(
            "from trial to trial {metric} moves the score of an output by {value} "
            "(standard deviation)",
            metric=judge,
            value=f"{number(sd['value'])}{interval(sd)}",
        )
        if same is not None:
            clause = say(
                "{first} and gives one and the same in {share} of outputs",
                first=clause,
                share=per_cent(same["value"], same["low"], same["high"]),
            )
        clauses = [clause]
        noise = known.get("noise_to_methods")
        if noise is not None:
            share = per_cent(noise["value"], noise["low"], noise["high"])
            clauses.append(
                say(
                    "of the mean of a method this is {share} of how far methods stand "
                    "apart",
                    share=share,
                )
            )
        text = listed(clauses, "; ")
        yield True, say("{question}: {text}.", question=question, text=text)


def judge_claims(judges: pd.DataFrame) -> Iterator[ClaimText]:
    """Say which judges agree with people, and with one another."""
    known = judges[(judges["coefficient"] == "kendall") & judges["value"].notna()]
    for (question, one, other), rows in known.groupby(
        ["question", "metric_a", "metric_b"], sort=False
    ):
        levels = {row["level"]: row for row in records(rows)}
        level = next(level for level in LEVELS if level in levels)
        row = levels[level]
        few = level == "method" and row["n"] < FEW_METHODS
        shown = row["low"] > 0 and not few
        evidence = say(
            "{value}, n = {n}",
            value=f"{say(NAMES['kendall'])} {number(row['value'])}{interval(row)}",
            n=f"{row['n']:.0f}",
        )
        if few:
            evidence = say("{evidence}, too few methods to show it", evidence=evidence)
        yield (
            bool(shown),
            say(
                "{question}: {one} and {other} agree {where}: {evidence}."
                if shown
                else "{question}: {one} and {other} are not shown to agree {where}: "
                "{evidence}.",
                question=question,
                one=say(PEOPLE.get(str(one), str(one))),
                other=say(PEOPLE.get(str(other), str(other))),
                where=say(LEVELS[level]),
                evidence=evidence,
            ),
        )


def _board(row: Mapping[str, Any]) -> str:
    """Name what methods are ordered by: a question, a metric, or both."""
    named = [row[key] for key in ("question", "metric") if isinstance(row[key], str)]
    return ": ".join(name for name in named if name) or say("all")


def _of(n: int, total: int) -> str:
    if total == 1:
        return say("the one score")
    if n < total:
        return say("{n} of {total} scores", n=n, total=total)
    return say("both scores") if total == 2 else say("all {n} scores", n=total)


def _joined(parts: list[str]) -> str:
    *first, last = parts
    if not first:
        return last
    return say("{parts} and {last}", parts=listed(first), last=last)
