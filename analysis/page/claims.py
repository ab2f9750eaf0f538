"""What can be claimed, and what cannot: sentences generated from the numbers.

A sentence is shown by the data when its interval says so, and over method means the
permutation test as well; the same sentence without an interval, or with one that
includes the null value, is not.
"""

import math
from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from analysis.page.claims_more import (
    bias_claims,
    calibration_claims,
    ceiling_claims,
    flip_limits,
    needed_limits,
    pair_claims,
    selection_limits,
    stratum_claims,
)
from analysis.page.printing import counted
from analysis.page.wording import (
    FEW_METHODS,
    LEVELS,
    NAMES,
    SIGNIFICANT,
    Claim,
    first_row,
    interval,
    number,
    p_text,
)
from analysis.reading.scores import BASELINE
from analysis.significance import holm

__all__ = ["interval", "limits", "number", "sentences"]


def sentences(tables: Mapping[str, pd.DataFrame], permutations: int) -> tuple[str, ...]:
    """Return what the data support, one sentence each.

    `permutations` is how many the tests between metrics made at most.
    """
    return tuple(text for shown, text in _claims(tables, permutations) if shown)


def limits(tables: Mapping[str, pd.DataFrame], permutations: int) -> tuple[str, ...]:
    """Return what the data do not support, one sentence each."""
    every = list(_claims(tables, permutations))
    found = [text for shown, text in every if not shown]
    if "correlations" in tables:
        found += flip_limits(tables["correlations"], tables.get("pairwise_accuracy"))
        found += _coefficient_limits(tables["correlations"])
    found += selection_limits(tables, [text for shown, text in every if shown])
    if "pairwise_accuracy" in tables:
        found += _tie_limits(tables["pairwise_accuracy"])
    if "needed" in tables:
        found += needed_limits(tables["needed"])
    with_interval = [table["low"] for table in tables.values() if "low" in table]
    if any(low.notna().any() for low in with_interval):
        found.append(
            "Intervals come from resampling this study's own answers; they say nothing "
            "about stories or methods of another kind."
        )
    elif with_interval:
        found.append(
            "No interval was computed: how far any of these values would move with "
            "other stories, methods or annotators is not known."
        )
    return tuple(found)


def _claims(tables: Mapping[str, pd.DataFrame], permutations: int) -> Iterator[Claim]:
    if "correlations" in tables:
        comparisons = tables.get("metric_comparisons")
        for question, rows in tables["correlations"].groupby("dimension", sort=True):
            yield _best_metric(str(question), rows, comparisons, permutations)
        yield from ceiling_claims(tables["correlations"], tables.get("agreement"))
    if "pairwise_accuracy" in tables:
        yield from pair_claims(tables["pairwise_accuracy"], tables.get("mcnemar"))
    if "calibration" in tables:
        yield from calibration_claims(tables["calibration"])
    if "agreement" in tables:
        yield from _people(tables["agreement"])
    if "leaderboard" in tables:
        yield from _leaders(tables["leaderboard"])
    if "position_bias" in tables:
        yield from bias_claims(tables["position_bias"])
    if "strata_differences" in tables:
        yield from stratum_claims(tables["strata_differences"])


def _best_metric(
    question: str,
    rows: pd.DataFrame,
    comparisons: pd.DataFrame | None,
    permutations: int,
) -> Claim:
    defined = rows[rows["value"].notna()]
    known = set(zip(defined["coefficient"], defined["level"], strict=True))
    chosen = [(c, x) for c in NAMES for x in LEVELS if (c, x) in known]
    if not chosen:
        return False, f"{question}: no coefficient is defined; the tables say why."
    name, level = chosen[0]
    here = defined[(defined["coefficient"] == name) & (defined["level"] == level)]
    here = here.sort_values(["value", "metric"], ascending=[False, True])
    established = here[_is_established(here, level, permutations)]
    if established.empty:
        return False, _no_metric(question, first_row(here), len(here), permutations)
    found = first_row(established)
    text = (
        f"{question}: {found['metric']} agrees with people {LEVELS[level]}: "
        f"{_evidence(found)}{_place(found, here)}"
    )
    if comparisons is not None:
        same = (comparisons[["dimension", "level", "coefficient"]] == [
            question, level, name,
        ]).all(axis=1)  # fmt: skip
        text += _separation(str(found["metric"]), comparisons[same], permutations)
    return True, f"{text}."


def _is_established(
    rows: pd.DataFrame, level: str, permutations: int
) -> "pd.Series[bool]":
    """Tell which coefficients of one level are shown to be above 0.

    Resamples of a few methods repeat the same few: where two or three stand in the
    right order, they do in every resample, and the interval has no width. So over
    method means it takes enough of them and the permutation test as well, and inside
    stories more than one story. Of many metrics some agree by chance: p-values are
    adjusted over the metrics (Holm), at the other levels where the draws suffice for
    that.
    """
    shown = rows["low"] > 0
    adjusted = _adjusted(rows)
    if level == "method":
        shown &= (adjusted <= SIGNIFICANT) & (rows["n"] >= FEW_METHODS)
    elif 2 * len(rows) / (permutations + 1) <= SIGNIFICANT:
        shown &= ~(adjusted > SIGNIFICANT)
    if level == "story":
        shown &= rows["n_groups"] > 1
    return shown


def _adjusted(rows: pd.DataFrame) -> "pd.Series[float]":
    if "p_value" not in rows:
        return pd.Series(math.nan, index=rows.index)
    return pd.Series(holm(rows["p_value"].to_numpy(float)), index=rows.index)


def _evidence(row: Mapping[str, Any]) -> str:
    text = f"{NAMES[row['coefficient']]} {number(row['value'])}{interval(row)}, n = "
    if row["level"] == "method":
        return text + counted(row["n"], "method") + p_text(row["p_value"])
    text += counted(row["n"], "cell")
    if row["level"] == "story":
        text += f" of {counted(row['n_groups'], 'story', 'stories')}"
    return text


def _no_metric(
    question: str, best: Mapping[str, Any], n_metrics: int, permutations: int
) -> str:
    who = f"The highest of {n_metrics} metrics, {best['metric']},"
    if n_metrics == 1:
        who = f"The only metric, {best['metric']},"
    if math.isnan(best["low"]):
        does = "has no interval"
    elif best["high"] < 0:
        does = "disagrees with people"
    elif best["low"] <= 0:
        does = "has an interval that includes 0"
    elif best["level"] == "story" and not best["n_groups"] > 1:
        does = "was compared inside one story only"
    elif best["level"] != "method":
        does = f"does not pass its test once adjusted over {n_metrics} metrics"
    elif best["n"] < FEW_METHODS:
        does = "was compared over few methods"
    elif n_metrics / (permutations + 1) > SIGNIFICANT >= best["p_value"]:
        does = (
            f"would need more than {permutations} permutations to allow for the choice "
            f"among {n_metrics}"
        )
    elif best.get("p_value", 1.0) <= SIGNIFICANT and n_metrics > 1:
        does = f"does not pass the permutation test adjusted over {n_metrics} metrics"
    else:
        does = "does not pass the permutation test"
    return (
        f"{question}: no metric is shown to agree with people "
        f"{LEVELS[best['level']]}. {who} {does} ({_evidence(best)})."
    )


def _place(found: Mapping[str, Any], rows: pd.DataFrame) -> str:
    """Say where a metric stands among those compared with it, best first."""
    if len(rows) == 1:
        return ""
    best = first_row(rows)
    if found["value"] < best["value"]:
        return (
            f"; {best['metric']} is higher ({number(best['value'])}), but not shown "
            "to agree"
        )
    equal = rows[(rows["value"] == best["value"]) & (rows["metric"] != found["metric"])]
    place = f"the highest of {len(rows)} metrics"
    if len(equal):
        place = f"together with {', '.join(equal['metric'])} {place}"
    return f", {place}"


def _separation(metric: str, comparisons: pd.DataFrame, permutations: int) -> str:
    """Say from how many of the others the tests tell a metric apart.

    The family of tests is this metric against each other one; the table adjusts over
    all pairs, which answers more questions than the sentence asks.
    """
    own = comparisons[
        (comparisons["metric_a"] == metric) | (comparisons["metric_b"] == metric)
    ]
    own = own[own["difference"].notna()]
    tested = own["p_value"].dropna()
    if tested.empty:
        return ""
    if len(tested) / (permutations + 1) > SIGNIFICANT:
        return (
            f"; {permutations} permutations are too few to tell {len(tested) + 1} "
            "metrics apart"
        )
    tested = pd.Series(holm(tested.to_numpy(float)))
    joined = int(len(own) - (tested <= SIGNIFICANT).sum())
    others = f"the {len(own)} others" if len(own) > 1 else "the other"
    if joined == 0:
        return f", separable from {others} (Holm, p ≤ .05)"
    if len(own) > 1:
        others = f"{'any' if joined == len(own) else joined} of {others}"
    return f", not separable from {others} (Holm, p > .05)"


def _people(agreement: pd.DataFrame) -> Iterator[Claim]:
    undefined: dict[str, list[str]] = {}
    for question, rows in agreement.groupby("question", sort=True):
        name = "alpha_nominal"
        if (rows["statistic"] == "alpha_ordinal").any():
            name = "alpha_ordinal"
        alpha = first_row(rows[rows["statistic"] == name])
        if math.isnan(alpha["value"]):
            undefined.setdefault(str(alpha["reason"]), []).append(str(question))
            continue
        evidence = (
            f"{name.removeprefix('alpha_')} alpha {number(alpha['value'])}"
            f"{interval(alpha)} ({counted(alpha['n_annotators'], 'annotator')}, "
            f"{counted(alpha['n_units'], 'unit')} with two or more answers)"
        )
        shown = bool(alpha["low"] > 0)
        does = "people agree" if shown else "people are not shown to agree"
        if math.isnan(alpha["low"]):
            evidence = f"for want of an interval: {evidence}"
        yield shown, f"{question}: {does} beyond chance, {evidence}."
    for reason, questions in undefined.items():
        listed = ", ".join(questions)
        yield (
            False,
            f"{listed}: agreement of people beyond chance is undefined, since "
            f"{reason}.",
        )


def _leaders(board: pd.DataFrame) -> Iterator[Claim]:
    for criterion, rows in board.groupby("criterion", sort=True):
        rows = rows.dropna(subset=["rating"])
        if rows.empty:
            continue
        first = first_row(rows.sort_values(["rank", "method"]))
        leading = sorted(rows.loc[rows["rank"] == 1, "method"])
        if len(leading) > 1:
            yield (
                False,
                f"{criterion}: no method stands first alone; {', '.join(leading)} "
                f"share the first place with a rating of {_rating(first)}.",
            )
            continue
        text = (
            f"{criterion}: {first['method']} stands first with a rating of "
            f"{_rating(first)} from {counted(first['n_comparisons'], 'comparison')}"
        )
        low, high = first["rank_low"], first["rank_high"]
        if pd.isna(low) or pd.isna(high):
            yield False, f"{text}, but its rank has no interval."
        elif low == high == 1:
            yield True, f"{text}, and in nearly every resample."
        else:
            yield (
                False,
                f"{text}, but its rank is not settled: it goes from "
                f"{low:.0f} to {high:.0f} in resamples.",
            )


def _rating(row: Mapping[str, Any]) -> str:
    text = f"{row['rating']:.0f}"
    if not math.isnan(row["low"]):
        text += f" [{row['low']:.0f}, {row['high']:.0f}]"
    return text.replace("-", "\N{MINUS SIGN}")


def _coefficient_limits(correlations: pd.DataFrame) -> Iterator[str]:
    over_methods = (correlations["level"] == "method") & correlations["value"].notna()
    methods = correlations.loc[over_methods, "n"].max()
    if 0 < methods < FEW_METHODS:
        yield (
            f"Only {counted(methods, 'method')}: a coefficient over method means is "
            "nearly uninformative, whatever its value."
        )
    known = correlations[correlations["low"].notna()]
    around = int(((known["low"] <= 0) & (known["high"] >= 0)).sum())
    if around:
        does = "it does" if around == 1 else "they do"
        yield (
            f"{_some_have(around, len(known), 'coefficient')} an interval that "
            f"includes 0: {does} not show agreement."
        )
    below = int((known["high"] < 0).sum())
    if below:
        yield (
            f"{_some_have(below, len(known), 'coefficient')} an interval below 0: "
            "there the metric disagrees with people."
        )


def _some_have(n: int, total: int, noun: str, plural: str = "") -> str:
    return f"{n} of {counted(total, noun, plural)} {'has' if n == 1 else 'have'}"


def _tie_limits(pairwise: pd.DataFrame) -> Iterator[str]:
    real = pairwise[pairwise["metric"] != BASELINE]
    tied = int((real["metric_tie_rate"] > 0.2).sum())
    if tied:
        rows = "row of pairwise accuracy", "rows of pairwise accuracy"
        yield (
            f"{_some_have(tied, len(real), *rows)} more than 20 % metric ties: strict "
            "and half accuracy differ, so quote both."
        )
