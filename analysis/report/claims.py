"""What can be claimed, and what cannot: sentences generated from the numbers.

Sentences about metrics word the rows of ``verdicts``. Another sentence is shown by the
data when its interval says so; without an interval, or with one that includes the null
value, it is not.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import pandas as pd

from analysis.printing import counted
from analysis.report.claims_metrics import (
    coverage_limits,
    flip_limits,
    selection_limits,
)
from analysis.report.claims_pairs import (
    calibration_claims,
    human_pair_claims,
    side_claims,
    tie_limits,
)
from analysis.report.claims_planning import (
    choice_claims,
    judge_claims,
    stability_claims,
    subset_claims,
    variance_claims,
)
from analysis.report.claims_strata import needed_limits, stratum_claims
from analysis.report.verdict_claims import tie_claims, verdict_claims
from analysis.report.wording import (
    FEW_STORIES,
    MOST_SENTENCES,
    ClaimText,
    first_row,
    interval,
    number,
    some_have,
)
from analysis.verdicts import FEW_METHODS

# A card with more sentences than the first keeps the second open.
MOST_OPEN, OPEN = 8, 6
# The statistic that tells how well people agree, the first one there is.
AGREEING = {
    "alpha_ordinal": "ordinal alpha",
    "alpha_nominal": "nominal alpha",
    "kendall_between_annotators": "Kendall's tau of two annotators",
}
ResultTables = Mapping[str, pd.DataFrame]
# Sentences of one kind after another: a kind says the same of every question.
Kinds = tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Said:
    """What the data show, and what they do not.

    Attributes
    ----------
    verdicts
        What is said of metrics: whether they are shown to agree, and how it reads.
    claims, limits
        What else the data show, and what they do not.
    """

    verdicts: tuple[ClaimText, ...]
    claims: Kinds
    limits: Kinds

    @property
    def shown(self) -> tuple[str, ...]:
        """Every sentence that the data show."""
        return *(text for is_shown, text in self.verdicts if is_shown), *flat(
            self.claims
        )

    @property
    def not_shown(self) -> tuple[str, ...]:
        """Every sentence that the data do not show."""
        verdicts = (text for is_shown, text in self.verdicts if not is_shown)
        return *verdicts, *flat(self.limits)


def both(tables: ResultTables, confidence: float) -> Said:
    """Return what the data support, and what they do not.

    `confidence` is the coverage of the intervals.
    """
    every = [list(kind) for kind in _claims(tables, confidence)]
    shown, unshown = (
        tuple(
            tuple(text for is_shown, text in kind if is_shown is wanted)
            for kind in every
        )
        for wanted in (True, False)
    )
    few = tuple(_few_methods(tables))
    stories = tuple(_few_stories(tables))
    further = tuple(tuple(kind) for kind in _limits(tables))
    verdicts: tuple[ClaimText, ...] = ()
    if "verdicts" in tables:
        verdicts = tuple(verdict_claims(tables["verdicts"]))
    return Said(verdicts, shown, (few, stories, *unshown, *further))


def flat(kinds: Kinds) -> tuple[str, ...]:
    """Return the sentences of all kinds."""
    return tuple(text for kind in kinds for text in kind)


def folded(kinds: Kinds) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the sentences that stand open, and those that are there for who asks.

    Of many, the first of each kind stands open, then the second.

    Examples
    --------
    >>> folded((tuple("abcdef"), ("x",), tuple("12")))
    (('a', 'b', 'c', 'x', '1', '2'), ('d', 'e', 'f'))
    """
    size = len(flat(kinds))
    places = [(i, k) for k, kind in enumerate(kinds) for i in range(len(kind))]
    is_open = set(sorted(places)[: OPEN if size > MOST_OPEN else size])
    first, more = (
        tuple(kinds[k][i] for i, k in places if ((i, k) in is_open) is wanted)
        for wanted in (True, False)
    )
    return first, more


def _limits(tables: ResultTables) -> Iterator[Iterable[str]]:
    if "correlations" in tables:
        correlations = tables["correlations"]
        yield coverage_limits(tables)
        yield flip_limits(correlations, tables.get("pairwise_accuracy"))
        yield _coefficient_limits(correlations)
    if "verdicts" in tables:
        yield tie_claims(tables["verdicts"])
        yield selection_limits(tables["verdicts"])
    if "pairwise_accuracy" in tables:
        yield tie_limits(tables["pairwise_accuracy"])
    if "needed" in tables:
        yield needed_limits(tables["needed"])
    if _have_intervals(tables):
        yield (
            "Intervals come from this study's own answers; they say nothing "
            "about stories or methods of another kind.",
        )
    elif any("low" in table for table in tables.values()):
        yield (
            "No interval was computed: how far any of these values would move with "
            "other stories, methods or annotators is not known.",
        )


def _have_intervals(tables: ResultTables) -> bool:
    return any(
        bool(table["low"].notna().any()) for table in tables.values() if "low" in table
    )


def _few_stories(tables: ResultTables) -> Iterator[str]:
    """Say that resampled intervals over few stories are too narrow."""
    if not _have_intervals(tables):
        return
    counts = [
        tables[name]["n_stories"].max()
        for name in ("method_means", "win_rates", "ranking_leaderboard")
        if name in tables
    ]
    most = max((int(count) for count in counts if not pd.isna(count)), default=0)
    if 1 < most < FEW_STORIES:
        yield (
            f"Only {most} stories: intervals of means, ranks and agreement, which "
            "resample them, are too narrow with so few, so what stands clear of its "
            "limit by little is open."
        )


def _claims(tables: ResultTables, confidence: float) -> Iterator[Iterable[ClaimText]]:
    sides = partial(side_claims, confidence=confidence)
    rankings = partial(_leaders, n="n_rankings", noun="ranking")
    # A table, what is said of it, and tables that are looked at beside it.
    kinds: tuple[tuple[str, Callable[..., Iterable[ClaimText]], *tuple[str, ...]], ...]
    kinds = (
        ("human_pairs", human_pair_claims),
        ("calibration", calibration_claims),
        ("agreement", _people),
        ("leaderboard", _leaders),
        ("ranking_leaderboard", rankings),
        ("position_bias", sides, "side_effect"),
        ("strata_differences", stratum_claims),
        ("power", lambda _power, variance: variance_claims(variance), "variance"),
        ("subset", subset_claims),
        ("best_subset", choice_claims),
        ("stability", stability_claims),
        ("judges", judge_claims),
    )
    for name, claims, *others in kinds:
        if name in tables:
            yield claims(tables[name], *map(tables.get, others))


def _people(agreement: pd.DataFrame) -> Iterator[ClaimText]:
    undefined: dict[str, list[str]] = {}
    told: list[tuple[bool, str, float, str]] = []
    for question, rows in agreement.groupby("question", sort=True):
        name = next(x for x in AGREEING if (rows["statistic"] == x).any())
        alpha = first_row(rows[rows["statistic"] == name])
        if math.isnan(alpha["value"]):
            undefined.setdefault(str(alpha["reason"]), []).append(str(question))
            continue
        evidence = (
            f"{AGREEING[name]} {number(alpha['value'])}"
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


def _agreeing(
    told: list[tuple[bool, str, float, str]], does: str
) -> Iterator[ClaimText]:
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


def _leaders(
    board: pd.DataFrame, n: str = "n_comparisons", noun: str = "comparison"
) -> Iterator[ClaimText]:
    """Say who stands first; column `n` counts a method's answers, `noun` names one."""
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
            f"{_rating(first)} from {counted(first[n], noun)}"
        )
        low, high = first["rank_low"], first["rank_high"]
        if pd.isna(low) or pd.isna(high):
            yield False, f"{text}, but its rank has no interval."
        elif low == high == 1:
            yield True, f"{text}, and is shown to be ahead of every other method."
        else:
            unsettled.append(
                f"{criterion} ({first['method']} {_rating(first)}, rank {low:.0f} to "
                f"{high:.0f}, {counted(first[n], noun)})"
            )
    if unsettled:
        yield False, f"The first place is not settled in {', '.join(unsettled)}."


def _rating(row: Mapping[str, Any]) -> str:
    text = f"{row['rating']:.0f}"
    if not math.isnan(row["low"]):
        text += f" [{row['low']:.0f}, {row['high']:.0f}]"
    return text.replace("-", "\N{MINUS SIGN}")


def _few_methods(tables: ResultTables) -> Iterator[str]:
    if "correlations" not in tables:
        return
    correlations = tables["correlations"]
    over_methods = (correlations["level"] == "method") & correlations["value"].notna()
    methods = correlations.loc[over_methods, "n"].max()
    if 0 < methods < FEW_METHODS:
        yield (
            f"Only {counted(methods, 'method')}: a coefficient over method means is "
            "nearly uninformative, whatever its value."
        )


def _coefficient_limits(correlations: pd.DataFrame) -> Iterator[str]:
    known = correlations[correlations["low"].notna()]
    around = int(((known["low"] <= 0) & (known["high"] >= 0)).sum())
    if around:
        yield (
            f"{some_have(around, len(known), 'coefficient')} an interval that "
            "includes 0."
        )
    off = int(
        ((known["value"] < known["low"]) | (known["value"] > known["high"])).sum()
    )
    if off:
        yield (
            f"{some_have(off, len(known), 'coefficient')} an interval that does not "
            "hold it: resamples of few clusters are noisier than the study itself, so "
            "draw other clusters."
        )
