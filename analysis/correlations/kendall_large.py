"""Sums over pairs in groups of many points, cut into blocks in the order of a metric."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from analysis.correlations.weighted_sums import (
    EXACT,
    CellWeights,
    Floats,
    Levels,
    RankSums,
    Signs,
    Ties,
    dense_levels,
    signs_of,
)
from analysis.inference.parallel import THREADS, in_threads
from analysis.results import NAN, Array

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
# With fewer weights a sum, sums are made at once, else one by one (faster by far).
WEIGHTS_OF_A_SUM = 500
# Where more points than this share of them tie, all are summed.
MOST_SHARED = 0.5


def many_sums(
    human: Array, scores: Array, weights: Floats | CellWeights, *, spearman: bool
) -> RankSums:
    """Cut points into blocks in the order of each metric."""
    K, (G, B, _N) = len(scores), weights.shape
    h = [dense_levels(human[g]) for g in range(G)]
    x = [[dense_levels(scores[k, g]) for k in range(K)] for g in range(G)]
    step = min(BLOCK_WEIGHTS, -(-max(B, 1) // THREADS))

    def part(place: tuple[int, int]) -> Array:
        g, start = place
        w = _some(weights, g, slice(start, start + step))
        return _group_sums(h[g], x[g], w, spearman=spearman)

    starts = range(0, max(B, 1), step)
    parts = in_threads(part, itertools.product(range(G), starts))
    sums = np.stack(
        [
            np.concatenate(parts[g : g + len(starts)], axis=2)
            for g in range(0, len(parts), len(starts))
        ],
        axis=2,
    )  # (1 + K, 6, G, B)
    human_ties, metric_ties = (
        Ties(*own) for own in (sums[0, 2:], sums[1:, 2:].swapaxes(0, 1))
    )
    ranks = sums[1:, 1] if spearman else np.empty((0, G, B))
    return RankSums(sums[1:, 0], ranks, human_ties, metric_ties)


def _some(weights: Floats | CellWeights, g: int, draws: slice) -> Floats:
    """Return weights of the points of a group in some draws, (N, draws)."""
    if isinstance(weights, CellWeights):
        return weights.some(draws)
    return np.ascontiguousarray(weights[g, draws].T)


def _group_sums(h: Levels, x: list[Levels], w: Floats, *, spearman: bool) -> Array:
    """Return C - D, rank products, n, t^2, t^3 and values, shape (1 + K, 6, B)."""
    alone = _powers(w, cubes=spearman)
    largest = float(alone[0].max(initial=0.0)) * float(w.max(initial=0.0))
    w = w.astype(np.float32 if largest < EXACT else np.float64, copy=False)
    if spearman:
        by_value = _summed(w, h).astype(np.float64)
        before = np.cumsum(by_value, axis=0) - by_value
        centred = 2 * before + by_value - alone[0]
        weighted_ranks = w * centred.astype(w.dtype)[h]
    ties, nothing = _tie_sums(h, w, alone, cubes=spearman), np.zeros(w.shape[1])
    rows = [np.stack([nothing, nothing, *ties])]
    most = float(alone[0].max(initial=0.0))
    for levels in x:
        ties = _tie_sums(levels, w, alone, cubes=spearman)
        both = _tie_sums(dense_levels(levels * len(h) + h), w, alone, cubes=False)
        # Points that tie stand in people's order there: each pair of them counts as C.
        net = sum(block_pairs(blocks, w, most) for blocks in blocks_of(h, levels))
        pairs = 2 * net - (ties[1] - both[1])
        ranks = nothing
        if spearman:
            ranks = _rank_products(levels, w, alone[0], weighted_ranks)
        rows.append(np.stack([pairs, ranks, *ties]))
    return np.stack(rows)


def _summed(w: Floats, levels: Levels) -> Floats:
    """Sum weights (N, B) over points of equal level: (levels, B)."""
    order = np.argsort(levels, kind="stable")
    bounds = np.searchsorted(levels[order], np.arange(levels.max(initial=-1) + 2))
    if w.size < WEIGHTS_OF_A_SUM * (len(bounds) - 1):
        return np.asarray(np.add.reduceat(w[order], bounds[:-1], axis=0))
    found = np.empty((len(bounds) - 1, w.shape[1]), w.dtype)
    for level in range(len(found)):
        rows = order[bounds[level] : bounds[level + 1]]
        np.add.reduce(w[rows], axis=0, out=found[level])
    return found


def _powers(w: Floats, *, cubes: bool) -> Array:
    """Return the sums of w, w^2, w^3 and the number of w > 0, shape (4, B)."""
    highest = float(w.max(initial=0.0))
    exact = len(w) * highest < EXACT
    found = np.zeros((4, w.shape[1]))
    found[0] = w.sum(axis=0, dtype=w.dtype if exact else np.float64)
    found[1] = products(w[None], w[None], float(found[0].max(initial=0.0)) * highest)
    if cubes:
        found[2] = np.einsum("pb,pb,pb->b", w, w, w, dtype=np.float64)
    # A small type: half of the time of `count_nonzero`.
    found[3] = np.sum(w > 0, axis=0, dtype=np.int32)
    return found


def _tie_sums(levels: Levels, w: Floats, alone: Array, *, cubes: bool) -> Array:
    """Return n and the sums of t^2, t^3 and 1 over the levels, shape (4, B)."""
    shared = np.bincount(levels)[levels] > 1
    if not shared.any():
        return alone
    if shared.mean() > MOST_SHARED:
        return _powers(_summed(w, levels), cubes=cubes)
    points = np.flatnonzero(shared)
    summed = _summed(w[points], dense_levels(levels[points]))
    return alone + _powers(summed, cubes=cubes) - _powers(w[points], cubes=cubes)


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
