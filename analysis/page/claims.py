"""What can be claimed, and what cannot: sentences generated from the numbers.

A sentence is shown by the data when its interval says so, and over method means the
permutation test as well; the same sentence without an interval, or with one that
includes the null value, is not.
"""

import math
from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from analysis.page.claims_metrics import (
    ceiling_claims,
    coverage_limits,
    flip_limits,
    metric_claims,
    selection_limits,
)
from analysis.page.claims_more import needed_limits, stratum_claims
from analysis.page.claims_pairs import (
    calibration_claims,
    human_pair_claims,
    pair_claims,
    side_claims,
    tie_limits,
)
from analysis.page.claims_planning import (
    choice_claims,
    judge_claims,
    stability_claims,
    subset_claims,
    variance_claims,
)
from analysis.page.wording import (
    FEW_METHODS,
    FEW_STORIES,
    MOST_SENTENCES,
    Claim,
    first_row,
    interval,
    number,
    some_have,
)
from analysis.printing import counted

__all__ = ["interval", "limits", "number", "sentences"]


Tables = Mapping[str, pd.DataFrame]


def sentences(
    tables: Tables, permutations: int, confidence: float = 0.95
) -> tuple[str, ...]:
    """Return what the data support, one sentence each."""
    return both(tables, permutations, confidence)[0]


def limits(
    tables: Tables, permutations: int, confidence: float = 0.95
) -> tuple[str, ...]:
    """Return what the data do not support, one sentence each."""
    return both(tables, permutations, confidence)[1]


def both(
    tables: Tables, permutations: int, confidence: float
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return what the data support, and what they do not.

    `permutations` is how many the tests between metrics made at most, `confidence` the
    coverage of the intervals.
    """
    every = list(_claims(tables, permutations, confidence))
    return tuple(text for shown, text in every if shown), _limits(tables, every)


def _limits(tables: Tables, every: list[Claim]) -> tuple[str, ...]:
    found = [text for shown, text in every if not shown]
    if "correlations" in tables:
        found += coverage_limits(tables)
        found += flip_limits(tables["correlations"], tables.get("pairwise_accuracy"))
        found += _coefficient_limits(tables["correlations"])
    found += selection_limits(tables, [text for shown, text in every if shown])
    if "pairwise_accuracy" in tables:
        found += tie_limits(tables["pairwise_accuracy"])
    if "needed" in tables:
        found += needed_limits(tables["needed"])
    with_interval = [table["low"] for table in tables.values() if "low" in table]
    if any(low.notna().any() for low in with_interval):
        found += _few_stories(tables)
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


def _few_stories(tables: Tables) -> Iterator[str]:
    """Say that intervals over few stories are too narrow."""
    counts = [
        tables[name]["n_stories"].max()
        for name in ("method_means", "win_rates")
        if name in tables
    ]
    most = max((int(count) for count in counts if not pd.isna(count)), default=0)
    if 1 < most < FEW_STORIES:
        yield (
            f"Only {most} stories: intervals that draw stories are too narrow with so "
            "few, so what stands clear of its limit by little is open."
        )


def _claims(tables: Tables, permutations: int, confidence: float) -> Iterator[Claim]:
    if "correlations" in tables:
        yield from metric_claims(tables, permutations)
        yield from ceiling_claims(tables["correlations"], tables.get("agreement"))
    if "pairwise_accuracy" in tables:
        pairwise = tables["pairwise_accuracy"]
        yield from pair_claims(pairwise, tables.get("mcnemar"), confidence)
    if "human_pairs" in tables:
        yield from human_pair_claims(tables["human_pairs"])
    if "calibration" in tables:
        yield from calibration_claims(tables["calibration"])
    if "agreement" in tables:
        yield from _people(tables["agreement"])
    if "leaderboard" in tables:
        yield from _leaders(tables["leaderboard"])
    if "position_bias" in tables:
        sides = tables.get("side_effect")
        yield from side_claims(tables["position_bias"], sides, confidence)
    if "strata_differences" in tables:
        yield from stratum_claims(tables["strata_differences"])
    if "power" in tables:
        yield from variance_claims(tables["variance"])
    for name, claims in (
        ("subset", subset_claims), ("best_subset", choice_claims),
        ("stability", stability_claims), ("judges", judge_claims),
    ):  # fmt: skip
        if name in tables:
            yield from claims(tables[name])


def _people(agreement: pd.DataFrame) -> Iterator[Claim]:
    undefined: dict[str, list[str]] = {}
    told: list[tuple[bool, str, float, str]] = []
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
        if math.isnan(alpha["low"]):
            evidence = f"for want of an interval: {evidence}"
        shown = bool(alpha["low"] > 0)
        told.append((shown, str(question), float(alpha["value"]), evidence))
    yield from _agreeing([one for one in told if one[0]], "people agree")
    yield from _agreeing(
        [one for one in told if not one[0]], "people are not shown to agree"
    )
    for reason, questions in undefined.items():
        listed = ", ".join(questions)
        yield (
            False,
            f"{listed}: agreement of people beyond chance is undefined, since "
            f"{reason}.",
        )


def _agreeing(told: list[tuple[bool, str, float, str]], does: str) -> Iterator[Claim]:
    if len(told) <= MOST_SENTENCES:
        for shown, question, _value, evidence in told:
            yield shown, f"{question}: {does} beyond chance, {evidence}."
        return
    low, high = min(told, key=lambda one: one[2]), max(told, key=lambda one: one[2])
    yield (
        low[0],
        f"{does.capitalize()} beyond chance in {len(told)} questions, from {low[1]}, "
        f"{low[3]}, to {high[1]}, {high[3]}.",
    )


def _leaders(board: pd.DataFrame) -> Iterator[Claim]:
    unsettled = []
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
            yield True, f"{text}, and is shown to be ahead of every other method."
        else:
            unsettled.append(
                f"{criterion} ({first['method']} {_rating(first)}, rank {low:.0f} to "
                f"{high:.0f}, {counted(first['n_comparisons'], 'comparison')})"
            )
    if unsettled:
        yield False, f"The first place is not settled in {', '.join(unsettled)}."


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
            f"{some_have(around, len(known), 'coefficient')} an interval that "
            f"includes 0: {does} not show agreement."
        )
    below = int((known["high"] < 0).sum())
    if below:
        yield (
            f"{some_have(below, len(known), 'coefficient')} an interval below 0: "
            "there the metric disagrees with people."
        )
