"""Sums over weighted pairs of points, and over their ranks."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from analysis.inference.parallel import THREADS, in_threads
from analysis.results import NAN, Array

# float32 holds whole numbers below this exactly.
EXACT = 2**24

Floats = npt.NDArray[np.floating[Any]]
Levels = npt.NDArray[np.int64]
Signs = npt.NDArray[np.int8]


@dataclass(frozen=True)
class Ties:
    """Weights summed over points of equal value, each of shape (..., G, B)."""

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
    """Sums behind Kendall's and Spearman's coefficients, (1 + K, 6, G, B).

    People come first. Of each: C - D, the products of ranks, and the sums of `Ties`.
    """

    sums: Array

    @property
    def pairs(self) -> Array:
        return np.asarray(self.sums[1:, 0])

    @property
    def ranks(self) -> Array:
        return np.asarray(self.sums[1:, 1])

    @property
    def human(self) -> Ties:
        return Ties(*self.sums[0, 2:])

    @property
    def metric(self) -> Ties:
        return Ties(*self.sums[1:, 2:].swapaxes(0, 1))


def dense_levels(values: Array | Levels) -> Levels:
    """Replace values by whole numbers of the same order, from 0 on."""
    order = np.unique(values, return_inverse=True)[1]
    return np.asarray(order.reshape(values.shape), np.int64)


def signs_of(values: Floats | Levels) -> Signs:
    """Compare all values with each other: (..., n) to (..., n, n)."""
    rows, columns = values[..., :, None], values[..., None, :]
    more, less = rows > columns, rows < columns
    return np.asarray(more.view(np.int8) - less.view(np.int8))


# Points of one block, and blocks at a time: a processor's cache holds them.
BLOCK_POINTS = 48
BLOCKS_AT_ONCE = 16
# Buckets of people's values. Without any, the work is about points x squared values; up
# to `LEAST_WORK` that takes less time than buckets.
BUCKETS = 16
LEAST_WORK = 2**22


@dataclass(frozen=True)
class Blocks:
    """Points of few values in the order of a metric, c blocks of n."""

    points: Levels
    kernels: Signs

    @property
    def n_values(self) -> int:
        return int(self.kernels.shape[1] - self.kernels.shape[2])


def blocks_of(h: Levels, x: Levels) -> list[Blocks]:
    """Cut points of people's values `h` and scores `x` into blocks."""
    order = np.lexsort((h, x))
    return _parts(order, h[order])


def _parts(points: Levels, h: Levels) -> list[Blocks]:
    n_values = int(h.max()) + 1
    small = len(h) <= BLOCK_POINTS or len(h) * n_values**2 < LEAST_WORK
    if small or n_values <= 2 * BUCKETS:
        return [_cut(points, h)]
    buckets = _buckets(h)
    found = [_cut(points, buckets)]
    for bucket in range(int(buckets.max()) + 1):
        own = np.flatnonzero(buckets == bucket)
        values = h[own] - h[own].min()
        if values.any():
            found += _parts(points[own], values)
    return found


def _buckets(h: Levels) -> Levels:
    """Join neighbouring values into at most `BUCKETS` of about as many points."""
    sizes = np.bincount(h)
    middles = np.cumsum(sizes) - sizes / 2
    return dense_levels((middles * BUCKETS / len(h)).astype(np.int64))[h]


def _cut(points: Levels, h: Levels) -> Blocks:
    n, n_values = min(BLOCK_POINTS, len(h)), int(h.max()) + 1
    # The last block is filled up; a value that is no number equals and exceeds none.
    count = -(-len(h) // n)
    places, values = (
        np.zeros((count, n), np.int64),
        np.full((count, n), NAN, np.float32),
    )
    places.flat[: len(h)], values.flat[: len(h)] = points, h
    kernels = np.empty((count, n_values + n, n), np.int8)
    steps = np.arange(n_values, dtype=np.float32)
    kernels[:, :n_values] = steps[:, None] == values[:, None]
    kernels[:, n_values:] = signs_of(values) * np.tri(n, dtype=np.int8)
    return Blocks(places, kernels)


def block_pairs(blocks: Blocks, w: Floats, most: float) -> Array:
    """Compare every point with those before it: C - D, (B,)."""
    n_values = blocks.n_values
    steps = np.arange(n_values)
    below = np.sign(steps[:, None] - steps).astype(w.dtype)
    before = np.zeros((n_values, w.shape[1]), w.dtype)
    pairs = np.zeros(w.shape[1])
    for start in range(0, len(blocks.points), BLOCKS_AT_ONCE):
        some = slice(start, start + BLOCKS_AT_ONCE)
        own = w[blocks.points[some]]
        sums = blocks.kernels[some].astype(w.dtype) @ own
        by_value, inside = sums[:, :n_values], sums[:, n_values:]
        earlier = np.empty((len(sums) + 1, *before.shape), w.dtype)
        earlier[0] = before
        for block, found in enumerate(by_value):
            np.add(earlier[block], found, out=earlier[block + 1])
        largest = float((earlier[-1] - before).sum(axis=0).max(initial=0.0))
        pairs += products(own, inside, largest**2)
        pairs += products(by_value, below @ earlier[:-1], largest * most)
        before = earlier[-1]
    return pairs


def products(w: Floats, values: Floats, largest: float) -> Array:
    """Sum weights times whole numbers over blocks of points, (blocks, n, B) to (B,)."""
    dtype = w.dtype if largest < EXACT else np.dtype(np.float64)
    return np.asarray(np.einsum("cpb,cpb->b", w, values, dtype=dtype), np.float64)


# Weights at a time.
BLOCK_WEIGHTS = 512
# Points of one block where ranks are summed.
RANK_POINTS = 64


def many_sums(human: Array, scores: Array, weights: Floats, *, spearman: bool) -> Array:
    """Return the sums of `RankSums`; parameters as in `kendall.rank_sums`."""
    G, B, _N = weights.shape
    levels = [[dense_levels(side[g]) for side in (human, *scores)] for g in range(G)]
    step = min(BLOCK_WEIGHTS, -(-max(B, 1) // THREADS))
    starts = range(0, max(B, 1), step)

    def part(place: tuple[int, int]) -> Array:
        g, start = place
        w = np.ascontiguousarray(weights[g, start : start + step].T)
        return _group_sums(levels[g], w, spearman=spearman)

    parts = in_threads(part, itertools.product(range(G), starts))
    n = len(starts)
    groups = [parts[g : g + n] for g in range(0, len(parts), n)]
    return np.stack([np.concatenate(own, axis=2) for own in groups], axis=2)


def _group_sums(levels: list[Levels], w: Floats, *, spearman: bool) -> Array:
    """Return the sums of one group, shape (1 + K, 6, B)."""
    h, *x = levels
    total = w.sum(axis=0, dtype=np.float64)
    most = float(total.max(initial=0.0))
    is_exact = most * float(w.max(initial=0.0)) < EXACT
    w = w.astype(np.float32 if is_exact else np.float64, copy=False)
    by_value = _summed(w, h).astype(np.float64)
    nothing = np.zeros(w.shape[1])
    rows = [np.stack([nothing, nothing, *_powers(by_value)])]
    if spearman:
        before = np.cumsum(by_value, axis=0) - by_value
        centred = 2 * before + by_value - total
        weighted_ranks = w * centred.astype(w.dtype)[h]
    for own in x:
        ties = _powers(_summed(w, own))
        both = _summed(w, dense_levels(own * len(h) + h))
        # Points that tie stand in people's order there: each pair of them counts as C.
        net = sum(block_pairs(blocks, w, most) for blocks in blocks_of(h, own))
        tied_alone = ties[1] - np.einsum("pb,pb->b", both, both, dtype=np.float64)
        ranks = nothing
        if spearman:
            ranks = _rank_products(own, w, total, weighted_ranks)
        rows.append(np.stack([2 * net - tied_alone, ranks, *ties]))
    return np.stack(rows)


def _summed(w: Floats, levels: Levels) -> Floats:
    """Sum weights (N, B) over points of equal level: (levels, B)."""
    ones = np.ones(len(levels), w.dtype)
    add = sparse.csr_array((ones, (levels, np.arange(len(levels)))))
    return np.asarray(add @ w)


def _powers(t: Floats) -> Array:
    """Return the sums of t, t^2, t^3 and the number of t > 0, shape (4, B)."""
    wide = t.astype(np.float64)
    return np.stack([*((wide**k).sum(axis=0) for k in (1, 2, 3)), (t > 0).sum(axis=0)])


def _blocks(levels: Levels, size: int) -> Iterator[tuple[int, int, bool]]:
    """Cut sorted levels into runs of about `size` that never cut a level."""
    starts = np.flatnonzero(np.diff(levels, prepend=-1))
    stops = np.append(starts[1:], len(levels))
    start = 0
    while start < len(levels):
        # The last level that still fits, but at least one.
        fits = np.searchsorted(stops, start + size, side="right") - 1
        stop = int(stops[max(fits, np.searchsorted(stops, start, side="right"))])
        yield start, stop, bool(levels[start] != levels[stop - 1])
        start = stop


def _rank_products(x: Levels, w: Floats, total: Array, weighted_ranks: Floats) -> Array:
    """Sum people's weighted ranks times those of the metric, (B,)."""
    order = np.argsort(x, kind="stable")
    before, ranks = np.zeros((2, w.shape[1]))
    for start, stop, several in _blocks(x[order], RANK_POINTS):
        points = order[start:stop]
        own = w[points]
        weight = own.sum(axis=0)
        metric = (2 * before + weight - total).astype(w.dtype)[None]
        if several:
            metric = metric + signs_of(x[points]).astype(w.dtype) @ own
        ranks += np.einsum("pb,pb->b", weighted_ranks[points], metric, dtype=np.float64)
        before += weight
    return ranks
