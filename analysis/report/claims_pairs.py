"""What can be claimed of pairs: metrics, one annotator, weighted metrics, and sides."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd
from scipy.stats import beta, binom

from analysis.hypotheses import declared
from analysis.inference.significance import holm
from analysis.printing import counted
from analysis.reading.scores import BASELINES
from analysis.report.wording import (
    SIGNIFICANT,
    ClaimText,
    first_row,
    is_clear,
    per_cent,
    records,
    some_have,
)

# VISTAR demands that a metric prefers what people prefer in so many pairs.
DEMANDED = 0.75
CHANCE = 0.5
SOURCES = {
    "ratings": "what mean ratings prefer",
    "choices": "what the majority of annotators prefers",
    "rankings": "what the majority of annotators ranks higher",
}
ONE_ANNOTATOR = "one annotator"


def pair_claims(
    pairwise: pd.DataFrame,
    comparisons: pd.DataFrame | None,
    hypotheses: pd.DataFrame | None,
    confidence: float,
) -> Iterator[ClaimText]:
    """Say of each question what its declared metrics do in pairs, then the best."""
    if "source" not in pairwise or "ppa_half" not in pairwise:
        return
    for (question, source), rows in pairwise.groupby(["question", "source"], sort=True):
        real = rows[~rows["metric"].isin(BASELINES) & rows["ppa_half"].notna()]
        if real.empty:
            continue
        real = real.sort_values(["ppa_half", "metric"], ascending=[False, True])
        named = real[real["metric"].isin(declared(hypotheses, str(question)))]
        who = SOURCES.get(str(source), str(source))
        told = {row["metric"]: row for row in records(named)}
        above = [m for m in told if _is_above(told[m], len(named), confidence)]
        best = first_row(real)
        is_best = _is_above(best, len(real), confidence)
        for metric in above:
            if is_best and metric == best["metric"]:
                continue
            yield (
                True,
                f"{question}: {metric}, declared for this question, prefers "
                f"{who} more often than chance: in {_share(told[metric])}.",
            )
        below = [told[m] for m in told if m not in (*above, best["metric"])]
        if is_best:
            name = best["metric"]
            if name in above:
                name += ", declared for this question,"
            text = f"{question}: {name} prefers {who} in {_share(best)}"
            if len(real) > 1:
                text += f", the highest of {len(real)} metrics"
                text += _apart(best, comparisons)
            yield True, text + _demand(best)
        elif best["metric"] not in above:
            none = "no other metric" if above else "no metric"
            highest = f"The highest of {len(real)} metrics, {best['metric']},"
            if len(real) == 1:
                highest = f"The only metric, {best['metric']},"
            yield (
                False,
                f"{question}: {none} is shown to prefer {who} more often than chance. "
                f"{highest} does so in {_share(best)}{_why_not(best, len(real))}.",
            )
        if below:
            yield (
                False,
                f"{question}: not shown to prefer {who} more often than chance: "
                f"{_listed(below)}.",
            )


def _listed(rows: list[dict[str, Any]]) -> str:
    """Return the named metrics that are not shown to be above chance."""
    parts = [
        f"{row['metric']} "
        f"({per_cent(row['ppa_half'], row['ppa_half_low'], row['ppa_half_high'])})"
        for row in rows
    ]
    return f"{', '.join(parts)}, declared for this question"


def _is_above(row: Mapping[str, Any], choices: int, confidence: float) -> bool:
    """Say whether a metric stands above chance, by its interval and by enough pairs."""
    return _has_pairs(row, choices) and is_clear(
        row, CHANCE, choices=choices, confidence=confidence, name="ppa_half"
    )


def _has_pairs(row: Mapping[str, Any], choices: int) -> bool:
    """Say whether as many independent pairs could show it: the exact sign test.

    Where a metric is right in every pair it is so in every resample, and two pairs
    have an interval of [100, 100] like two hundred.
    """
    right = round(row["ppa_strict"] * row["n_pairs"])
    decided = round((1 - row["metric_tie_rate"]) * row["n_pairs"])
    p = 2 * float(binom.sf(right - 1, decided, CHANCE))
    return p * choices <= SIGNIFICANT


def _share(row: Mapping[str, Any]) -> str:
    half = per_cent(row["ppa_half"], row["ppa_half_low"], row["ppa_half_high"])
    text = f"{half} of {counted(row['n_pairs'], 'pair')} that people do not tie"
    if row["metric_tie_rate"] == 0:
        return f"{text} (it ties none; chance is 50 %)"
    strict = per_cent(row["ppa_strict"], row["ppa_strict_low"], row["ppa_strict_high"])
    return (
        f"{text}, its ties being half (as misses: {strict}; it ties "
        f"{per_cent(row['metric_tie_rate'])}; chance is 50 %)"
    )


def _why_not(row: Mapping[str, Any], n_metrics: int) -> str:
    low, high = row["ppa_half_low"], row["ppa_half_high"]
    if math.isnan(low):
        return ", without an interval"
    if high < CHANCE:
        return ": below chance"
    if low > CHANCE and not _has_pairs(row, n_metrics):
        return ": too few pairs to tell it from chance"
    if low > CHANCE:
        return f": not clear of chance once the choice among {n_metrics} is allowed for"
    return ": the interval holds chance"


def _demand(row: Mapping[str, Any]) -> str:
    """Hold a metric against VISTAR's line, with what independent pairs could tell."""
    n = row["n_pairs"]
    right = row["ppa_half"] * n
    low, high = row["ppa_half_low"], row["ppa_half_high"]
    # Clopper and Pearson's bounds; all or none of the pairs have one of them only.
    if right > 0:
        low = min(low, float(beta.ppf(SIGNIFICANT / 2, right, n - right + 1)))
    if right < n:
        high = max(high, float(beta.isf(SIGNIFICANT / 2, right + 1, n - right)))
    if low > DEMANDED:
        return "; it stands above the 75 % that VISTAR demands."
    if high < DEMANDED:
        return "; it stands below the 75 % that VISTAR demands."
    return "; whether it reaches the 75 % that VISTAR demands is open."


def _apart(best: Mapping[str, Any], comparisons: pd.DataFrame | None) -> str:
    """Say from how many of the others the test of half accuracy tells a metric."""
    if comparisons is None or comparisons.empty:
        return ""
    own = comparisons[
        (comparisons["question"] == best["question"])
        & (comparisons["source"] == best["source"])
        & (comparisons["statistic"] == "ppa_half")
        & (comparisons[["metric_a", "metric_b"]] == best["metric"]).any(axis=1)
    ]
    known = own["p_value"].dropna()
    if known.empty:
        return ""
    apart = int((holm(known.to_numpy(float)) <= SIGNIFICANT).sum())
    if not apart:
        others = "the other" if len(known) == 1 else f"any of the {len(known)} others"
        return f", not separable from {others} (Holm, p > .05)"
    others = "the other" if len(known) == 1 else f"the {len(known)} others"
    if apart < len(known):
        others = f"{apart} of {others}"
    return f", separable from {others} (Holm, p ≤ .05)"


def human_pair_claims(human_pairs: pd.DataFrame) -> Iterator[ClaimText]:
    """Hold the best metric against one annotator, on the same people and pairs."""
    unsettled = []
    for (name, source), rows in human_pairs.groupby(["question", "source"], sort=True):
        question = _asked(str(name), str(source), human_pairs)
        known = rows[rows["value"].notna()]
        one = known[known["metric"] == ONE_ANNOTATOR]
        metrics = known[
            (known["metric"] != ONE_ANNOTATOR) & ~known["metric"].isin(BASELINES)
        ].sort_values(["value", "metric"], ascending=[False, True])
        if one.empty or metrics.empty:
            continue
        person, best = first_row(one), first_row(metrics)
        points = -100 * best["difference"], -100 * best["difference_high"]
        text = (
            f"{question}: one annotator predicts the others in "
            f"{per_cent(person['value'], person['low'], person['high'])} of "
            f"{counted(person['n'], 'judgement')} of pairs (ties half), the highest "
            f"metric, {best['metric']}, in "
            f"{per_cent(best['value'], best['low'], best['high'])}: "
        )
        if math.isnan(best["difference_low"]):
            yield False, f"{text}the difference has no interval."
            continue
        least, most = sorted((points[1], -100 * best["difference_low"]))
        away = f"{abs(points[0]):.0f} points"
        if least > 0:
            yield True, f"{text}{away} [{least:.0f}, {most:.0f}] lower."
        elif most < 0:
            yield True, f"{text}{away} [{-most:.0f}, {-least:.0f}] higher."
        else:
            unsettled.append(
                f"{question} ({best['metric']} {_signed(-points[0])} points "
                f"[{_signed(-most)}, {_signed(-least)}])"
            )
    if unsettled:
        yield (
            False,
            "Whether the highest metric predicts people as well as one annotator "
            f"predicts the others is open in {', '.join(unsettled)}.",
        )


def _asked(question: str, source: str, table: pd.DataFrame) -> str:
    """Name the question, and the answers where there are two kinds of them."""
    own = table[table["question"] == question]
    return f"{question} ({source})" if own["source"].nunique() > 1 else question


def _signed(value: float, decimals: int = 0) -> str:
    return f"{value + 0.0:+.{decimals}f}".replace("-", "\N{MINUS SIGN}")


def _gain(row: Mapping[str, Any]) -> str:
    value, low, high = (_signed(100 * row[key], 1) for key in ("value", "low", "high"))
    return f"{value} points" + ("" if math.isnan(row["low"]) else f" [{low}, {high}]")


def calibration_claims(calibration: pd.DataFrame) -> Iterator[ClaimText]:
    """Say whether weighted metrics beat the best single one on held-out stories."""
    gains = calibration[
        (calibration["statistic"] == "gain") & calibration["value"].notna()
    ]
    # The best component's gain stands first; the other one is against their mean.
    gains = gains[gains["against"] != "mean of components"]
    within = []
    for row in records(gains):
        row["question"] = _asked(row["question"], row.get("source", ""), calibration)
        gain = f"gain {_gain(row)} over {row['against']}"
        if row["low"] > 0:
            yield (
                True,
                f"{row['question']}: metrics weighted to fit people predict them "
                f"better than the best single one on stories held out: {gain}, "
                f"n = {counted(row['n'], 'pair')}.",
            )
        else:
            within.append(f"{row['question']} ({gain}, {counted(row['n'], 'pair')})")
    if within:
        yield (
            False,
            "Metrics weighted to fit people are not shown to predict them better than "
            f"the best single one on stories held out: {', '.join(within)}.",
        )


def side_claims(
    bias: pd.DataFrame, side_effect: pd.DataFrame | None, confidence: float
) -> Iterator[ClaimText]:
    """Say where the side on which an output stands moves people.

    The share counts once strong methods are taken into account that stood on one side
    more often. Its interval has to say it, which draws clusters: the binomial test
    takes answers as independent.
    """
    known = bias[bias["value"].notna()]
    if known.empty:
        return
    names = {"value": "value", "low": "low", "high": "high"}
    if "adjusted" in known and known["adjusted"].notna().all():
        names = {"value": "adjusted", "low": "adjusted_low", "high": "adjusted_high"}
    moved, unmoved = [], 0
    for row in records(known):
        own = {key: row[name] for key, name in names.items()}
        turned = {"value": 1 - own["value"], "low": 1 - own["high"]}
        if any(
            is_clear(x, CHANCE, choices=len(known), confidence=confidence)
            for x in (own, turned)
        ):
            moved.append((row, own))
        else:
            unmoved += 1
    if moved:
        listed = ", ".join(
            f"{row['question']} (left wins "
            f"{per_cent(own['value'], own['low'], own['high'])} of "
            f"{counted(row['n'], 'answer')} that choose"
            f"{_points(row['question'], side_effect)})"
            for row, own in moved
        )
        yield True, f"The side matters in {listed}; intervals draw clusters of answers."
    if unmoved:
        yield (
            False,
            f"{unmoved} of {counted(len(known), 'question')} "
            f"{'does' if unmoved == 1 else 'do'} not show a preference for a side.",
        )


def _points(question: object, side_effect: pd.DataFrame | None) -> str:
    if side_effect is None:
        return ""
    own = side_effect[side_effect["question"] == question]
    if own.empty or pd.isna(own["elo"].iloc[0]):
        return ""
    return f", worth {_signed(own['elo'].iloc[0])} points of a rating"


def tie_limits(pairwise: pd.DataFrame) -> Iterator[str]:
    """Say where metrics tie often."""
    real = pairwise[~pairwise["metric"].isin(BASELINES)]
    tied = int((real["metric_tie_rate"] > 0.2).sum())
    if tied:
        rows = "row of pairwise accuracy", "rows of pairwise accuracy"
        yield (
            f"{some_have(tied, len(real), *rows)} more than 20 % metric ties: strict "
            "and half accuracy differ, so quote both."
        )
