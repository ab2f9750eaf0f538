"""What can be claimed of pairs, ceilings, ranks, groups of stories, and plans."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from analysis.page.layout import metric_ranks, of_ratings
from analysis.page.printing import counted
from analysis.page.wording import (
    LEVELS,
    NAMES,
    SIGNIFICANT,
    Claim,
    first_row,
    interval,
    nth,
    number,
    p_text,
    per_cent,
)
from analysis.reading.scores import BASELINE
from analysis.significance import holm

# VISTAR demands that a metric prefers what people prefer in so many pairs.
DEMANDED = 0.75
CHANCE = 0.5
SOURCES = {
    "ratings": "what mean ratings prefer",
    "choices": "what the majority of annotators prefers",
}
# A ceiling that low is none: hardly anybody agrees with anybody.
LEAST_CEILING = 0.1
# The units of the ceiling and the cells of a metric are the same to this share.
SAME_UNITS = 0.2
# A metric that is best in one way and at least this rank in another flips.
FLIP = 3
MOST_SENTENCES = 4
WAYS = {
    "method τ": "over method means",
    "story τ": "inside stories",
    "pooled τ": "over all cells together",
    "within_method τ": "within methods",
    "within methods τ": "within methods",
    "PPA half": "by pairwise accuracy (half)",
    "acc_eq": "by acc_eq",
}
STATISTICS = {
    **NAMES,
    "kendall_c": "Kendall's tau-c",
    "ppa_half": "pairwise accuracy (half)",
    "ppa_strict": "pairwise accuracy (strict)",
    "mean": "mean rating",
    "alpha_ordinal": "ordinal alpha",
    "alpha_nominal": "nominal alpha",
}


def pair_claims(
    pairwise: pd.DataFrame, mcnemar: pd.DataFrame | None = None
) -> Iterator[Claim]:
    """Say of each question which metric prefers most often what people prefer."""
    groups = pairwise.get("source")
    if groups is None or "ppa_half" not in pairwise:
        return
    for (question, source), rows in pairwise.groupby(["question", "source"], sort=True):
        real = rows[(rows["metric"] != BASELINE) & rows["ppa_half"].notna()]
        if real.empty:
            continue
        real = real.sort_values(["ppa_half", "metric"], ascending=[False, True])
        best = first_row(real)
        low, high = best["ppa_half_low"], best["ppa_half_high"]
        shown = bool(low > CHANCE)
        text = (
            f"{best['metric']} prefers {SOURCES.get(str(source), source)} in "
            f"{per_cent(best['ppa_half'], low, high)} of "
            f"{counted(best['n_pairs'], 'pair')} that people do not tie, a tie of the "
            "metric being half "
            f"({_strict(best)}; chance is 50 %)"
        )
        if len(real) > 1:
            text += f", the highest of {len(real)} metrics"
            text += _apart(str(best["metric"]), str(question), mcnemar)
        if not shown:
            why = "for want of an interval" if math.isnan(low) else "not above chance"
            if high < CHANCE:
                why = "below chance"
            yield (
                False,
                f"{question}: no metric is shown to prefer what people prefer: {text}, "
                f"{why}.",
            )
            continue
        yield True, f"{question}: {text}{_demand(low, high)}."


def _strict(row: Mapping[str, Any]) -> str:
    if row["metric_tie_rate"] == 0:
        return "it ties none"
    value = per_cent(row["ppa_strict"], row["ppa_strict_low"], row["ppa_strict_high"])
    return (
        f"as a miss: {value}; it ties {per_cent(row['metric_tie_rate'])} of the pairs"
    )


def _demand(low: float, high: float) -> str:
    if low > DEMANDED:
        return "; it stands above the 75 % that VISTAR demands"
    if high < DEMANDED:
        return "; it stands below the 75 % that VISTAR demands"
    return "; whether it reaches the 75 % that VISTAR demands is open"


def _apart(metric: str, question: str, mcnemar: pd.DataFrame | None) -> str:
    """Say from how many of the others McNemar's tests tell a metric apart."""
    if mcnemar is None or mcnemar.empty:
        return ""
    own = mcnemar[
        (mcnemar["question"] == question)
        & ((mcnemar["metric_a"] == metric) | (mcnemar["metric_b"] == metric))
        & ~mcnemar["metric_a"].eq(BASELINE)
        & ~mcnemar["metric_b"].eq(BASELINE)
    ]
    # Pairs of one story are not independent: the test that knows it goes first.
    column = "p_stories" if own["p_stories"].notna().any() else "p_value"
    known = own[column].dropna()
    if known.empty:
        return ""
    apart = int((holm(known.to_numpy(float)) <= SIGNIFICANT).sum())
    return f", separable from {apart} of {len(known)} others (McNemar, Holm, p ≤ .05)"


def ceiling_claims(
    correlations: pd.DataFrame, agreement: pd.DataFrame | None
) -> Iterator[Claim]:
    """Say how near the best metric comes to one annotator.

    The ceiling correlates one annotator with the mean of the others over all complete
    units together. So only a metric's pooled coefficient is held against it, and only
    where both are over nearly the same units.
    """
    if agreement is None or "n_units" not in agreement:
        return
    for question, rows in correlations.groupby("dimension", sort=True):
        for name in ("kendall", "spearman"):
            limit = agreement[
                (agreement["question"] == question)
                & (agreement["statistic"] == f"rater_vs_rest_{name}")
            ]
            own = rows[(rows["coefficient"] == name) & (rows["level"] == "pooled")]
            own = own[own["value"] > 0].sort_values(
                ["value", "metric"], ascending=[False, True]
            )
            if limit.empty or own.empty:
                continue
            top, best = first_row(limit), first_row(own)
            if not _comparable(top, best):
                break
            share = best["value"] / top["value"]
            reaches = (
                f"{per_cent(share)} of it" if share <= 1 else "more than one annotator"
            )
            yield (
                bool(best["low"] > 0),
                f"{question}: one annotator reaches {number(top['value'])}"
                f"{interval(top) if 'low' in top else ''} against the mean of the rest "
                f"({NAMES[name]}, {counted(top['n_units'], 'unit')}); over the same "
                f"cells together the highest metric, {best['metric']}, reaches "
                f"{number(best['value'])}{interval(best)}: {reaches}.",
            )
            break


def _comparable(top: Mapping[str, Any], best: Mapping[str, Any]) -> bool:
    if pd.isna(top["value"]) or top["value"] < LEAST_CEILING or pd.isna(top["n_units"]):
        return False
    return bool(abs(top["n_units"] - best["n"]) <= SAME_UNITS * best["n"])


def flip_limits(
    correlations: pd.DataFrame, pairwise: pd.DataFrame | None
) -> Iterator[str]:
    """Say where the best metric depends on the level or the statistic."""
    for question, rows in correlations.groupby("dimension", sort=True):
        pairs = None
        if pairwise is not None and "question" in pairwise:
            pairs = of_ratings(pairwise, str(question))
        ranks = metric_ranks(rows, pairs)
        ranks = ranks[[column for column in ranks if column in WAYS]]
        if len(ranks) < FLIP or ranks.shape[1] < 2:
            continue
        main = next(
            (c for c in ("story τ", "pooled τ") if c in ranks), ranks.columns[0]
        )
        best = str(ranks[main].idxmin())
        places = {str(c): int(ranks[c].loc[best]) for c in ranks}
        moved = [c for c in places if places[c] >= FLIP]
        if not moved:
            continue
        elsewhere = ", ".join(
            f"{_place(places[c], len(ranks))} {WAYS[c]}" for c in moved
        )
        yield (
            f"{question}: which metric is best depends on how one asks: {best} stands "
            f"first of {len(ranks)} {WAYS[str(main)]}, but {elsewhere}."
        )


def _place(rank: int, total: int) -> str:
    return "last" if rank == total else nth(rank)


def selection_limits(
    tables: Mapping[str, pd.DataFrame], shown: Sequence[str]
) -> Iterator[str]:
    """Say that the highest of many is flattered, where such a one is named."""
    if not any("the highest of " in text for text in shown):
        return
    text = (
        "A metric that is named as the highest of several was chosen by the same data "
        "that show its value: expect it to be somewhat lower in another study. "
    )
    if len(tables.get("metric_comparisons", ())) or len(tables.get("mcnemar", ())):
        text += "Tests against the others are adjusted (Holm), intervals are not."
    else:
        text += "Intervals are not adjusted for that choice."
    yield text


def bias_claims(bias: pd.DataFrame) -> Iterator[Claim]:
    """Say where the side on which an output stands moves people."""
    known = bias[bias["p_value"].notna() & bias["value"].notna()]
    if known.empty:
        return
    adjusted = pd.Series(holm(known["p_value"].to_numpy(float)), index=known.index)
    moved = known.assign(p_adjusted=adjusted)[adjusted <= SIGNIFICANT]
    for _index, row in moved.head(MOST_SENTENCES).iterrows():
        yield (
            True,
            f"{row['question']}: the side matters: of {counted(row['n'], 'answer')} "
            "the "
            f"left output wins {number(row['value'])}{interval(_texts(row))} of those "
            f"that are no tie (Holm{p_text(float(row['p_adjusted']))}).",
        )
    if moved.empty:
        yield (
            False,
            f"No question shows a preference for a side "
            f"({counted(len(known), 'question')} tested, Holm, p > .05).",
        )


def _texts(row: "pd.Series[Any]") -> dict[str, Any]:
    return {str(key): value for key, value in row.items()}


def stratum_claims(differences: pd.DataFrame) -> Iterator[Claim]:
    """Say which groups of stories differ, after adjustment."""
    known = differences[differences["p_adjusted"].notna()]
    if known.empty:
        return
    apart = known[known["p_adjusted"] <= SIGNIFICANT]
    apart = apart.sort_values("p_adjusted", kind="stable")
    for _index, row in apart.head(MOST_SENTENCES).iterrows():
        yield True, _stratum(_texts(row))
    rest = len(known) - len(apart)
    if len(apart) > MOST_SENTENCES:
        yield (
            True,
            f"{len(apart) - MOST_SENTENCES} further differences between groups of "
            "stories are shown; the table strata_differences has them.",
        )
    if rest:
        yield (
            False,
            f"{rest} of {counted(len(known), 'difference')} between groups of stories "
            f"{'is' if rest == 1 else 'are'} not shown (adjusted p > .05): groups that "
            "look apart need not be.",
        )


def _stratum(row: Mapping[str, Any]) -> str:
    what = STATISTICS.get(str(row["statistic"]), str(row["statistic"]))
    who = next(
        (f" of {row[key]}" for key in ("metric", "method") if _is_named(row.get(key))),
        "",
    )
    level = str(row.get("level") or "")
    where = f" {LEVELS[level]}" if level in LEVELS else ""
    return (
        f"{row['question']}: {what}{who}{where} differs between {row['tag']} "
        f"{row['stratum_a']} and {row['stratum_b']}: by "
        f"{number(row['value'])}{interval(row)}, n = {row['n']:.0f}"
        f" (adjusted{p_text(float(row['p_adjusted'])).removeprefix(',')})."
    )


def _is_named(value: object) -> bool:
    return isinstance(value, str) and value != ""


def calibration_claims(calibration: pd.DataFrame) -> Iterator[Claim]:
    """Say whether weighted metrics beat the best single one on held-out stories."""
    gains = calibration[
        calibration["statistic"].astype(str).str.contains("gain")
        & calibration["value"].notna()
    ]
    for _index, row in gains.head(MOST_SENTENCES).iterrows():
        shown = bool(row["low"] > 0)
        does = "agree better than the best single one" if shown else (
            "are not shown to agree better than the best single one"
        )  # fmt: skip
        yield (
            shown,
            f"{row['question']}: metrics weighted to fit people {does} on stories held "
            f"out: gain {number(row['value'])}{interval(_texts(row))}, "
            f"n = {row['n']:.0f}.",
        )


def needed_limits(needed: pd.DataFrame) -> Iterator[str]:
    """Say what a narrow interval would take: the first statistic of each question."""
    told = 0
    for (question, statistic, level, grows, target), rows in needed.groupby(
        ["question", "statistic", "level", "grows", "target"], sort=False, dropna=False
    ):
        row = first_row(rows)
        if told >= MOST_SENTENCES or grows != "stories":
            continue
        told += 1
        name = STATISTICS.get(str(statistic), str(statistic).replace("_", " "))
        where = f" {LEVELS[str(level)]}" if str(level) in LEVELS else ""
        who = f" of {row['metric']}" if _is_named(row["metric"]) else ""
        what = f"{question}: a half-width of {target:g} for {name}{who}{where}"
        if pd.isna(row["value"]):
            yield f"{what} cannot be promised: {row['reason']}."
        else:
            stories = counted(math.ceil(row["value"]), "story", "stories")
            yield f"{what} would need about {stories}, all else as here."
