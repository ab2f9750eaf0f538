"""Log strengths on the Elo scale, with their intervals and places."""

from dataclasses import dataclass

import numpy as np

from analysis.inference.resampling import interval
from analysis.rankings.rank_intervals import rank_intervals, ranks
from analysis.results import NAN, ONE, Array
from analysis.sentences import chained, sentence

ELO_SCALE = 400 / np.log(10)
ELO_MEAN = 1000.0
# Ratings on the Elo scale that differ by less are equal up to rounding.
SAME_RATING = 1e-6


@dataclass(frozen=True, kw_only=True)
class RankedRating:
    """Where a method stands: its rating and its rank, each with an interval.

    Attributes
    ----------
    rating, low, high
        On the Elo scale, mean 1000; NaN when the maximum does not exist.
    rank, rank_low, rank_high
        1 is best; equal ratings share the better rank. NaN without a rating.
    """

    rating: float = NAN
    low: float = NAN
    high: float = NAN
    rank: float = NAN
    rank_low: float = NAN
    rank_high: float = NAN


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
    found = []
    for i, rating in enumerate(ratings):
        low, high, _ = interval(drawn[:, i], confidence)
        found.append(
            RankedRating(
                rating=float(rating),
                low=low,
                high=high,
                rank=float(rank[i]),
                rank_low=float(best[i]),
                rank_high=float(worst[i]),
            )
        )
    return found


def interval_notes(
    drawn: Array, resamples: int, parts: tuple[str, ...], why: str
) -> list[str]:
    """Say why ratings have no intervals, or how many resamples these do without.

    `why` says of the latter what happens there.
    """
    if not resamples:
        return []
    if not len(drawn):
        only = chained("{first} and {second}", [ONE[part] for part in parts])
        return [sentence("no intervals: only {only} to draw from.", only=only)]
    lost = int(np.isnan(drawn[:, 0]).sum())
    if not lost:
        return []
    return [
        sentence(
            "{n} of {resamples} resamples left out for want of finite "
            "ratings, since {why} there.",
            n=lost,
            resamples=resamples,
            why=why,
        )
    ]
