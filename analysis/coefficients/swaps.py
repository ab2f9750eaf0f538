"""Coefficients of two metrics after each of many swaps of their scores.

A coin of 1 leaves the scores of a point where they are, -1 exchanges them. Sums over
pairs of points are then ``constant + linear . s + s' Q s`` in the coins s, and for the
other metric the same at -s. Without ties in the scores no denominator moves, so the
difference of two coefficients is exactly linear: one matrix product, whatever the
number of points. Ties are counted value by value.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from analysis.coefficients.ranksums import Levels, dense_levels
from analysis.correlation import (
    NO_VARIANCE,
    RANKED,
    quotient,
    standardise,
    tau_c,
)
from analysis.results import Array, Mask

# Groups of at most this many points sum s' Q s; larger ones take its mean over
# independent coins, which differs little and leaves the test exact.
EXACT_PAIRS = 1000
# With more points, people's values are counted along the sorted scores.
FEW_POINTS = 128
# Elements held at once by sums over ties, and by tables of counts.
CHUNK = 8_000_000


@dataclass(frozen=True)
class Points:
    """People and K metrics on N points in G groups.

    Attributes
    ----------
    human
        Shape (G, N).
    scores
        Shape (K, G, N), comparable between metrics.
    used
        Shape (G, N): which points exist.
    """

    human: Array
    scores: Array
    used: Mask


@dataclass(frozen=True)
class Contests:
    """Every point of a metric against all points of each metric, summed.

    Attributes
    ----------
    pairs
        Shape (K, K, G, N): at [a, b, g, i] the sum over j of
        sgn(a_i - b_j) sgn(h_i - h_j).
    ranks
        The same with the difference of people's centred ranks instead of its sign.
    human_ranks
        Shape (G, N): people's centred ranks, doubled.
    """

    pairs: Array
    ranks: Array
    human_ranks: Array


def contests(points: Points) -> Contests:
    """Let all points of all metrics meet once; pairs of metrics share the result."""
    if points.used.shape[1] <= FEW_POINTS:
        return _contests_of_few(points)
    groups = [_contests_of_many(points, g) for g in range(len(points.used))]
    return Contests(
        np.stack([found.pairs for found in groups], axis=2),
        np.stack([found.ranks for found in groups], axis=2),
        np.stack([found.human_ranks for found in groups]),
    )


def _contests_of_few(points: Points) -> Contests:
    K, (G, N) = len(points.scores), points.used.shape
    both = (points.used[:, :, None] & points.used[:, None, :]).astype(np.float32)
    h = dense_levels(points.human).astype(np.float32)
    x = dense_levels(points.scores).astype(np.float32)
    sh = np.sign(h[:, :, None] - h[:, None, :]) * both
    rh = sh.sum(axis=2)
    apart = (rh[:, :, None] - rh[:, None, :]) * both
    pairs, ranks = np.empty((2, K, K, G, N))
    for a in range(K):
        for b in range(K):
            won = np.sign(x[a][:, :, None] - x[b][:, None, :])
            pairs[a, b] = np.einsum("gij,gij->gi", won, sh)
            ranks[a, b] = np.einsum("gij,gij->gi", won, apart)
    return Contests(pairs, ranks, rh.astype(np.float64))


def _contests_of_many(points: Points, g: int) -> Contests:
    K, N = len(points.scores), points.used.shape[1]
    used = np.flatnonzero(points.used[g])
    h = dense_levels(points.human[g, used])
    counts = np.bincount(h)
    before = np.cumsum(counts) - counts
    rh = np.asarray(2 * before + counts - len(used), float)[h]
    pairs, ranks = np.zeros((2, K, K, N))
    for b in range(K):
        order = np.argsort(points.scores[b, g, used], kind="stable")
        partner = points.scores[b, g, used][order]
        summed = np.concatenate([[0.0], np.cumsum(rh[order])])
        below = np.empty((K, len(used)), np.int64)
        above = np.empty((K, len(used)), np.int64)
        for a in range(K):
            own = points.scores[a, g, used]
            below[a] = np.searchsorted(partner, own, side="left")
            above[a] = np.searchsorted(partner, own, side="right")
        pairs[:, b, used] = _concordant(h, h[order], below, above)
        won = below + above - len(used)
        ranks[:, b, used] = rh * won - (summed[below] + summed[above])
    full = np.zeros(N)
    full[used] = rh
    return Contests(pairs, ranks, full)


def _concordant(h: Levels, partners: Levels, below: Levels, above: Levels) -> Array:
    """Sum sgn(h_i - h_j) over partners below point i minus those above it.

    Parameters
    ----------
    h
        People's values of N points.
    partners
        Those of the partners, in the order of the partners' scores.
    below, above
        Shape (K, N): how many partners have a smaller score than the point, and how
        many a smaller or equal one.
    """
    found = np.empty(below.shape)
    step = max(1, CHUNK // (len(partners) + 1))
    for start in range(0, int(h.max(initial=-1)) + 1, step):
        values = np.arange(start, min(start + step, int(h.max()) + 1))
        table = np.zeros((len(values), len(partners) + 1), np.int32)
        signs = np.sign(values[:, None] - partners).astype(np.int8)
        np.cumsum(signs, axis=1, dtype=np.int32, out=table[:, 1:])
        here = np.flatnonzero((h >= start) & (h < start + step))
        rows = h[here] - start
        found[:, here] = (
            table[rows, below[:, here]] + table[rows, above[:, here]] - table[rows, -1]
        )
    return found


@dataclass(frozen=True)
class Coins:
    """Coins 1 or -1 of the points, shared by all groups.

    Attributes
    ----------
    points
        Shape (N, B).
    clusters
        Points in the order of which all coins are equal, as starts of runs; None
        where every point has its own.
    """

    points: Array
    clusters: Levels | None = None

    @property
    def swaps(self) -> int:
        """The number of swaps, B."""
        return int(self.points.shape[1])

    def moved(self, parts: list[Array]) -> list[Array]:
        """Sum parts (G, N) times coins over the points: each (G, B)."""
        return np.split(np.concatenate(parts) @ self.points, len(parts))


@dataclass(frozen=True)
class CellCoins:
    """Coins of the cells of a table, products of those of its rows and columns.

    Attributes
    ----------
    rows, columns
        Shapes (B, S) and (B, M).
    cells
        Shape (S, M): the cells that are points, row by row.
    """

    rows: Array
    columns: Array
    cells: Mask

    @property
    def swaps(self) -> int:
        """The number of swaps, B."""
        return len(self.rows)

    @cached_property
    def points(self) -> Array:
        """The coin of every cell, (N, B); made only where scores tie."""
        s, m = np.nonzero(self.cells)
        return np.asarray(self.rows.T[s] * self.columns.T[m])

    @property
    def clusters(self) -> Levels | None:
        """Starts of the rows, where columns throw no coins."""
        if (self.columns != 1).any():
            return None
        return np.flatnonzero(np.diff(np.nonzero(self.cells)[0], prepend=-1))

    def moved(self, parts: list[Array]) -> list[Array]:
        """Sum over rows by a matrix product, then over columns."""
        table = np.zeros((len(parts), *self.cells.shape))
        table[:, self.cells] = np.concatenate(parts)
        return [
            np.einsum("bm,bm->b", self.rows @ part, self.columns)[None]
            for part in table
        ]


AnyCoins = Coins | CellCoins
Pair = tuple[Array, Array]


def swapped_values(
    points: Points,
    met: Contests,
    a: int,
    b: int,
    coins: AnyCoins,
    coefficients: Sequence[str],
) -> dict[str, Pair]:
    """Correlate both metrics with people after each swap.

    Parameters
    ----------
    points, met
        The points, and their `contests`.
    a, b
        Two of the metrics.
    coins
        The swaps.
    coefficients
        Some of ``kendall``, ``kendall_c``, ``spearman``, ``pearson``.

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
        found |= _ranked(points, met, a, b, coins, "spearman" in coefficients)
    return {name: found[name] for name in coefficients}


def has_ties(points: Points, a: int, b: int) -> Mask:
    """Tell in which groups two scores of the two metrics are equal."""
    both = np.concatenate([points.scores[a], points.scores[b]], axis=1)
    used = np.concatenate([points.used, points.used], axis=1)
    ordered = np.sort(np.where(used, both, np.inf), axis=1)
    same = (ordered[:, 1:] == ordered[:, :-1]) & np.isfinite(ordered[:, 1:])
    return np.asarray(same.any(axis=1))


def _ranked(
    points: Points, met: Contests, a: int, b: int, coins: AnyCoins, spearman: bool
) -> dict[str, Pair]:
    n = points.used.sum(axis=1).astype(float)[:, None]
    kinds = {"pairs": met.pairs} | ({"ranks": met.ranks / 2} if spearman else {})
    tied = has_ties(points, a, b)
    even = {}
    changes = []
    for kind, won in kinds.items():
        first, second = won[a, a] + won[a, b], won[b, a] + won[b, b]
        changes.append((first - second) / 2)
        constant = (first + second).sum(axis=1, keepdims=True) / 4
        even[kind] = np.repeat(constant, coins.swaps, axis=1)
    odd = dict(zip(kinds, coins.moved(changes), strict=True))
    if tied.any() and points.used.shape[1] <= EXACT_PAIRS:
        quadratic = _quadratic(points, met.human_ranks, a, b, coins, tied, spearman)
        for kind, values in quadratic.items():
            even[kind][tied] += values / 4
    ties = _tie_sums(points, a, b, coins, tied)
    human = _human_ties(points)
    found: dict[str, list[Array]] = {}
    for sign, (squares, cubes, values) in zip((1, -1), ties, strict=True):
        pairs = even["pairs"] + sign * odd["pairs"]
        found.setdefault("kendall", []).append(
            quotient(pairs, n**2 - human[1], n**2 - squares)
        )
        found.setdefault("kendall_c", []).append(
            tau_c(pairs, np.minimum(human[3], values), n)
        )
        if spearman:
            ranks = even["ranks"] + sign * odd["ranks"]
            found.setdefault("spearman", []).append(
                quotient(ranks, (n**3 - human[2]) / 3, (n**3 - cubes) / 3)
            )
    return {name: (first, second) for name, (first, second) in found.items()}


def _human_ties(points: Points) -> Array:
    """Return the sums of t, t^2, t^3 and 1 over people's values, shape (4, G, 1)."""
    found = np.empty((4, len(points.used), 1))
    for g, used in enumerate(points.used):
        t = np.unique(points.human[g, used], return_counts=True)[1].astype(float)
        found[:, g, 0] = t.sum(), (t**2).sum(), (t**3).sum(), len(t)
    return found


def _quadratic(
    points: Points, human_ranks: Array, a: int, b: int, coins: AnyCoins, tied: Mask,
    spearman: bool,
) -> dict[str, Array]:  # fmt: skip
    """Sum s_i s_j (aa - ab - ba + bb)_ij times people's difference, tied groups."""
    both = dense_levels(points.scores[[a, b]]).astype(np.float32)
    s = np.ascontiguousarray(coins.points, np.float32)
    if coins.clusters is not None:
        s = s[coins.clusters]
    found: dict[str, list[Array]] = {"pairs": [], "ranks": []}
    for g in np.flatnonzero(tied):
        x, y = both[0, g], both[1, g]
        cross = np.sign(x[:, None] - y)
        moved = np.sign(x[:, None] - x) + np.sign(y[:, None] - y) - cross + cross.T
        moved *= points.used[g][:, None] & points.used[g]
        h = dense_levels(points.human[g]).astype(np.float32)
        rh = human_ranks[g].astype(np.float32)
        kernels = {"pairs": np.sign(h[:, None] - h)}
        if spearman:
            kernels["ranks"] = (rh[:, None] - rh) / 2
        for kind, kernel in kernels.items():
            q = moved * kernel
            if coins.clusters is not None:
                for axis in (0, 1):
                    q = np.add.reduceat(q, coins.clusters, axis=axis)
            found[kind].append(np.einsum("nb,nb->b", q @ s, s, dtype=np.float64))
    return {kind: np.stack(values) for kind, values in found.items() if values}


def _tie_sums(
    points: Points, a: int, b: int, coins: AnyCoins, tied: Mask
) -> tuple[tuple[Array, Array, Array], tuple[Array, Array, Array]]:
    """Sum t^2, t^3 and 1 over the values of both metrics after each swap, (G, B).

    A value's weight t is half of all points that have it in either metric, plus or
    minus half the coins of those that have it in the first minus in the second.
    """
    n = points.used.sum(axis=1).astype(float)[:, None]
    G, B = len(n), coins.swaps
    found = tuple(tuple(np.repeat(n, B, axis=1) for _ in range(3)) for _ in range(2))
    if not tied.any():
        return found  # type: ignore[return-value]
    group, point, value, sign = _shared_values(points, a, b, tied)
    n_values = int(value.max()) + 1
    of_value = np.empty(n_values, np.int64)
    of_value[value] = group
    half = np.bincount(value)[:, None] / 2
    change: sparse.csr_array = sparse.csr_array(
        (sign / 2, (value, point)), (n_values, points.used.shape[1])
    )
    groups = sparse.csr_array(
        (np.ones(n_values), (of_value, np.arange(n_values))), (G, n_values)
    )
    step = max(1, CHUNK // n_values)
    for start in range(0, B, step):
        draws = slice(start, start + step)
        moved = np.asarray(change @ np.ascontiguousarray(coins.points[:, draws]), float)
        for sums, t in zip(found, (half + moved, half - moved), strict=True):
            square = t * t
            for summed, power in zip(sums, (square, square * t, t > 0), strict=True):
                summed[:, draws] += groups @ (power - t)
    return found  # type: ignore[return-value]


def _shared_values(
    points: Points, a: int, b: int, tied: Mask
) -> tuple[Levels, Levels, Levels, Array]:
    """List who has a value that occurs twice: group, point, value number, 1 or -1."""
    inside = points.used & tied[:, None]
    group, point = (np.tile(index, 2) for index in np.nonzero(inside))
    values = np.concatenate([points.scores[a][inside], points.scores[b][inside]])
    sign = np.repeat([1.0, -1.0], int(inside.sum()))
    order = np.lexsort((values, group))
    new = np.ones(len(order), bool)
    new[1:] = (np.diff(values[order]) != 0) | (np.diff(group[order]) != 0)
    number = np.empty(len(order), np.int64)
    number[order] = np.cumsum(new) - 1
    shared = np.bincount(number)[number] > 1
    return group[shared], point[shared], dense_levels(number[shared]), sign[shared]


def _pearson(points: Points, a: int, b: int, coins: AnyCoins) -> Pair:
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
    varies = (h * h).sum(axis=1, keepdims=True) > 0
    found = []
    for sign in (1, -1):
        m, square, product = (
            c + sign * moved for c, moved in zip(constant, linear, strict=True)
        )
        variance = np.where(varies, square - m * m, 0.0)
        least = NO_VARIANCE * np.maximum(constant[1], NO_VARIANCE)
        found.append(
            quotient(product, np.ones(1), np.where(variance > least, variance, 0))
        )
    return found[0], found[1]
