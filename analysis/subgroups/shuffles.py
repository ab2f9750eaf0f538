r"""Do two groups of stories differ? Dealing stories out anew, differences studentised.

Where groups differ in size and spread, a plain permutation test of a difference rejects
too often: the spread of the smaller group is shared out over both. Divided by a
standard error that allows for two spreads, and is computed anew in every shuffle, the
difference has the same distribution in the limit whatever the spreads (Chung and Romano
2013, Annals of Statistics 41(2)), and the test stays exact where groups are alike.

The interval of a difference holds what the same test does not reject: the difference,
more or less the shuffles' critical value times its standard error. So 0 lies outside
exactly where p is at most 1 - confidence.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from analysis.inference.resampling import LEAST_DEFINED
from analysis.results import NAN, Array, Mask
from analysis.sentences import sentence

# From weights of stories (B, S) to L numbers (B, L).
Values = Callable[[Array], Array]
SLACK = 1e-9


@dataclass(frozen=True)
class ShuffledTest:
    """How far the differences of two groups of stories are from 0."""

    values: Array
    variances: Array
    errors: Array
    p_values: Array
    critical: Array
    undefined: Array
    resamples: int

    def margins(self) -> Array:
        """Return half the widths of the differences' intervals, shape (L,)."""
        return np.asarray(self.critical * self.errors)

    def why_no_interval(self, place: int) -> str:
        """Return why a difference has no interval; empty where nothing forbids one."""
        n, total = int(self.undefined[place]), self.resamples
        if total == 0 or np.isnan(self.errors[place]):
            return ""
        if n > (1 - LEAST_DEFINED) * total:
            return sentence(
                "no interval: undefined in {n} of {total} resamples", n=n, total=total
            )
        if np.isnan(self.critical[place]):
            return sentence("no interval: every resample gives the same value")
        if np.isinf(self.critical[place]):
            return sentence("no interval: {n} resamples are too few", n=total - n)
        return ""

    def ratio(self, place: int) -> tuple[float, float]:
        """Return Fieller's interval of the second group's number by the first's."""
        first, second = self.values[:, place]
        v_first, v_second = self.critical[place] ** 2 * self.variances[:, place]
        lead = first**2 - v_first
        if not lead > 0:
            return NAN, NAN
        away = math.sqrt(first**2 * v_second + second**2 * v_first - v_first * v_second)
        return (first * second - away) / lead, (first * second + away) / lead


def shuffled_test(
    values: Values,
    groups: tuple[Mask, Mask],
    resamples: int,
    confidence: float,
    rng: np.random.Generator,
) -> ShuffledTest:
    """Compare two groups of stories.

    The standard error of a difference is that of two means of the stories'
    pseudo-values, :math:`n v - (n - 1) v_{(s)}` of the n stories of both groups
    together. Of a mean over stories they are its terms. Groups of one story have no
    spread: then differences are compared as they are, and have no interval.
    """
    in_a, in_b = groups
    stories = np.flatnonzero(in_a | in_b)
    n, S = len(stories), len(in_a)

    def measured(kept: Mask) -> Array:
        weights = np.zeros((len(kept), S))
        weights[:, stories] = kept
        return values(weights)

    def studentised(first: Mask) -> Array:
        apart = measured(first) - measured(~first)
        same = np.abs(apart) <= SLACK * np.maximum(1, np.abs(whole))
        errors = standard_errors(first)
        return np.where(same, 0.0, apart) / np.where(np.isnan(errors), 1, errors)

    def standard_errors(first: Mask) -> Array:
        of_first, of_second = _variances(first, spread)
        return np.asarray(np.sqrt(np.maximum(of_first + of_second, least)))

    whole, without = measured(np.ones((1, n), bool)), measured(~np.eye(n, dtype=bool))
    spread = np.nan_to_num((n - 1) * (whole - without))
    # Rounding leaves something of no variance.
    least = SLACK**2 * np.maximum(1, (spread**2).mean(axis=0))
    own = in_a[stories][None]
    observed = np.abs(studentised(own)[0])
    moved = np.abs(studentised(rng.permuted(np.tile(own, (resamples, 1)), axis=1)))
    known = np.isfinite(moved)
    with np.errstate(invalid="ignore"):
        extreme = (moved >= observed * (1 - SLACK) - SLACK) & known
    p = (extreme.sum(axis=0) + 1) / (known.sum(axis=0) + 1)
    return ShuffledTest(
        np.concatenate([measured(own), measured(~own)]),
        np.concatenate(_variances(own, spread)),
        standard_errors(own)[0],
        np.where(np.isfinite(observed) & known.any(axis=0), p, NAN),
        _critical(np.where(known, moved, -np.inf), known.sum(axis=0), confidence),
        (~known).sum(axis=0),
        resamples,
    )


def _variances(first: Mask, spread: Array) -> tuple[Array, Array]:
    """Return the variances of both groups' means, each (B, L); NaN of one story."""
    found = []
    for group in (first.astype(float), (~first).astype(float)):
        n = group.sum(axis=1, keepdims=True)
        mean, square = group @ spread / n, group @ spread**2 / n
        freedom = np.where(n < 2, NAN, n - 1)
        found.append(np.maximum(square - mean**2, 0) / freedom)
    return found[0], found[1]


def _critical(moved: Array, n_known: Array, confidence: float) -> Array:
    """Return the largest sizes that are not rejected, of shuffled sizes (B, L)."""
    if not len(moved):
        return np.full(moved.shape[1], NAN)
    # p = (c + 1) / (n + 1) is small enough where at most so many are as extreme.
    most = np.floor((1 - confidence) * (n_known + 1) + SLACK).astype(int) - 1
    ordered = -np.sort(-moved, axis=0)
    rank = np.clip(most, 0, len(moved) - 1)
    limit = np.take_along_axis(ordered, rank[None], axis=0)[0]
    # As large as a shuffle's is not more extreme.
    limit = np.where(most < 0, np.inf, limit * (1 + 2 * SLACK) + SLACK)
    defined = (n_known >= LEAST_DEFINED * len(moved)) & (ordered[0] > SLACK)
    return np.where(defined, limit, NAN)
