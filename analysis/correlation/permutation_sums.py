"""Coefficients of two metrics after each of many swaps of their scores.

Sums over pairs of points are ``constant + linear . s + s' Q s`` in the coins s, and
for the other metric the same at -s. Without ties in the scores no denominator moves,
so the difference of two coefficients is exactly linear: one matrix product, whatever
the number of points. Ties are counted value by value.
"""

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from analysis.correlation.coefficients import (
    LEAST_VARIANCE,
    RANKED,
    pearson_alone,
    places,
    quotient,
    standardise,
    tau_c,
)
from analysis.correlation.permutation_draws import AnyCoins
from analysis.correlation.permutation_pairs import Contests, Points
from analysis.correlation.permutation_ties import has_ties, own_ties, tie_sums
from analysis.correlation.weighted_sums import Floats, dense_levels
from analysis.results import Array, Counts, Mask

# Groups of at most this many points sum s' Q s; larger ones take its mean over
# independent coins, which differs little and leaves the test exact.
EXACT_PAIRS = 1000
# Rows of s' Q s at a time.
ROWS = 128

MetricPair = tuple[Array, Array]


def swapped_values(
    points: Points,
    met: Contests | None,
    a: int,
    b: int,
    coins: AnyCoins,
    coefficients: Sequence[str],
    own: Mapping[int, Floats] | None = None,
) -> dict[str, MetricPair]:
    """Correlate both metrics with people after each swap.

    Parameters
    ----------
    points, met
        The points, and their `contests`, which Pearson's r needs not.
    a, b
        Two of the metrics.
    coins
        The swaps.
    coefficients
        Some of ``kendall``, ``kendall_c``, ``spearman``, ``pearson``.
    own
        `own_ties` of all metrics, where they are known already.

    Returns
    -------
    dict
        Coefficient to the values of the first and of the second metric, each
        (G, B); NaN where undefined.

    Notes
    -----
    Only differences of the two are meant: the rank coefficients leave out s'Qs in
    groups without ties, where it is the same for both.

    With ties in the scores of a group of more than `EXACT_PAIRS` points, the sum
    s'Qs, which is the same for both metrics, is replaced by its mean over
    independent coins. That is known whichever way the scores are swapped, so a test
    with this statistic is exact as well (a permutation test is, with any statistic).
    """
    found = {}
    if "pearson" in coefficients:
        found["pearson"] = _pearson(points, a, b, coins)
    if set(RANKED) & set(coefficients):
        assert met is not None
        found |= _ranked(points, met, a, b, coins, coefficients, own)
    return {name: found[name] for name in coefficients}


def _ranked(
    points: Points,
    met: Contests,
    a: int,
    b: int,
    coins: AnyCoins,
    coefficients: Sequence[str],
    own: Mapping[int, Floats] | None,
) -> dict[str, MetricPair]:
    n = points.used.sum(axis=1).astype(float)[:, None]
    kinds = {"pairs": met.pairs}
    if "spearman" in coefficients:
        kinds["ranks"] = met.ranks / 2
    tied = has_ties(points, a, b)
    even = {}
    changes = []
    for kind, won in kinds.items():
        first, second = won[a, a] + won[a, b], won[b, a] + won[b, b]
        changes.append((first - second) / 2)
        even[kind] = (first + second).sum(axis=1, keepdims=True) / 4
    odd = dict(zip(kinds, coins.moved(changes), strict=True))
    if tied.any() and points.used.shape[1] <= EXACT_PAIRS:
        squares_of = _quadratic(points, met, a, b, coins, tied, kinds)
        for kind, values in squares_of.items():
            even[kind] = np.repeat(even[kind], coins.swaps, axis=1)
            even[kind][tied] += values / 4
    if tied.any():
        alone = [own_ties(points, k, coins) if own is None else own[k] for k in (a, b)]
        ties = tie_sums(points, a, b, coins, alone)
    else:
        ties = (np.stack([n] * 3),) * 2
    human = points.values_of_people
    found: dict[str, list[Array]] = {}
    for sign, (squares, cubes, values) in zip((1, -1), ties, strict=True):
        pairs = even["pairs"] + sign * odd["pairs"]
        found.setdefault("kendall", []).append(
            quotient(pairs, n**2 - human[1], n**2 - squares)
        )
        if "kendall_c" in coefficients:
            found.setdefault("kendall_c", []).append(
                tau_c(pairs, np.minimum(human[3], values), n)
            )
        if "spearman" in coefficients:
            ranks = even["ranks"] + sign * odd["ranks"]
            found.setdefault("spearman", []).append(
                quotient(ranks, (n**3 - human[2]) / 3, (n**3 - cubes) / 3)
            )
    return {name: (first, second) for name, (first, second) in found.items()}


def _quadratic(
    points: Points,
    met: Contests,
    a: int,
    b: int,
    coins: AnyCoins,
    tied: Mask,
    kinds: Collection[str],
) -> dict[str, Array]:
    """Sum s_i s_j (aa - ab - ba + bb)_ij times people's difference, tied groups."""
    s = np.ascontiguousarray(coins.points, np.float32)
    if coins.clusters is not None:
        s = s[coins.clusters]
    found: dict[str, list[Array]] = {"pairs": [], "ranks": []}
    for g in np.flatnonzero(tied):
        x, y = dense_levels(points.levels[[a, b], g]).astype(np.float32)
        cross = np.sign(x[:, None] - y)
        moved = np.sign(x[:, None] - x) + np.sign(y[:, None] - y) - cross + cross.T
        moved *= points.used[g][:, None] & points.used[g]
        h = dense_levels(points.human[g]).astype(np.float32)
        rh = met.human_ranks[g].astype(np.float32)
        kernels = {"pairs": np.sign(h[:, None] - h)}
        if "ranks" in kinds:
            kernels["ranks"] = (rh[:, None] - rh) / 2
        for kind, kernel in kernels.items():
            q = moved * kernel
            if coins.clusters is not None:
                for axis in (0, 1):
                    q = np.add.reduceat(q, coins.clusters, axis=axis)
            found[kind].append(_form(q, s))
    return {kind: np.stack(values) for kind, values in found.items() if values}


def _form(q: Floats, s: Floats) -> Array:
    """Return s' q s for every column of s; q is symmetric, so half of it is enough."""
    total = np.zeros(s.shape[1])
    for start in range(0, len(q), ROWS):
        stop = start + ROWS
        rows = q[start:stop, start:].copy()
        rows[:, ROWS:] *= 2
        partners = rows @ s[start:]
        partners *= s[start:stop]
        total += partners.sum(axis=0, dtype=np.float64)
    return total


def _pearson(points: Points, a: int, b: int, coins: AnyCoins) -> MetricPair:
    """Pearson's r of both metrics: sums of mid + s half, its square and its product."""
    used = points.used
    n = np.maximum(used.sum(axis=1), 1)[:, None]
    h = standardise(points.human, used)
    x, y = (np.where(used, points.scores[k], 0.0) for k in (a, b))
    middle, half = (x + y) / 2, (x - y) / 2
    mean = middle.sum(axis=1, keepdims=True) / n
    middle = np.where(used, middle - mean, 0.0)
    constant = [
        part.sum(axis=1, keepdims=True) / n
        for part in (middle, middle**2 + half**2, middle * h)
    ]
    linear = coins.moved([half / n, 2 * middle * half / n, half * h / n])
    varies = h.any(axis=1, keepdims=True)
    found = []
    for sign, own, other in ((1, a, b), (-1, b, a)):
        m, square, product = (
            c + sign * moved for c, moved in zip(constant, linear, strict=True)
        )
        variance = np.where(varies, square - m * m, 0.0)
        known = variance > LEAST_VARIANCE * constant[1]
        values = quotient(product, np.ones(1), np.where(known, variance, 0))
        for g, draw in places(varies & ~known, used.shape[1]):
            values[g, draw] = _mixed(points, own, other, coins.points[:, draw].T, g)
        found.append(values)
    return found[0], found[1]


def _mixed(points: Points, a: int, b: int, kept: Floats, groups: Counts) -> Array:
    """Pearson's r of a metric that takes over scores of another, row by row: (R,).

    Where all scores or none are taken over it is known, and exact: standardised scores
    of a group in which all are small lack digits.
    """
    used = points.used[groups]
    first = np.where(used, kept > 0, True).all(axis=1)
    second = np.where(used, kept < 0, True).all(axis=1)
    found: Array = np.where(first, points.pearson[a, groups], points.pearson[b, groups])
    rest = np.flatnonzero(~first & ~second)
    rows = groups[rest]
    scores = np.where(kept[rest] > 0, points.scores[a, rows], points.scores[b, rows])
    found[rest] = pearson_alone(points.human[rows], scores, used[rest].astype(float))
    return found
