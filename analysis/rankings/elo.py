"""Log strengths on the Elo scale, with their intervals and places."""

from typing import NamedTuple

import numpy as np

from analysis.inference.resampling import interval
from analysis.rankings.rank_intervals import rank_intervals, ranks
from analysis.results import Array

ELO_SCALE = 400 / np.log(10)
ELO_MEAN = 1000.0
# Ratings on the Elo scale that differ by less are equal up to rounding.
SAME_RATING = 1e-6


class RankedRating(NamedTuple):
    """Where a method stands: its rating and its rank, each with an interval."""

    rating: float
    low: float
    high: float
    rank: float
    rank_low: float
    rank_high: float


def elo(theta: Array) -> Array:
    """Return log strengths (..., M) with a mean of 1000; 400 are odds of ten to one.

    Examples
    --------
    >>> elo(np.array([np.log(10), 0.0])).round(6)
    array([1200.,  800.])
    """
    centred = theta - theta.mean(axis=-1, keepdims=True)
    return np.asarray(ELO_MEAN + ELO_SCALE * centred)


def places(ratings: Array, drawn: Array, confidence: float) -> list[RankedRating]:
    """Rank methods by their ratings, 1 being best; equal ones share the better rank.

    Parameters
    ----------
    ratings
        Shape (M,).
    drawn
        Shape (B, M): those of the resamples, NaN where there is no maximum.
    confidence
        Coverage of the intervals.
    """
    rank = ranks(ratings, tolerance=SAME_RATING)
    best, worst = rank_intervals(ratings, drawn, confidence, tolerance=SAME_RATING)
    return [
        RankedRating(
            float(ratings[i]),
            *interval(drawn[:, i], confidence)[:2],
            float(rank[i]),
            float(best[i]),
            float(worst[i]),
        )
        for i in range(len(ratings))
    ]


def interval_notes(drawn: Array, resamples: int, parts: tuple[str, ...]) -> list[str]:
    """Say why ratings have no intervals, or how many resamples these do without."""
    if not resamples:
        return []
    if not len(drawn):
        names = {"stories": "story", "annotators": "annotator", "units": "unit"}
        only = " and ".join(f"one {names[part]}" for part in parts)
        return [f"no intervals: only {only} to draw from."]
    lost = int(np.isnan(drawn[:, 0]).sum())
    if not lost:
        return []
    return [
        f"{lost} of {resamples} resamples left out for want of finite ratings, since a "
        "method always wins or always loses there."
    ]
