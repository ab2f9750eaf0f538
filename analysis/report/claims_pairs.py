"""What can be claimed of pairs: one annotator, weighted metrics, and sides."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from analysis.reading.scores import BASELINES
from analysis.report.language import counted, listed, retold, say
from analysis.report.verdict_claims import named_metric
from analysis.report.wording import (
    ANSWERS,
    ClaimText,
    drawn_units,
    first_row,
    is_clear,
    per_cent,
    records,
)

CHANCE = 0.5
ONE_ANNOTATOR = "one annotator"


def human_pair_claims(
    human_pairs: pd.DataFrame, verdicts: pd.DataFrame | None
) -> Iterator[ClaimText]:
    """Hold the metric that verdicts name against one annotator, on the same pairs."""
    unsettled = []
    for (name, source), rows in human_pairs.groupby(["question", "source"], sort=True):
        question = _asked(str(name), str(source), human_pairs)
        known = rows[rows["value"].notna()]
        one = known[known["metric"] == ONE_ANNOTATOR]
        first = named_metric(verdicts, str(name), str(source))
        metrics = known[known["metric"] == first]
        if one.empty or metrics.empty:
            continue
        person, named = first_row(one), first_row(metrics)
        points = -100 * named["difference"], -100 * named["difference_high"]
        text = say(
            "{question}: one annotator predicts the others in {share} of {judgements} "
            "of pairs (ties half), {metric} in {metric_share}",
            question=question,
            share=per_cent(person["value"], person["low"], person["high"]),
            judgements=counted(person["n"], "judgement"),
            metric=named["metric"],
            metric_share=per_cent(named["value"], named["low"], named["high"]),
        )
        if math.isnan(named["difference_low"]):
            yield False, _without_interval(text, named["reason"])
            continue
        units = drawn_units(str(named["drawn"]).split("+"))
        least, most = sorted((points[1], -100 * named["difference_low"]))
        away = f"{abs(points[0]):.0f}"
        if least > 0:
            ends = f"[{least:.0f}, {most:.0f}]"
            lower = say(
                "{first}: {n} points {ends} lower, for other {units}.",
                first=text,
                n=away,
                ends=ends,
                units=units,
            )
            yield True, lower
        elif most < 0:
            ends = f"[{-most:.0f}, {-least:.0f}]"
            higher = say(
                "{first}: {n} points {ends} higher, for other {units}.",
                first=text,
                n=away,
                ends=ends,
                units=units,
            )
            yield True, higher
        else:
            unsettled.append(
                say(
                    "{question} ({metric} {n} points {ends})",
                    question=question,
                    metric=named["metric"],
                    n=_signed(-points[0]),
                    ends=f"[{_signed(-most)}, {_signed(-least)}]",
                )
            )
    if unsettled:
        yield (
            False,
            say(
                "Whether a metric predicts people as well as one annotator predicts "
                "the others is open in {names}.",
                names=listed(unsettled),
            ),
        )


def _without_interval(first: str, reason: str) -> str:
    if not reason:
        return say("{first}: the difference has no interval.", first=first)
    return say(
        "{first}: whether they differ is not known, since {reason}.",
        first=first,
        reason=retold(reason),
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
        yield (
            True,
            say(
                "{question}: {metric} and people differ most on {method} and {other} "
                "in story {story}: the metric prefers the first ({score} "
                "against {score_other}), people the second ({human} against "
                "{human_other}).",
                question=_asked(str(name), str(source), disagreement),
                metric=metric,
                method=row["method"],
                other=row["other_method"],
                story=row["story"],
                **{
                    key: f"{row[key]:.3g}"
                    for key in ("score", "score_other", "human", "human_other")
                },
            ),
        )


def _asked(question: str, source: str, table: pd.DataFrame) -> str:
    """Name the question, and the answers where there are two kinds of them."""
    own = table[table["question"] == question]
    if own["source"].nunique() < 2:
        return question
    answers = say(ANSWERS.get(source, source))
    return say("{question} ({answers})", question=question, answers=answers)


def _signed(value: float, decimals: int = 0) -> str:
    return f"{value + 0.0:+.{decimals}f}".replace("-", "\N{MINUS SIGN}")


def _gain(row: Mapping[str, Any]) -> str:
    value, low, high = (_signed(100 * row[key], 1) for key in ("value", "low", "high"))
    if math.isnan(row["low"]):
        return say("gain {n} points over {against}", n=value, against=row["against"])
    return say(
        "gain {n} points {ends} over {against}",
        n=value,
        ends=f"[{low}, {high}]",
        against=row["against"],
    )


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
        if row["low"] > 0:
            yield (
                True,
                say(
                    "{question}: metrics weighted to fit people predict them better "
                    "than the best single one on stories and methods held out: "
                    "{gain}, n = {pairs}.",
                    question=row["question"],
                    gain=_gain(row),
                    pairs=counted(row["n"], "pair"),
                ),
            )
        else:
            within.append(
                say(
                    "{question} ({gain}, {pairs})",
                    question=row["question"],
                    gain=_gain(row),
                    pairs=counted(row["n"], "pair"),
                )
            )
    if within:
        yield (
            False,
            say(
                "Metrics weighted to fit people are not shown to predict them better "
                "than the best single one on stories and methods held out: {names}.",
                names=listed(within),
            ),
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
        told = listed(_moved(row, own, side_effect) for row, own in moved)
        yield (
            True,
            say(
                "The side matters in {names}; intervals draw clusters of answers.",
                names=told,
            ),
        )
    if unmoved and not moved:
        yield False, say("No question shows a side preference.")
    elif unmoved:
        yield (
            False,
            say(
                "{n} of {total} does not show a preference for a side."
                if unmoved == 1
                else "{n} of {total} do not show a preference for a side.",
                n=unmoved,
                total=counted(len(known), "question"),
            ),
        )


def _moved(
    row: Mapping[str, Any],
    own: Mapping[str, float],
    side_effect: pd.DataFrame | None,
) -> str:
    """Name a question with how often the left side wins, and what that is worth."""
    told = {
        "question": row["question"],
        "share": per_cent(own["value"], own["low"], own["high"]),
        "answers": counted(row["n"], "answer"),
    }
    points: Any = math.nan
    if side_effect is not None:
        effect = side_effect[side_effect["question"] == row["question"]]
        points = math.nan if effect.empty else effect["elo"].iloc[0]
    if pd.isna(points):
        return say("{question} (left wins {share} of {answers} that choose)", **told)
    return say(
        "{question} (left wins {share} of {answers} that choose, worth {points} points "
        "of a rating)",
        points=_signed(points),
        **told,
    )


def tie_limits(pairwise: pd.DataFrame) -> Iterator[str]:
    """Say where metrics tie often."""
    real = pairwise[~pairwise["metric"].isin(BASELINES)]
    tied = int((real["metric_tie_rate"] > 0.2).sum())
    if tied:
        yield say(
            "{n} of {total} has more than 20 % metric ties: strict and half accuracy "
            "differ, so quote both."
            if tied == 1
            else "{n} of {total} have more than 20 % metric ties: strict and half "
            "accuracy differ, so quote both.",
            n=tied,
            total=counted(len(real), "row of pairwise accuracy"),
        )
