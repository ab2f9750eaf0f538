"""Sums over weighted pairs and ranks, for many weights at once.

A bootstrap resample is the same data with whole-number weights, and Kendall's and
Spearman's coefficients are sums over pairs of weighted points. All sums here are
whole numbers, so they are exact and do not depend on the order of the points.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from analysis.parallel import in_threads
from analysis.results import Array

# Groups of at most this many points compare all pairs by one table of signs.
FEW_POINTS = 128
# Points of one block, and weights at a time, where there are more.
BLOCK_POINTS = 128
BLOCK_WEIGHTS = 512
# With fewer points a sum, sums are made at once, else one by one (faster by far).
POINTS_OF_A_SUM = 8
# Elements of pairwise signs at a time; bounds memory, not results.
BLOCK = 2_000_000
# float32 holds whole numbers below this exactly.
EXACT = 2**24

Floats = npt.NDArray[np.floating[Any]]
Levels = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Ties:
    """Weights summed over points of equal value, each of shape (..., G, B).

    Attributes
    ----------
    total
        The weight n of all points.
    squares, cubes
        Sums of t^2 and t^3 over the values, where t is the weight of a value.
    values
        How many values have weight.
    """

    total: Array
    squares: Array
    cubes: Array
    values: Array

    @property
    def pairs(self) -> Array:
        """Ordered pairs of copies with different values."""
        return self.total**2 - self.squares

    @property
    def ranks(self) -> Array:
        """Sum of the squared centred ranks (doubled), over all copies."""
        return (self.total**3 - self.cubes) / 3


@dataclass(frozen=True)
class RankSums:
    """What Kendall's and Spearman's coefficients are made of.

    Attributes
    ----------
    pairs
        C - D over ordered pairs, shape (K, G, B).
    ranks
        Sum of products of both centred ranks (doubled), shape (K, G, B).
    human, metric
        Sums over ties, shapes (G, B) and (K, G, B).
    """

    pairs: Array
    ranks: Array
    human: Ties
    metric: Ties


def dense_levels(values: Array | Levels) -> Levels:
    """Replace values by whole numbers of the same order, from 0 on.

    Examples
    --------
    >>> dense_levels(np.array([0.5, -3.0, 0.5]))
    array([1, 0, 1])
    """
    order = np.unique(values, return_inverse=True)[1]
    return np.asarray(order.reshape(values.shape), np.int64)


def rank_sums(
    human: Array, scores: Array, weights: Array, *, spearman: bool = True
) -> RankSums:
    """Sum over pairs and ranks in every group and under every weighting.

    Parameters
    ----------
    human
        Shape (G, N).
    scores
        Shape (K, G, N).
    weights
        Shape (G, B, N), whole numbers.
    spearman
        Whether `ranks` is needed; else it is empty.

    Notes
    -----
    Few points: all signs of a group in one matrix product. Many points: they are
    cut into blocks in the order of the metric, which does not depend on weights.
    Pairs inside a block are compared by their signs; pairs of two blocks by sums of
    weights over people's values, of which there are few; where there are many,
    neighbouring values share a sum and pairs inside it are compared by their signs.
    The cost is N (block + values) B instead of N^2 B.
    """
    if weights.shape[2] <= FEW_POINTS:
        return _few(human, scores, weights, spearman=spearman)
    return _many(human, scores, weights, spearman=spearman)


# Few points in a group


def _few(human: Array, scores: Array, weights: Array, *, spearman: bool) -> RankSums:
    K, (G, B, N) = len(scores), weights.shape
    largest = float(weights.sum(axis=2).max(initial=0.0))
    # Sums reach n^3 with ranks, n^2 without.
    exact = largest ** (3 if spearman else 2) < EXACT
    dtype: type[np.floating[Any]] = np.float32 if exact else np.float64
    h = dense_levels(human).astype(dtype)
    x = np.stack([dense_levels(metric).astype(dtype) for metric in scores])
    step = max(1, BLOCK // max((2 * K + 1) * N * max(N, B), 1))

    def part(start: int) -> RankSums:
        groups = slice(start, min(start + step, G))
        w = weights[groups].transpose(0, 2, 1).astype(dtype)
        if B == 1:
            return _pair_sums(h[groups], x[:, groups], w, spearman=spearman)
        return _signed_sums(h[groups], x[:, groups], w, spearman=spearman)

    return _joined(in_threads(part, range(0, max(G, 1), step)))


def _joined(parts: list[RankSums]) -> RankSums:
    """Put parts of the groups together again."""

    def ties(found: list[Ties]) -> Ties:
        return Ties(
            *(
                np.concatenate([getattr(f, name) for f in found], axis=-2)
                for name in ("total", "squares", "cubes", "values")
            )
        )

    return RankSums(
        np.concatenate([part.pairs for part in parts], axis=1),
        np.concatenate([part.ranks for part in parts], axis=1),
        ties([part.human for part in parts]),
        ties([part.metric for part in parts]),
    )


def _signed_sums(h: Floats, x: Floats, w: Floats, *, spearman: bool) -> RankSums:
    """Compare all pairs of points: h (G, N), x (K, G, N), w (G, N, B)."""
    sh = np.sign(h[:, :, None] - h[:, None, :])
    sx = np.sign(x[:, :, :, None] - x[:, :, None, :])
    pairs = _total(_partners(sx * sh, w), w)
    ranks = np.empty((0, *pairs.shape[1:]))
    if spearman:
        ranks = _total(_partners(sx, w), w * _partners(sh[None], w)[:, 0])
    human = _ties_of(sh[None], w)
    own = Ties(human.total[0], human.squares[0], human.cubes[0], human.values[0])
    return RankSums(pairs, ranks, own, _ties_of(sx, w))


def _pair_sums(h: Floats, x: Floats, w: Floats, *, spearman: bool) -> RankSums:
    """Compare every pair once: what `_signed_sums` does, faster for one weighting."""
    K, G, N = x.shape
    i, j = np.triu_indices(N, 1)
    once = w[:, :, 0]
    weight = once[:, i] * once[:, j]
    sh, sx = np.sign(h[:, i] - h[:, j]), np.sign(x[:, :, i] - x[:, :, j])
    pairs = 2 * np.einsum("kgp,gp->kg", sx, sh * weight).astype(np.float64)
    ranks = np.empty((0, G))
    if spearman:
        full = np.sign(h[:, :, None] - h[:, None, :])
        rh = np.matmul(full, w)[:, :, 0]
        ranks = np.einsum("kgp,gp->kg", sx, (rh[:, i] - rh[:, j]) * weight)
    ties = [
        np.stack([part] * (K + 1))
        for part in (
            once.sum(axis=1, dtype=np.float64),
            (once**2).sum(axis=1, dtype=np.float64),
            (once**3).sum(axis=1, dtype=np.float64),
            np.count_nonzero(once, axis=1).astype(np.float64),
        )
    ]
    for row, (own, signs) in enumerate(zip([h, *x], [sh, *sx], strict=True)):
        tied = np.flatnonzero((signs == 0).any(axis=1))
        if len(tied):
            kernel = np.sign(own[tied, :, None] - own[tied, None, :])
            found = _ties_of(kernel[None], w[tied])
            ties[1][row, tied] = found.squares[0, :, 0]
            ties[2][row, tied] = found.cubes[0, :, 0]
            ties[3][row, tied] = found.values[0, :, 0]
    return RankSums(
        pairs[:, :, None],
        np.asarray(ranks, np.float64)[:, :, None],
        Ties(*(part[0, :, None] for part in ties)),
        Ties(*(part[1:, :, None] for part in ties)),
    )


def _partners(kernel: Floats, w: Floats) -> Floats:
    """Sum a kernel (k, G, N, N) over weighted partners: (G, k, N, B)."""
    k, G, N, _N = kernel.shape
    rows = kernel.transpose(1, 0, 2, 3).reshape(G, k * N, N)
    return np.asarray(np.matmul(rows, w).reshape(G, k, N, w.shape[2]))


def _total(values: Floats, w: Floats) -> Array:
    """Sum values (G, k, N, B) over weighted points: (k, G, B)."""
    return np.asarray(np.einsum("gknb,gnb->kgb", values, w), np.float64)


def _ties_of(signs: Floats, w: Floats) -> Ties:
    """Sum over equal values, from signs (k, G, N, N) and weights (G, N, B)."""
    wide = w.astype(np.float64)
    alone = (
        wide.sum(axis=1), (wide**2).sum(axis=1), (wide**3).sum(axis=1),
        np.count_nonzero(w, axis=1).astype(np.float64),
    )  # fmt: skip
    total, squares, cubes, values = (np.stack([part] * len(signs)) for part in alone)
    equal = signs == 0
    tied = np.flatnonzero(equal.sum(axis=(1, 2, 3)) > signs[0, :, :, 0].size)
    if len(tied):
        kernel = equal[tied].astype(w.dtype)
        together = _partners(kernel, w)
        squares[tied] = _total(together, w)
        cubes[tied] = _total(together**2, w)
        present = np.minimum(w, 1)
        # Each of the c points that share a value is a c-th of one.
        count = np.maximum(_partners(kernel, present), 1)
        values[tied] = np.rint(_total(1 / count, present))
    return Ties(total, squares, cubes, values)


# Many points in a group


def _many(human: Array, scores: Array, weights: Array, *, spearman: bool) -> RankSums:
    K, (G, B, _N) = len(scores), weights.shape
    groups = []
    for g in range(G):
        chunks = [
            _group_sums(
                dense_levels(human[g]),
                [dense_levels(scores[k, g]) for k in range(K)],
                weights[g, start : start + BLOCK_WEIGHTS],
                spearman=spearman,
            )
            for start in range(0, max(B, 1), BLOCK_WEIGHTS)
        ]
        groups.append(np.concatenate(chunks, axis=2))
    sums = np.stack(groups, axis=2)  # (1 + K, 6, G, B)
    human_ties, metric_ties = (
        Ties(part[..., 2, :, :], part[..., 3, :, :], part[..., 4, :, :],
             part[..., 5, :, :])
        for part in (sums[0], sums[1:])
    )  # fmt: skip
    ranks = sums[1:, 1] if spearman else np.empty((0, G, B))
    return RankSums(sums[1:, 0], ranks, human_ties, metric_ties)


def _group_sums(h: Levels, x: list[Levels], weights: Array, *, spearman: bool) -> Array:
    """Return C - D, rank products, n, t^2, t^3 and values, shape (1 + K, 6, B).

    The first row is people's own, without the first two.
    """
    largest = float(weights.sum(axis=1).max(initial=0.0)) * float(
        weights.max(initial=0.0)
    )
    dtype: type[np.floating[Any]] = np.float32 if largest < EXACT else np.float64
    w = np.ascontiguousarray(weights.T, dtype=dtype)
    alone = _powers(w)
    weighted_ranks = None
    if spearman:
        by_value = _summed(w, h).astype(np.float64)
        before = np.cumsum(by_value, axis=0) - by_value
        centred = 2 * before + by_value - alone[0]
        weighted_ranks = w * centred.astype(dtype)[h]

    def of_metric(levels: Levels) -> Array:
        both = _block_sums(h, levels, w, weighted_ranks)
        return np.concatenate([both, _tie_sums(levels, w, alone)])

    own = np.concatenate([np.zeros((2, w.shape[1])), _tie_sums(h, w, alone)])
    return np.stack([own, *in_threads(of_metric, x)])


def _summed(w: Floats, levels: Levels) -> Floats:
    """Sum weights (N, B) over points of equal level: (levels, B)."""
    order = np.argsort(levels, kind="stable")
    bounds = np.searchsorted(levels[order], np.arange(levels.max(initial=-1) + 2))
    sorted_weights = w[order]
    if len(levels) < POINTS_OF_A_SUM * (len(bounds) - 1):
        return np.asarray(np.add.reduceat(sorted_weights, bounds[:-1], axis=0))
    found = np.empty((len(bounds) - 1, w.shape[1]), w.dtype)
    for level in range(len(found)):
        rows = slice(bounds[level], bounds[level + 1])
        np.add.reduce(sorted_weights[rows], axis=0, out=found[level])
    return found


def _powers(w: Floats) -> Array:
    """Return the sums of w, w^2, w^3 and the number of w > 0, shape (4, B)."""
    return np.stack(
        [
            w.sum(axis=0, dtype=np.float64),
            np.einsum("pb,pb->b", w, w, dtype=np.float64),
            np.einsum("pb,pb,pb->b", w, w, w, dtype=np.float64),
            np.count_nonzero(w, axis=0).astype(np.float64),
        ]
    )


def _tie_sums(levels: Levels, w: Floats, alone: Array) -> Array:
    """Return n and the sums of t^2, t^3 and 1 over the levels, shape (4, B).

    `alone` has the same sums over points; only those of shared levels change.
    """
    shared = np.bincount(levels)[levels] > 1
    if not shared.any():
        return alone
    points = np.flatnonzero(shared)
    summed = _summed(w[points], dense_levels(levels[points]))
    if shared.all():
        return _powers(summed)
    return alone + _powers(summed) - _powers(w[points])


def _blocks(levels: Levels, size: int) -> Iterator[tuple[int, int, bool]]:
    """Cut sorted levels into runs of about `size` that never cut a level.

    Yields start, stop and whether the run holds more than one level.
    """
    starts = np.flatnonzero(np.diff(levels, prepend=-1))
    stops = np.append(starts[1:], len(levels))
    start = 0
    while start < len(levels):
        # The last level that still fits, but at least one.
        fits = np.searchsorted(stops, start + size, side="right") - 1
        stop = int(stops[max(fits, np.searchsorted(stops, start, side="right"))])
        yield start, stop, bool(levels[start] != levels[stop - 1])
        start = stop


def _block_labels(levels: Levels, size: int) -> tuple[Levels, list[Levels]]:
    """Return the run of each point, and the points of runs of several levels."""
    order = np.argsort(levels, kind="stable")
    labels = np.empty(len(levels), np.int64)
    mixed = []
    for number, (start, stop, several) in enumerate(_blocks(levels[order], size)):
        labels[order[start:stop]] = number
        if several:
            mixed.append(order[start:stop])
    return labels, mixed


def _block_sums(
    h: Levels, x: Levels, w: Floats, weighted_ranks: Floats | None
) -> Array:
    """Return C - D (ordered pairs) and the products of ranks, shape (2, B)."""
    B = w.shape[1]
    size = BLOCK_POINTS
    values, mixed = _human_buckets(h)
    n_values = int(values.max()) + 1
    order = np.argsort(x, kind="stable")
    x_block = np.empty(len(x), np.int64)
    net = np.zeros((n_values, B), w.dtype)  # weight before, below minus above
    before = np.zeros(B)
    pairs, ranks = np.zeros(B), np.zeros(B)
    steps = np.arange(n_values)[:, None]
    for number, (start, stop, several) in enumerate(_blocks(x[order], size)):
        points = order[start:stop]
        x_block[points] = number
        own, at = w[points], values[points]
        partners = net[at]
        move = np.sign(steps - at).astype(w.dtype)
        inside = None
        if several:
            sx = np.sign(x[points, None] - x[points]).astype(w.dtype)
            sh = np.sign(h[points, None] - h[points]).astype(w.dtype)
            stacked = np.concatenate([move, np.maximum(sx, 0) * sh, sx]) @ own
            net += stacked[:n_values]
            partners += stacked[n_values : n_values + len(points)]
            inside = stacked[n_values + len(points) :]
        else:
            net += move @ own
        pairs += np.einsum("pb,pb->b", own, partners, dtype=np.float64)
        weight = own.sum(axis=0, dtype=np.float64)
        if weighted_ranks is not None:
            rank = weighted_ranks[points]
            ranks += (2 * before + weight) * rank.sum(axis=0, dtype=np.float64)
            if inside is not None:
                ranks += np.einsum("pb,pb->b", rank, inside, dtype=np.float64)
        before += weight
    for points in mixed:
        apart = (x_block[points, None] > x_block[points]) * np.sign(
            h[points, None] - h[points]
        )
        partners = apart.astype(w.dtype) @ w[points]
        pairs += np.einsum("pb,pb->b", w[points], partners, dtype=np.float64)
    # The sum of all weighted ranks is 0, so n drops out of 2 before + own - n.
    return np.stack([2 * pairs, ranks])


def _human_buckets(h: Levels) -> tuple[Levels, list[Levels]]:
    """Join people's values into at most some hundred buckets.

    Returns the bucket of each point, and the points of buckets of several values.
    """
    if h.max(initial=0) < 3 * BLOCK_POINTS:
        return h, []
    return _block_labels(h, max(BLOCK_POINTS, len(h) // BLOCK_POINTS))
