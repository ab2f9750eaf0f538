"""Win rates side by side: of each pair of methods, and of each against all others."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis.inference.crossed_clusters import (
    NOTHING,
    Cluster,
    ClusteredVariance,
    Errors,
    crossed_covariance,
    drawn_clusters,
    half_p_values,
    joined_errors,
    share_intervals,
    widened_clusters,
)
from analysis.inference.resampling import divided, holm
from analysis.rankings.choice_votes import PairVotes, kinds_drawn, pair_votes
from analysis.results import NAN, Array, Counts, TableRow


def win_rates(
    choices: pd.DataFrame,
    *,
    parts: tuple[str, ...] = ("stories", "annotators"),
    confidence: float = 0.95,
    baseline: tuple[str, ...] = (),
) -> list[TableRow]:
    """Count wins and ties of every pair of methods, by votes and by majority.

    `method_b` is the baseline of a pair, of two the one named first; in other pairs the
    order is that of `choices`.
    """
    single, majorities = pair_votes(_against(choices, baseline))
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


def _against(choices: pd.DataFrame, baseline: tuple[str, ...]) -> pd.DataFrame:
    """Return the choices with a baseline, where a pair has one, as `method_b`."""
    place = {name: place for place, name in enumerate(baseline)}
    first, second = (
        choices[side].map(lambda name: place.get(name, len(place)))
        for side in ("method_a", "method_b")
    )
    turned = first < second
    return choices.assign(
        method_a=choices["method_a"].where(~turned, choices["method_b"]),
        method_b=choices["method_b"].where(~turned, choices["method_a"]),
        choice=choices["choice"].where(
            ~turned, choices["choice"].replace({"a": "b", "b": "a"})
        ),
    )


def method_win_rates(
    choices: pd.DataFrame,
    *,
    parts: tuple[str, ...] = ("stories", "annotators"),
    confidence: float = 0.95,
) -> list[TableRow]:
    """Average the win rates of each method over the methods that it met."""
    votes, _ = pair_votes(choices)
    shares, n_opponents, n_votes = _Shares.of_methods(votes, parts)
    tested = shares.tested(confidence)
    if len(votes.methods) == 2:
        # The same test, in both directions.
        tested["p_adjusted"] = tested["p_value"]
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


@dataclass(frozen=True)
class _Shares:
    """K shares of wins."""

    value: Array
    n: Array
    n_decided: Array
    errors: Errors | None

    @classmethod
    def of_pairs(cls, votes: PairVotes, parts: tuple[str, ...]) -> "_Shares":
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
        # What the rates of both would let expect of a pair.
        lone = 0.5 + (value[votes.first] - value[votes.second]) / 2
        added = votes.added_unbiased(lone)[at][:, None]
        adds = added * ((both[0] - both[1]) * share)[votes.pair[at]]
        weights = (
            votes.share()[at][:, None] * (both.sum(axis=0) * share)[votes.pair[at]]
        )
        covariance = crossed_covariance(
            adds,
            cell.ravel(),
            kinds_drawn(votes.clusters, parts),
            rank=max(M - 1, 1),
            weights=weights,
        )
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
    n = np.maximum(votes.n_equal(), 1)
    spread = votes.rates() * (1 - votes.rates())
    weight = np.divide(n, spread, out=np.zeros(len(n)), where=spread > 0)
    single = _by_cluster(votes, both)
    found = []
    for kind in kinds:
        own = _by_cluster(votes, kind)
        wider = np.nan_to_num(divided(own.squares, single.squares))
        more = np.maximum(wider - 1, 0)
        excess = float(weight @ (own.variance - single.variance))
        expected = float(weight @ (single.variance * more))
        alike = excess / expected if expected > 0 else 0.0
        factor = np.maximum(1 + alike * more, 0)
        found.append(ClusteredVariance(own.variance, own.n, factor))
    return joined_errors(found, single.variance, single.n, rank=len(n))


@dataclass(frozen=True)
class _PairClusters:
    """The variance of each pair's rate by clusters, and their effective number.

    `squares` are those of how much of the rate each cluster is, summed.
    """

    variance: Array
    n: Array
    squares: Array


def _by_cluster(votes: PairVotes, cluster: Cluster) -> _PairClusters:
    codes, n = cluster
    P = len(votes.first)
    keys, at = np.unique(votes.pair * n + codes, return_inverse=True)
    pair = keys // n
    sums, share = (np.bincount(at, v) for v in (votes.added(), votes.share()))
    widened = widened_clusters(share, pair, P)
    variance = np.bincount(pair, (sums * widened) ** 2, minlength=P)
    squares = np.asarray(np.bincount(pair, share**2, minlength=P), float)
    n_equal = np.nan_to_num(divided(np.ones(P), squares))
    return _PairClusters(np.asarray(variance, float), n_equal, squares)
