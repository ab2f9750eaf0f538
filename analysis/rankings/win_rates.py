"""How often methods win side by side: each two of them, and each against all others."""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from analysis.inference.crossed_clusters import (
    Cluster,
    ClusteredVariance,
    Errors,
    crossed_covariance,
    drawn_clusters,
    joined_errors,
)
from analysis.inference.scaling import divided
from analysis.inference.shares import half_p_values, share_intervals
from analysis.inference.significance import holm
from analysis.rankings.choice_counts import coded, kinds_drawn
from analysis.reading.choices import OUTCOMES, majority
from analysis.results import NAN, Array, Counts, TableRow

# What the first method of a pair gets of each outcome; of "both bad" nothing.
POINTS = np.array([1.0, 0.0, 0.5, NAN])
# A variance that rounding leaves of none.
NOTHING = 1e-24


@dataclass(frozen=True)
class PairVotes:
    """Answers about P pairs of methods.

    Attributes
    ----------
    methods
        M names, sorted.
    first, second
        Shape (P,): the methods of each pair, the first one first by name.
    pair
        Shape (n,): the pair of each answer.
    points
        Shape (n,): 1 where the first method won, 1/2 for a tie, 0 where it lost.
    weight
        Shape (n,): for how many answers each stands.
    clusters
        Part to the cluster of each answer, and the number of clusters.
    """

    methods: tuple[str, ...]
    first: Counts
    second: Counts
    pair: Counts
    points: Array
    weight: Array
    clusters: dict[str, Cluster]

    def total(self, values: Array) -> Array:
        """Add up values of answers, pair by pair."""
        found = np.bincount(self.pair, values, minlength=len(self.first))
        return np.asarray(found, float)

    def rates(self) -> Array:
        """Return how much of its answers the first method of each pair won, (P,)."""
        weight = self.total(self.weight)
        rate = np.full(len(self.first), NAN)
        np.divide(self.total(self.weight * self.points), weight, rate, where=weight > 0)
        return rate

    def n_equal(self) -> Array:
        """Return as how many answers of one weight those of each pair count (Kish)."""
        squares = self.total(self.weight**2)
        found = np.zeros(len(self.first))
        np.divide(self.total(self.weight) ** 2, squares, found, where=squares > 0)
        return found

    def tied(self) -> Array:
        """Return the share of ties of each pair, by weight."""
        weight = self.total(self.weight)
        ties = self.total(self.weight * (self.points == POINTS[2]))
        return np.divide(ties, weight, out=np.zeros(len(weight)), where=weight > 0)

    def added(self) -> Array:
        """Return what each answer adds to the rate of its pair, around it."""
        away = self.weight * (self.points - self.rates()[self.pair])
        return np.asarray(away / self.total(self.weight)[self.pair])


def pair_votes(choices: pd.DataFrame) -> tuple[PairVotes, PairVotes]:
    """Read side-by-side answers of one criterion, one by one and by majority.

    Parameters
    ----------
    choices
        Kept rows, methods in alphabetical order. A column `weight` says for how many
        answers each stands.

    Returns
    -------
    single, majorities
        Answers "both bad" are no single votes; a story of a pair without a majority is
        a tie.
    """
    story, stories = coded(choices["story"])
    annotator, annotators = coded(choices["annotator"])
    names = pd.MultiIndex.from_frame(choices[["method_a", "method_b"]])
    pair, pairs = pd.factorize(names, sort=True)
    methods = sorted({name for both in pairs for name in both})
    first, second = (
        np.array([methods.index(both[k]) for both in pairs], int) for k in (0, 1)
    )
    outcome = choices["choice"].map(OUTCOMES.index).to_numpy(int)
    unit_keys, unit = np.unique(pair * len(stories) + story, return_inverse=True)
    weight = np.ones(len(choices))
    if "weight" in choices:
        weight = choices["weight"].to_numpy(float)
    clusters = {
        "stories": (story, len(stories)),
        "annotators": (annotator, len(annotators)),
        "units": (unit, len(unit_keys)),
    }
    whole = PairVotes(
        tuple(methods), first, second, pair, POINTS[outcome], weight, clusters
    )
    votes = np.bincount(unit * 4 + outcome, minlength=4 * len(unit_keys))
    majorities = replace(
        whole,
        pair=unit_keys // len(stories),
        points=(majority(votes.reshape(-1, 4).astype(float)) + 1) / 2,
        weight=np.ones(len(unit_keys)),
        clusters={
            "stories": (unit_keys % len(stories), len(stories)),
            "annotators": (np.zeros(len(unit_keys), int), 1),
            "units": (np.arange(len(unit_keys)), len(unit_keys)),
        },
    )
    kept = np.isfinite(whole.points)
    single = replace(
        whole,
        pair=pair[kept],
        points=whole.points[kept],
        weight=weight[kept],
        clusters={part: (codes[kept], n) for part, (codes, n) in clusters.items()},
    )
    return single, majorities


def win_rates(
    choices: pd.DataFrame,
    *,
    parts: tuple[str, ...] = ("stories", "annotators"),
    confidence: float = 0.95,
) -> list[TableRow]:
    """Count wins and ties of every pair of methods, by votes and by majority.

    Parameters
    ----------
    choices
        As of `pair_votes`.
    parts
        What other answers are thought of: of other stories, annotators or units
        (pairs of outputs of one story), or two of these; none: no intervals.
    confidence
        Coverage of the intervals.

    Returns
    -------
    list of TableRow
        Rows of ``win_rates``, without the criterion. `rate_a` is the share of wins of
        the first method, a tie being half of one; `p_value` tests that it is a half,
        `p_adjusted` is Holm's over all pairs. Majorities have the interval for other
        stories of these annotators.

    Notes
    -----
    Intervals are Wilson's, of as many independent answers (`n_effective`) as have the
    variance of these (`analysis.inference.crossed_clusters`), with Student's quantiles.
    Answers never count for more than independent ones would. Where all answers of a
    pair say the same, they count as those of other pairs do on average.
    """
    single, majorities = pair_votes(choices)
    votes, stories = (_Shares.of_pairs(each, parts) for each in (single, majorities))
    tested = votes.tested(confidence)
    by_stories = stories.tested(confidence)
    counts = {
        f"{prefix}{name}": each.total((each.points == points).astype(float))
        for prefix, each in (("", single), ("majority_", majorities))
        for name, points in (("wins_a", 1.0), ("ties", 0.5), ("wins_b", 0.0))
    }
    n_stories = majorities.total(np.ones(len(majorities.pair)))
    return [
        {
            "method_a": single.methods[single.first[k]],
            "method_b": single.methods[single.second[k]],
            **{name: int(column[k]) for name, column in counts.items()},
            "n_stories": int(n_stories[k]),
            "rate_a": float(votes.value[k]),
            **{name: float(column[k]) for name, column in tested.items()},
            "majority_rate_a": float(stories.value[k]),
            "majority_low": float(by_stories["low"][k]),
            "majority_high": float(by_stories["high"][k]),
        }
        for k in range(len(single.first))
    ]


def method_win_rates(
    choices: pd.DataFrame,
    *,
    parts: tuple[str, ...] = ("stories", "annotators"),
    confidence: float = 0.95,
) -> list[TableRow]:
    """Average the win rates of each method over the methods that it met.

    Parameters
    ----------
    choices, parts, confidence
        As of `win_rates`.

    Returns
    -------
    list of TableRow
        Rows of ``method_win_rates``, without the criterion, the highest rate first.
        `rate` is the mean over the `n_opponents`, each counting alike, however often
        they met; `p_value` tests that it is a half, `p_adjusted` is Holm's over all
        methods.
    """
    votes, _ = pair_votes(choices)
    shares, n_opponents, n_votes = _Shares.of_methods(votes, parts)
    tested = shares.tested(confidence)
    order = np.argsort(-np.nan_to_num(shares.value, nan=-1.0), kind="stable")
    return [
        {
            "method": votes.methods[i],
            "rate": float(shares.value[i]),
            **{name: float(column[i]) for name, column in tested.items()},
            "n_opponents": int(n_opponents[i]),
            "n_votes": int(n_votes[i]),
        }
        for i in order
    ]


def rates_by_story_weights(votes: PairVotes, weights: Array) -> Array:
    """Return the mean win rates of the methods under weights of stories.

    Parameters
    ----------
    votes
        Single votes.
    weights
        Shape (B, stories): how often each story counts.

    Returns
    -------
    array of shape (B, M)
        NaN of a method that met none.
    """
    M, P = len(votes.methods), len(votes.first)
    story, S = votes.clusters["stories"]
    shape = (S, P)
    at = story * P + votes.pair
    of, won = (
        np.bincount(at, values, minlength=S * P).reshape(shape)
        for values in (votes.weight, votes.weight * votes.points)
    )
    total = weights @ of
    rate = divided(weights @ won, total)
    known = total > 0
    found, n = np.zeros((2, len(weights), M))
    for side, points in ((votes.first, rate), (votes.second, 1 - rate)):
        adds = np.zeros((P, M))
        adds[np.arange(P), side] = 1
        found += np.where(known, points, 0.0) @ adds
        n += known @ adds
    return divided(found, n)


@dataclass(frozen=True)
class _Shares:
    """K shares of wins.

    Attributes
    ----------
    value
        Shape (K,); NaN without answers.
    n, n_decided
        Shape (K,): as how many answers of equal weight those behind each count, and how
        many of these are no ties.
    errors
        None where nothing is drawn.
    """

    value: Array
    n: Array
    n_decided: Array
    errors: Errors | None

    @classmethod
    def of_pairs(cls, votes: PairVotes, parts: tuple[str, ...]) -> "_Shares":
        """Return the rates of pairs."""
        n = votes.n_equal()
        decided = n * (1 - votes.tied())
        return cls(votes.rates(), n, decided, _pair_errors(votes, parts))

    @classmethod
    def of_methods(
        cls, votes: PairVotes, parts: tuple[str, ...]
    ) -> tuple["_Shares", Counts, Counts]:
        """Return mean rates of methods, how many each met, and in how many votes."""
        M, P = len(votes.methods), len(votes.first)
        rates = votes.rates()
        met = np.isfinite(rates).astype(float)
        # A matrix (P, M) that adds what is known of pairs up to methods.
        both = np.zeros((2, P, M))
        both[0, np.arange(P), votes.first] = both[1, np.arange(P), votes.second] = 1
        n_opponents = met @ both.sum(axis=0)
        share = 1 / np.maximum(n_opponents, 1)
        won = np.nan_to_num(rates) @ both[0] + np.nan_to_num(1 - rates) @ both[1]
        value = np.where(n_opponents > 0, won * share, NAN)
        n, tied = votes.n_equal(), votes.tied()
        n_votes = votes.total(np.ones(len(votes.pair))) @ both.sum(axis=0)
        n_equal = n @ both.sum(axis=0)
        decided = (n * (1 - tied)) @ both.sum(axis=0)
        # What an answer adds depends on its pair, its points and its weight.
        keys = np.column_stack([votes.pair, votes.points, votes.weight])
        _, at, cell = np.unique(keys, axis=0, return_index=True, return_inverse=True)
        adds = (
            votes.added()[at][:, None] * ((both[0] - both[1]) * share)[votes.pair[at]]
        )
        kinds = kinds_drawn(votes.clusters, parts)
        covariance = crossed_covariance(adds, cell.ravel(), kinds, rank=max(M - 1, 1))
        errors = None if covariance is None else covariance.of(np.eye(M))
        found = cls(value, n_equal, decided, errors)
        return found, n_opponents.astype(int), n_votes.astype(int)

    def tested(self, confidence: float) -> dict[str, Array]:
        """Return bounds, p-values that the share is a half, and effective numbers."""
        low, high, p_value, effective = np.full((4, len(self.value)), NAN)
        if self.errors is not None:
            effective = self._effective()
            quantiles = self.errors.quantiles(confidence)
            low, high = share_intervals(self.value, effective, quantiles)
            p_value = half_p_values(self.value, effective, self.errors.freedom)
        return {
            "low": low,
            "high": high,
            "p_value": p_value,
            "p_adjusted": holm(p_value),
            "n_effective": effective,
        }

    def _effective(self) -> Array:
        """Return as how many independent answers those of each share count."""
        assert self.errors is not None
        variance, spread = self.errors.variance, self.value * (1 - self.value)
        n = np.where(self.n > 0, self.n, NAN)
        varies = (variance > NOTHING) & (spread > 0)
        single = (spread[varies] / n[varies]).sum()
        widened = max(1.0, variance[varies].sum() / single) if single > 0 else 1.0
        found = n / widened
        np.divide(spread, variance, out=found, where=varies)
        return np.minimum(found, n * n / np.maximum(self.n_decided, 1))


def _pair_errors(votes: PairVotes, parts: tuple[str, ...]) -> Errors | None:
    """Return the errors of the rates of pairs."""
    wanted = kinds_drawn(votes.clusters, parts)
    kinds, both = drawn_clusters(wanted, len(votes.pair))
    if not kinds:
        return None
    added, n = votes.added(), np.maximum(votes.n_equal(), 1)
    spread = votes.rates() * (1 - votes.rates())
    weight = np.divide(n, spread, out=np.zeros(len(n)), where=spread > 0)
    of_both, n_both = _by_cluster(votes, added, both)
    single = float(weight @ of_both)
    found = []
    for kind in kinds:
        own, n_own = _by_cluster(votes, added, kind)
        factor = float(weight @ own) / single if single > 0 else 1.0
        found.append(ClusteredVariance(own, n_own, factor))
    return joined_errors(found, of_both, n_both, rank=len(n))


def _by_cluster(
    votes: PairVotes, added: Array, cluster: Cluster
) -> tuple[Array, Array]:
    """Return the variance of each pair's rate by its clusters, and their number."""
    codes, n = cluster
    P = len(votes.first)
    keys, at = np.unique(votes.pair * n + codes, return_inverse=True)
    sums = np.bincount(at, added)
    size = np.bincount(keys // n, minlength=P).astype(float)
    found = np.bincount(keys // n, sums**2, minlength=P)
    return found * size / np.maximum(size - 1, 1), size
