"""Sums over equal scores of two metrics after each of many swaps.

A value that only one of the metrics has contributes the same whichever metric it is
compared with: `own_ties` is computed once a metric. Values that both have are few as
a rule; `tie_sums` adds what they change.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from analysis.correlation.permutation_draws import AnyCoins
from analysis.correlation.permutation_pairs import Points
from analysis.correlation.weighted_sums import EXACT, Floats, Levels
from analysis.results import Array, Mask

# Elements held at once: what a processor's cache holds is counted faster.
CHUNK = 500_000


@dataclass(frozen=True)
class _Holders:
    """Which points of some groups have which of V values of a metric.

    Attributes
    ----------
    point, value
        Shape (n,): one entry a point of a group.
    sizes
        Shape (V,): how many points of the group have each value.
    group
        Shape (V,): the group of each value.
    """

    point: Levels
    value: Levels
    sizes: Levels
    group: Levels

    def kept(self, coins: AnyCoins, draws: slice, dtype: type) -> Floats:
        """Count the points of each value whose scores stay: (V, draws)."""
        used, column = np.unique(self.point, return_inverse=True)
        incidence: sparse.csr_array = sparse.csr_array(
            (np.full(len(column), 0.5, dtype), (self.value, column)),
            (len(self.sizes), len(used)),
        )
        found = incidence @ coins.some(used, draws).astype(dtype, copy=False)
        found += (self.sizes / 2).astype(dtype)[:, None]
        return np.asarray(found)


def _holders(points: Points, k: int, wanted: Levels | None = None) -> _Holders:
    """List who has values that occur twice, or those of (group, level) `wanted`."""
    point = np.nonzero(points.used)[1]
    found, value, sizes = np.unique(
        points.codes[k], return_inverse=True, return_counts=True
    )
    chosen = sizes > 1 if wanted is None else np.isin(found, wanted)
    here = chosen[value]
    number = np.cumsum(chosen) - 1
    n_levels = int(points.levels.max(initial=0)) + 1
    return _Holders(
        point[here], number[value[here]], sizes[chosen], found[chosen] // n_levels
    )


def own_ties(points: Points, k: int, coins: AnyCoins) -> Floats:
    """Sum t^2 - t, t^3 - t and (t > 0) - t over the values of a metric.

    Parameters
    ----------
    points
        The points.
    k
        The metric.
    coins
        B swaps.

    Returns
    -------
    array of shape (2, 3, G, B)
        With t the number of points of a value whose scores stay, then of those whose
        scores leave.
    """
    G, B = len(points.used), coins.swaps
    held = _holders(points, k)
    dtype = _exact(held.group, held.sizes)
    found: Floats = np.zeros((2, 3, G, B), dtype)
    if not len(held.sizes):
        return found
    sizes: Floats = held.sizes[:, None].astype(dtype)
    groups = _by_group(held.group, G, dtype)
    step = max(1, CHUNK // len(sizes))
    for start in range(0, B, step):
        draws = slice(start, start + step)
        stay = held.kept(coins, draws, dtype)
        for sums, t in zip(found, (stay, sizes - stay), strict=True):
            square = t * t
            for summed, power in zip(
                sums, (square - t, square * t - t, np.minimum(t, 1) - t), strict=True
            ):
                summed[:, draws] = groups @ power
    return found


def tie_sums(
    points: Points, a: int, b: int, coins: AnyCoins, own: Sequence[Floats]
) -> tuple[Array, Array]:
    """Sum t^2, t^3 and 1 over the values of both metrics after each swap.

    Parameters
    ----------
    points
        The points.
    a, b
        The metrics.
    coins
        B swaps.
    own
        `own_ties` of both.

    Returns
    -------
    first, second
        Each (3, G, B).
    """
    n = points.used.sum(axis=1).astype(float)[:, None]
    first, second = n + own[0][0] + own[1][1], n + own[0][1] + own[1][0]
    both = np.intersect1d(points.values[a], points.values[b], assume_unique=True)
    if not len(both):
        return first, second
    x, y = (_holders(points, k, both) for k in (a, b))
    dtype = _exact(x.group, x.sizes + y.sizes)
    groups = _by_group(x.group, len(n), dtype)
    sizes: list[Floats] = [held.sizes[:, None].astype(dtype) for held in (x, y)]
    step = max(1, CHUNK // len(both))
    for start in range(0, coins.swaps, step):
        draws = slice(start, start + step)
        stay = [held.kept(coins, draws, dtype) for held in (x, y)]
        for sums, t, u in (
            (first, stay[0], sizes[1] - stay[1]),
            (second, sizes[0] - stay[0], stay[1]),
        ):
            # What a value of t + u points has beyond values of t and of u points.
            product = t * u
            for summed, more in zip(
                sums,
                (2 * product, 3 * product * (t + u), -np.minimum(product, 1)),
                strict=True,
            ):
                summed[:, draws] += groups @ more
    return first, second


def has_ties(points: Points, a: int, b: int) -> Mask:
    """Tell in which groups two scores of the two metrics are equal."""
    both = np.concatenate([points.levels[a], points.levels[b]], axis=1)
    used = np.concatenate([points.used, points.used], axis=1)
    # Numbers below 0, all different, where there is no point.
    nobody = -1 - np.arange(both.shape[1])
    ordered = np.sort(np.where(used, both, nobody), axis=1)
    return np.asarray((ordered[:, 1:] == ordered[:, :-1]).any(axis=1))


def _exact(group: Levels, sizes: Levels) -> type:
    """Return the smallest type in which sums of cubes are exact."""
    largest = np.bincount(group, sizes.astype(float) ** 3).max(initial=0.0)
    return np.float32 if largest < EXACT else np.float64


def _by_group(group: Levels, n_groups: int, dtype: type) -> "sparse.csr_array":
    once: Floats = np.ones(len(group), dtype)
    return sparse.csr_array(
        (once, (group, np.arange(len(group)))), (n_groups, len(group))
    )
