"""Position bias: whether people choose the left side more often than the right."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.stats import binomtest

from analysis.inference.resampling import cluster_counts, interval, stream
from analysis.inference.scaling import divided
from analysis.results import NAN, Array, Counts, Mask, TableRow
from analysis.sentences import sentence

PARTS = ("stories", "annotators")


@dataclass(frozen=True)
class _SideAnswers:
    """Answers of one criterion whose sides are known, N of them.

    `left` tells who chose the left side, `decided` who chose one; `weight` makes both
    sides of each pair of methods count the same.
    """

    left: Mask
    decided: Mask
    weight: Array
    story: Counts
    annotator: Counts


def position_bias(
    choices: pd.DataFrame,
    *,
    parts: tuple[str, ...] = PARTS,
    resamples: int,
    confidence: float,
    seed: int,
) -> list[TableRow]:
    r"""Test whether the left output wins more often than the right one.

    Parameters
    ----------
    choices
        Kept rows with methods in alphabetical order, and `left_method`. Rows in which
        it is empty, or no method of the pair, say nothing of sides.
    parts
        Clusters to draw: stories, annotators, or both.
    resamples, confidence, seed
        Number of resamples (0 for no intervals), coverage, seed.

    Returns
    -------
    list of Row
        One a criterion, rows of ``position_bias``: `value` is the share of left
        among the `n` answers that choose a side (0.5: no bias).

    Notes
    -----
    `p_value` is the exact two-sided binomial test of 1/2, which takes answers as
    independent; the interval draws whole stories and annotators. Answers "both bad"
    are neither wins nor ties.

    Where the better method stands on the left more often, left wins without any
    bias. `adjusted` is free of that: inside each pair of methods the answers with
    the one on the left weigh as much as those with the other on the left. With
    :math:`n_1` and :math:`n_2` decided answers of the two orders, an answer of the
    first weighs :math:`n_2/(n_1 + n_2)`; a pair that was shown in one order only
    weighs nothing. Both shares of a pair then have the same weight, whose total is
    that of Cochran, Mantel and Haenszel. The weights are kept in resamples.
    """
    rows: list[TableRow] = []
    for criterion, answers in choices.groupby("criterion", sort=True):
        known = _with_sides(answers)
        sides = _sides(known)
        n, left = int(sides.decided.sum()), int(sides.left.sum())
        heavy = sides.decided & (sides.weight > 0)
        rng = stream(seed, "position", str(criterion))
        drawn = _drawn(sides, parts, resamples, rng)
        low, high, why = interval(drawn[0], confidence)
        adjusted_low, adjusted_high, _ = interval(drawn[1], confidence)
        total = float((sides.weight * sides.decided).sum())
        rows.append(
            {
                "question": str(criterion),
                "value": left / n if n else NAN,
                "low": low if n else NAN,
                "high": high if n else NAN,
                "n": n,
                "reason": _reason(answers, known, n) or why,
                "left_wins": left,
                "right_wins": n - left,
                "ties": int((known["choice"] == "tie").sum()),
                "p_value": float(binomtest(left, n).pvalue) if n else NAN,
                "adjusted": float(sides.weight @ sides.left) / total if total else NAN,
                "adjusted_low": adjusted_low if total else NAN,
                "adjusted_high": adjusted_high if total else NAN,
                "n_adjusted": int(heavy.sum()),
            }
        )
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


def _drawn(
    sides: _SideAnswers,
    parts: tuple[str, ...],
    resamples: int,
    rng: np.random.Generator,
) -> tuple[Array, Array]:
    """Return resampled shares of left, plain and adjusted, each (B,)."""
    S, A = (int(x.max(initial=-1)) + 1 for x in (sides.story, sides.annotator))
    sizes = {"stories": S, "annotators": A}
    if not resamples or all(sizes[part] < 2 for part in parts):
        return np.empty(0), np.empty(0)
    stories, annotators = (
        cluster_counts(sizes[part], resamples, rng).astype(float)
        if part in parts
        else np.ones((resamples, sizes[part]))
        for part in PARTS
    )
    cell = sides.story * A + sides.annotator
    sums = []
    for weight in (np.ones(len(cell)), sides.weight):
        for what in (sides.left, sides.decided):
            table = np.bincount(cell, weight * what, minlength=S * A).reshape(S, A)
            sums.append(((stories @ table) * annotators).sum(axis=1))
    return divided(sums[0], sums[1]), divided(sums[2], sums[3])
