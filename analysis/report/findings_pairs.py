"""Write sentences on pairs: human pairs, fitted weights, largest disagreements."""

import math
from collections.abc import Iterator

import pandas as pd

from analysis.report.findings_verdicts import named_metric
from analysis.report.language import counted, listed, retold, say
from analysis.report.wording import (
    ClaimText,
    Row,
    claim,
    drawn_units,
    first_row,
    of_answers,
    records,
    share,
    signed,
)

ONE_ANNOTATOR = "one annotator"
BOTH = ["question", "source"]


def human_pair_claims(
    human_pairs: pd.DataFrame, verdicts: pd.DataFrame | None
) -> Iterator[ClaimText]:
    """Hold the metric that verdicts name against one annotator, on the same pairs."""
    unsettled = []
    for (name, source), rows in human_pairs.groupby(BOTH, sort=True):
        known = rows[rows["value"].notna()].set_index("metric", drop=False)
        first = named_metric(verdicts, str(name), str(source))
        if not {ONE_ANNOTATOR, first} <= set(known.index):
            continue
        question = _asked(str(name), str(source), human_pairs)
        person, named = (first_row(known.loc[[who]]) for who in (ONE_ANNOTATOR, first))
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
    return say(
        "{first}: whether they differ is not known, since {reason}."
        if reason
        else "{first}: the difference has no interval.",
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
        (calibration["statistic"] == "gain")
        & calibration["value"].notna()
        # The best component's gain stands first; the other is against their mean.
        & (calibration["against"] != "mean of components")
    ]
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


def _gain(row: Row) -> str:
    value, low, high = (signed(100 * row[key], 1) for key in ("value", "low", "high"))
    return say(
        "gain {n} points over {against}"
        if math.isnan(row["low"])
        else "gain {n} points {ends} over {against}",
        n=value,
        ends=f"[{low}, {high}]",
        against=row["against"],
    )


def disagreement_claims(
    disagreement: pd.DataFrame, verdicts: pd.DataFrame | None
) -> Iterator[ClaimText]:
    """Say on which pair the metric that verdicts name and people differ most."""
    pairs = disagreement[disagreement["kind"] == "pair"]
    for (name, source), rows in pairs.groupby(BOTH, sort=True):
        metric = named_metric(verdicts, str(name), str(source))
        own = rows[rows["metric"] == metric]
        if own.empty:
            continue
        row = first_row(own.sort_values("value", ascending=False, kind="stable"))
        values = ("score", "score_other", "human", "human_other")
        row |= {key: f"{row[key]:.3g}" for key in values}
        row["question"] = _asked(str(name), str(source), disagreement)
        yield claim(
            True,
            "{question}: {metric} and people differ most on {method} and {other} "
            "in story {story}: the metric prefers the first ({score} "
            "against {score_other}), people the second ({human} against "
            "{human_other}).",
            other=row["other_method"],
            **row,
        )
