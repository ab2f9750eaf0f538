"""Write sentences on pairs: human pairs, fitted weights, largest disagreements."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from analysis.report.language import counted, listed, retold, say
from analysis.report.verdict_claims import named_metric
from analysis.report.wording import (
    ClaimText,
    claim,
    drawn_units,
    first_row,
    of_answers,
    records,
    share,
    signed,
)

ONE_ANNOTATOR = "one annotator"


def human_pair_claims(
    human_pairs: pd.DataFrame, verdicts: pd.DataFrame | None
) -> Iterator[ClaimText]:
    """Hold the metric that verdicts name against one annotator, on the same pairs."""
    unsettled = []
    for (name, source), rows in human_pairs.groupby(["question", "source"], sort=True):
        known = rows[rows["value"].notna()]
        one = known[known["metric"] == ONE_ANNOTATOR]
        first = named_metric(verdicts, str(name), str(source))
        metrics = known[known["metric"] == first]
        if one.empty or metrics.empty:
            continue
        question = _asked(str(name), str(source), human_pairs)
        person, named = first_row(one), first_row(metrics)
        text = say(
            "{question}: one annotator predicts the others in {share} of {judgements} "
            "of pairs (ties half), {metric} in {metric_share}",
            question=question,
            share=share(person),
            judgements=counted(person["n"], "judgement"),
            metric=first,
            metric_share=share(named),
        )
        if math.isnan(named["difference_low"]):
            yield False, _without_interval(text, named["reason"])
            continue
        ahead, low, high = (
            100 * named[f"difference{end}"] for end in ("", "_low", "_high")
        )
        if low <= 0 <= high:
            unsettled.append(
                say(
                    "{question} ({metric} {n} points {ends})",
                    question=question,
                    metric=first,
                    n=signed(ahead),
                    ends=f"[{signed(low)}, {signed(high)}]",
                )
            )
            continue
        ends = sorted(map(abs, (low, high)))
        yield claim(
            True,
            "{first}: {n} points {ends} lower, for other {units}."
            if high < 0
            else "{first}: {n} points {ends} higher, for other {units}.",
            first=text,
            n=f"{abs(ahead):.0f}",
            ends=f"[{ends[0]:.0f}, {ends[1]:.0f}]",
            units=drawn_units(str(named["drawn"]).split("+")),
        )
    if unsettled:
        yield claim(
            False,
            "Whether a metric predicts people as well as one annotator predicts "
            "the others is open in {names}.",
            names=listed(unsettled),
        )


def _without_interval(first: str, reason: str) -> str:
    if not reason:
        return say("{first}: the difference has no interval.", first=first)
    return say(
        "{first}: whether they differ is not known, since {reason}.",
        first=first,
        reason=retold(reason),
    )


def _asked(question: str, source: str, table: pd.DataFrame) -> str:
    """Name the question, and the answers where there are two kinds of them."""
    own = table[table["question"] == question]
    return of_answers(question, source) if own["source"].nunique() > 1 else question


def calibration_claims(calibration: pd.DataFrame) -> Iterator[ClaimText]:
    """Say whether weighted metrics beat the best single one on held-out stories."""
    gains = calibration[
        (calibration["statistic"] == "gain") & calibration["value"].notna()
    ]
    # The best component's gain stands first; the other one is against their mean.
    gains = gains[gains["against"] != "mean of components"]
    within = []
    for row in records(gains):
        told = {
            "question": _asked(row["question"], row.get("source", ""), calibration),
            "gain": _gain(row),
            "pairs": counted(row["n"], "pair"),
        }
        if row["low"] > 0:
            yield claim(
                True,
                "{question}: metrics weighted to fit people predict them better "
                "than the best single one on stories and methods held out: "
                "{gain}, n = {pairs}.",
                **told,
            )
        else:
            within.append(say("{question} ({gain}, {pairs})", **told))
    if within:
        yield claim(
            False,
            "Metrics weighted to fit people are not shown to predict them better "
            "than the best single one on stories and methods held out: {names}.",
            names=listed(within),
        )


def _gain(row: Mapping[str, Any]) -> str:
    value, low, high = (signed(100 * row[key], 1) for key in ("value", "low", "high"))
    if math.isnan(row["low"]):
        return say("gain {n} points over {against}", n=value, against=row["against"])
    return say(
        "gain {n} points {ends} over {against}",
        n=value,
        ends=f"[{low}, {high}]",
        against=row["against"],
    )


def disagreement_claims(
    disagreement: pd.DataFrame, verdicts: pd.DataFrame | None
) -> Iterator[ClaimText]:
    """Say on which pair the metric that verdicts name and people differ most."""
    pairs = disagreement[disagreement["kind"] == "pair"]
    for (name, source), rows in pairs.groupby(["question", "source"], sort=True):
        metric = named_metric(verdicts, str(name), str(source))
        own = rows[rows["metric"] == metric]
        if own.empty:
            continue
        row = first_row(own.sort_values("value", ascending=False, kind="stable"))
        values = ("score", "score_other", "human", "human_other")
        yield claim(
            True,
            "{question}: {metric} and people differ most on {method} and {other} "
            "in story {story}: the metric prefers the first ({score} "
            "against {score_other}), people the second ({human} against "
            "{human_other}).",
            question=_asked(str(name), str(source), disagreement),
            metric=metric,
            method=row["method"],
            other=row["other_method"],
            story=row["story"],
            **{key: f"{row[key]:.3g}" for key in values},
        )
