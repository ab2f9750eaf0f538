"""Standings of methods: ranks, ratings on the Elo scale, pairwise comparisons."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np

from analysis.inference.crossed_clusters import Cluster, CrossedCovariance
from analysis.inference.resampling import holm
from analysis.rankings.likelihood import never_beaten
from analysis.results import NAN, ONE, Array, Counts, TableRow
from analysis.sentences import chained, sentence

ELO_SCALE = 400 / np.log(10)
ELO_MEAN = 1000.0
# Ratings on the Elo scale that differ by less are equal up to rounding.
SAME_RATING = 1e-6
# Differences of a bootstrap whose spread is rounding only do not vary.
NO_SPREAD = 1e-12
LEAST_DEFINED = 0.5
# The weight of the answer that a weak prior makes up for each method.
WEAK = 1.0
Row = TypeVar("Row", bound="RankedMethod")


def ranks(values: Array, *, tolerance: float = 0.0, ties: str = "best") -> Array:
    """Rank values, 1 being the largest; NaN has no rank."""
    gaps = values[..., None, :] - values[..., :, None]
    found = 1.0 + (gaps > tolerance).sum(axis=-1)
    if ties == "middle":
        found += ((np.abs(gaps) <= tolerance).sum(axis=-1) - 1) / 2
    return np.asarray(np.where(np.isnan(values), np.nan, found))


def rank_intervals(
    values: Array, drawn: Array, confidence: float, *, tolerance: float = 0.0
) -> tuple[Array, Array]:
    r"""Return the ranks that each method may have.

    One plus the number of methods that are surely better, to the number that are not
    surely worse. Surely: the interval of their difference excludes 0, and all M - 1
    intervals of a method hold together, :math:`\hat d_j \pm c s_j` with :math:`s_j` the
    bootstrap standard deviation and c the quantile of :math:`\max_j |d^*_j - \hat d_j|
    / s_j`.

    Source: Mogstad, Romano, Shaikh and Wilhelm (2024), Review of Economic Studies 91.
    """
    M = len(values)
    low, high = np.full(M, np.nan), np.full(M, np.nan)
    known = np.flatnonzero(np.isfinite(values))
    complete = np.isfinite(drawn[:, known]).all(axis=1)
    if complete.sum() < max(LEAST_DEFINED * len(drawn), 2):
        return low, high
    kept, centre = drawn[np.ix_(complete, known)], values[known]
    for at, i in enumerate(known):
        gap = centre - centre[at]
        moves = kept - kept[:, [at]] - gap
        spread = moves.std(axis=0, ddof=1)
        scale = NO_SPREAD * np.abs(centre).max()
        varies = spread > scale
        margin = np.full(len(gap), tolerance)
        if varies.any():
            largest = (np.abs(moves[:, varies]) / spread[varies]).max(axis=1)
            margin[varies] = np.quantile(largest, confidence) * spread[varies]
        margin = np.maximum(margin, tolerance)
        low[i] = 1 + (gap > margin).sum()
        high[i] = len(known) - (gap < -margin).sum()
    return low, high


@dataclass(frozen=True)
class MethodGaps:
    """The differences of every two of M methods."""

    n_methods: int
    first: Counts
    second: Counts
    value: Array
    low: Array
    high: Array
    p_value: Array
    p_adjusted: Array

    def settled_ranks(self, confidence: float) -> tuple[Array, Array]:
        """Return the best and the worst rank that each method may have, 1 being best.

        A method ranks before another one for sure where `p_adjusted` of the two is at
        most 1 - confidence. One plus the methods that are surely better, to the
        methods that are not surely worse: these ranks hold together for all methods
        (Mogstad, Romano, Shaikh and Wilhelm 2024, Review of Economic Studies 91,
        section 3), and claim about two methods what their comparison says.
        """
        apart = self.p_adjusted <= 1 - confidence
        worse = np.where(self.value < 0, self.first, self.second)[apart]
        better = np.where(self.value < 0, self.second, self.first)[apart]
        M = self.n_methods
        best = 1 + np.bincount(worse, minlength=M)
        worst = M - np.bincount(better, minlength=M)
        return np.asarray(best, float), np.asarray(worst, float)

    def rows(self, methods: tuple[str, ...], scale: float = 1.0) -> list[TableRow]:
        """Return a row a pair, differences in units of scale."""
        return [
            {
                "method_a": methods[self.first[k]],
                "method_b": methods[self.second[k]],
                "difference": float(self.value[k] * scale),
                "low": float(self.low[k] * scale),
                "high": float(self.high[k] * scale),
                "p_value": float(self.p_value[k]),
                "p_adjusted": float(self.p_adjusted[k]),
            }
            for k in range(len(self.value))
        ]


def method_gaps(
    values: Array, covariance: CrossedCovariance, confidence: float
) -> MethodGaps:
    """Compare every two methods."""
    M = len(values)
    first, second = np.triu_indices(M, 1)
    unit = np.eye(M)
    value = values[first] - values[second]
    errors = covariance.of(unit[first] - unit[second])
    low, high = errors.intervals(value, confidence)
    p_value = errors.p_values(value)
    return MethodGaps(M, first, second, value, low, high, p_value, holm(p_value))


@dataclass(frozen=True, kw_only=True)
class RankedMethod:
    """A method and where it stands: its rating and its rank, each with an interval."""

    method: str
    rating: float = NAN
    low: float = NAN
    high: float = NAN
    rank: float = NAN
    rank_low: float = NAN
    rank_high: float = NAN
    part: int = 1
    reason: str = ""


def elo(theta: Array) -> Array:
    """Return log strengths (..., M) with a mean of 1000; 400 are odds of ten to one."""
    centred = theta - theta.mean(axis=-1, keepdims=True)
    return np.asarray(ELO_MEAN + ELO_SCALE * centred)


@dataclass(frozen=True)
class RatedPart:
    """Log strengths of the methods of one part, and their covariance."""

    methods: tuple[str, ...]
    theta: Array
    covariance: CrossedCovariance | None = None

    def standings(
        self, beats: Array, n: Counts, confidence: float
    ) -> list[dict[str, Any]]:
        """Rate and rank methods, which beat each other in `n` answers."""
        M, ratings = len(self.theta), elo(self.theta)
        columns = dict.fromkeys(
            ("low", "high", "rank_low", "rank_high"), np.full(M, NAN)
        )
        if M < 2 or np.isnan(self.theta).any():
            columns |= {"rating": np.full(M, NAN), "rank": np.full(M, NAN)}
        else:
            columns |= {
                "rating": ratings,
                "rank": ranks(ratings, tolerance=SAME_RATING),
            }
        if self.covariance is not None:
            errors = self.covariance.of(np.eye(M) - 1 / M)
            low, high = errors.intervals(self.theta - self.theta.mean(), confidence)
            best, worst = self._gaps(confidence).settled_ranks(confidence)
            columns |= {"low": ELO_MEAN + ELO_SCALE * low, "rank_low": best}
            columns |= {"high": ELO_MEAN + ELO_SCALE * high, "rank_high": worst}
        return [
            {"method": method, "reason": reason}
            | {name: float(values[i]) for name, values in columns.items()}
            for i, (method, reason) in enumerate(
                zip(self.methods, never_beaten(beats, n), strict=True)
            )
        ]

    def comparisons(self, about: TableRow, confidence: float) -> list[TableRow]:
        """Compare every two methods in points; nothing without a covariance."""
        if self.covariance is None:
            return []
        rows = self._gaps(confidence).rows(self.methods, ELO_SCALE)
        return [about | row for row in rows]

    def _gaps(self, confidence: float) -> MethodGaps:
        assert self.covariance is not None
        return method_gaps(self.theta, self.covariance, confidence)


@dataclass(frozen=True)
class Standings(Generic[Row]):
    """The methods of one criterion, every two of them compared, and remarks."""

    rows: list[Row]
    comparisons: list[TableRow]
    notes: list[str]

    def add(
        self,
        criterion: str,
        source: str,
        part: int,
        rows: list[Row],
        board: RatedPart,
        confidence: float,
    ) -> None:
        """Add the methods of one part, best first, and their comparisons."""
        self.rows.extend(sorted(rows, key=lambda row: (row.rank, row.method)))
        about: TableRow = {"question": criterion, "source": source, "part": part}
        self.comparisons.extend(board.comparisons(about, confidence))


def prior_note(lacking: str) -> str:
    """Say that ratings rest on a weak prior, and why."""
    return sentence(
        "no finite ratings fit best, since {lacking}; they rest on a weak prior: as if "
        "each method had won half an answer more, and lost half of one, against an "
        "average one.",
        lacking=lacking,
    )


def rated_apart(
    methods: tuple[str, ...], groups: Sequence[Counts], never: str
) -> list[str]:
    """Name the parts that are rated apart, since they `never` met."""
    if len(groups) < 2:
        return []
    told = [sentence("{names}", names=[methods[k] for k in own]) for own in groups]
    return [
        sentence(
            "these groups of methods {never}, and each has ratings and ranks of its "
            "own: {groups}.",
            never=never,
            groups=chained("{first}; {second}", told),
        )
    ]


def no_intervals(clusters: Mapping[str, Cluster], parts: tuple[str, ...]) -> str:
    """Say why ratings have no intervals, where nothing varies."""
    if any(clusters[part][1] > 1 for part in parts):
        return sentence("no intervals: all answers say the same.")
    only = chained("{first} and {second}", [ONE[part] for part in parts])
    return sentence("no intervals: only {only} to draw from.", only=only)
