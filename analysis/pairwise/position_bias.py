"""Position bias: whether people choose the left side more often than the right."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.stats import binomtest

from analysis.inference.cluster_variance import with_holm
from analysis.inference.crossed_clusters import (
    NOTHING,
    crossed_covariance,
    share_intervals,
)
from analysis.results import NAN, ONE, Array, Counts, Estimate, Mask, TableRow
from analysis.sentences import chained, sentence

PARTS = ("stories", "annotators")


@dataclass(frozen=True)
class _SideAnswers:
    """Answers of one criterion whose sides are known, N of them."""

    left: Mask
    decided: Mask
    weight: Array
    story: Counts
    annotator: Counts


def position_bias(
    choices: pd.DataFrame, *, parts: tuple[str, ...] = PARTS, confidence: float = 0.95
) -> list[TableRow]:
    """Test whether the left output wins more often than the right one.

    `p_value` is the exact two-sided binomial test of 1/2, which takes answers as
    independent; intervals are Wilson's, of as many independent answers as have the
    variance of these by stories and annotators. `adjusted` is free of strong methods
    that stand on the left more often: with :math:`n_1` and :math:`n_2` decided answers
    of the two orders of a pair, an answer of the first weighs :math:`n_2/(n_1 + n_2)`.
    """
    rows: list[TableRow] = []
    for criterion, answers in choices.groupby("criterion", sort=True):
        known = _with_sides(answers)
        sides = _sides(known)
        n, left = int(sides.decided.sum()), int(sides.left.sum())
        plain = _share(sides, np.ones(len(sides.left)), parts, confidence)
        adjusted = _share(sides, sides.weight, parts, confidence)
        rows.append(
            {
                "question": str(criterion),
                **plain.columns(),
                "n": n,
                "reason": _reason(answers, known, n) or plain.reason,
                "left_wins": left,
                "right_wins": n - left,
                "ties": int((known["choice"] == "tie").sum()),
                "p_value": float(binomtest(left, n).pvalue) if n else NAN,
                "adjusted": adjusted.value,
                "adjusted_low": adjusted.low,
                "adjusted_high": adjusted.high,
                "n_adjusted": int((sides.decided & (sides.weight > 0)).sum()),
            }
        )
    return rows


def sides_of_annotators(
    choices: pd.DataFrame, *, confidence: float | None = 0.95
) -> list[TableRow]:
    """Test for each annotator whether the left output wins more often."""
    rows: list[TableRow] = []
    for criterion, answers in choices.groupby("criterion", sort=True):
        known = _with_sides(answers)
        sides = _sides(known)
        names = known["annotator"].astype(str).to_numpy()[sides.decided]
        found = pd.Series(sides.left[sides.decided]).groupby(names, sort=True)
        own: list[TableRow] = []
        for name, left in found:
            test = binomtest(int(left.sum()), len(left))
            low, high = test.proportion_ci(confidence) if confidence else (NAN, NAN)
            own.append(
                {
                    "question": str(criterion),
                    "annotator": str(name),
                    "value": float(left.mean()),
                    "low": float(low),
                    "high": float(high),
                    "n": len(left),
                    "p_value": float(test.pvalue),
                }
            )
        rows += with_holm(own)
    return rows


def _reason(answers: pd.DataFrame, known: pd.DataFrame, n: int) -> str:
    if known.empty:
        return sentence("no answer says which output stood on the left")
    if not n:
        return sentence("no answer chooses a side")
    lacking = len(answers) - len(known)
    return (
        sentence("{n} answers without a known side left out", n=lacking)
        if lacking
        else ""
    )


def _with_sides(answers: pd.DataFrame) -> pd.DataFrame:
    if "left_method" not in answers:
        return answers.iloc[:0].assign(left_method="")
    left = answers["left_method"]
    return answers[(left == answers["method_a"]) | (left == answers["method_b"])]


def _sides(known: pd.DataFrame) -> _SideAnswers:
    a_is_left = (known["left_method"] == known["method_a"]).to_numpy(bool)
    chose_a, chose_b = ((known["choice"] == x).to_numpy(bool) for x in "ab")
    decided = chose_a | chose_b
    pair = known.groupby(["method_a", "method_b"]).ngroup().to_numpy(int)
    size = int(pair.max(initial=-1)) + 1
    orders = [
        np.bincount(pair, decided & (a_is_left == first), minlength=size)[pair]
        for first in (True, False)
    ]
    other = np.where(a_is_left, orders[1], orders[0])
    return _SideAnswers(
        np.where(a_is_left, chose_a, chose_b),
        decided,
        other / np.maximum(orders[0] + orders[1], 1),
        np.unique(known["story"].to_numpy(str), return_inverse=True)[1],
        np.unique(known["annotator"].to_numpy(str), return_inverse=True)[1],
    )


def _share(
    sides: _SideAnswers, weight: Array, parts: tuple[str, ...], confidence: float
) -> Estimate:
    """Return the share of left among decided answers by weight, with its interval."""
    weight = weight * sides.decided
    total = float(weight.sum())
    if not total:
        return Estimate(NAN)
    value = float(weight @ sides.left) / total
    kept = weight > 0
    added = (weight * (sides.left - value) / total)[kept]
    kinds = [
        (codes[kept], int(codes.max()) + 1)
        for part, codes in (("stories", sides.story), ("annotators", sides.annotator))
        if part in parts
    ]
    if not parts:
        return Estimate(value)
    covariance = crossed_covariance(
        added[:, None], np.arange(len(added)), kinds, rank=1
    )
    if covariance is None:
        only = chained("{first} and {second}", [ONE[part] for part in parts])
        return Estimate(value, reason=sentence("only {only} to draw from", only=only))
    errors = covariance.of(np.eye(1))
    if not 0 < value < 1 or errors.variance[0] < NOTHING:
        return Estimate(value, reason=sentence("all answers choose one side"))
    # Clusters never make answers count for more than independent ones would.
    most = float(weight.sum() ** 2 / (weight**2).sum())
    n = np.minimum(value * (1 - value) / errors.variance, most)
    low, high = share_intervals(np.array([value]), n, errors.quantiles(confidence))
    return Estimate(value, float(low[0]), float(high[0]))
