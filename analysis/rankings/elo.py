"""Log strengths on the Elo scale, with their intervals, and pairs of them compared."""

from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from analysis.inference.crossed_clusters import CrossedCovariance
from analysis.rankings.compared_methods import method_gaps
from analysis.rankings.rank_intervals import ranks
from analysis.results import NAN, Array, TableRow

ELO_SCALE = 400 / np.log(10)
ELO_MEAN = 1000.0
# Ratings on the Elo scale that differ by less are equal up to rounding.
SAME_RATING = 1e-6
Row = TypeVar("Row", bound="RankedMethod")


@dataclass(frozen=True, kw_only=True)
class RankedRating:
    """Where a method stands: its rating and its rank, each with an interval."""

    rating: float = NAN
    low: float = NAN
    high: float = NAN
    rank: float = NAN
    rank_low: float = NAN
    rank_high: float = NAN


@dataclass(frozen=True, kw_only=True)
class RankedMethod(RankedRating):
    """A method and where it stands."""

    method: str
    part: int = 1
    reason: str = ""


@dataclass(frozen=True)
class Standings(Generic[Row]):
    """The methods of one criterion, every two of them compared, and remarks."""

    rows: list[Row]
    comparisons: list[TableRow]
    notes: list[str]


def elo(theta: Array) -> Array:
    """Return log strengths (..., M) with a mean of 1000; 400 are odds of ten to one."""
    centred = theta - theta.mean(axis=-1, keepdims=True)
    return np.asarray(ELO_MEAN + ELO_SCALE * centred)


def places(
    theta: Array, covariance: CrossedCovariance | None, confidence: float
) -> list[RankedRating]:
    """Rate and rank methods."""
    M, ratings = len(theta), elo(theta)
    rank = ranks(ratings, tolerance=SAME_RATING)
    low, high, best, worst = np.full((4, M), NAN)
    if covariance is not None:
        errors = covariance.of(np.eye(M) - 1 / M)
        low, high = errors.intervals(theta - theta.mean(), confidence)
        gaps = method_gaps(theta, covariance, confidence)
        best, worst = gaps.settled_ranks(confidence)
    return [
        RankedRating(
            rating=float(ratings[i]),
            low=float(ELO_MEAN + ELO_SCALE * low[i]),
            high=float(ELO_MEAN + ELO_SCALE * high[i]),
            rank=float(rank[i]),
            rank_low=float(best[i]),
            rank_high=float(worst[i]),
        )
        for i in range(M)
    ]


def comparisons(
    theta: Array,
    covariance: CrossedCovariance | None,
    methods: tuple[str, ...],
    confidence: float,
) -> list[TableRow]:
    """Compare every two methods in points; nothing without a covariance."""
    if covariance is None:
        return []
    return method_gaps(theta, covariance, confidence).rows(methods, ELO_SCALE)
