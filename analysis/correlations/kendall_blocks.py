"""Pairs of many points, cut into blocks in the order of a metric.

Pairs inside a block are compared by their signs; pairs of two blocks by sums of weights
over people's values.
"""

from dataclasses import dataclass

import numpy as np

from analysis.correlations.weighted_sums import (
    EXACT,
    Floats,
    Levels,
    Signs,
    dense_levels,
    signs_of,
)
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
    """Cut points of people's values `h` and scores `x` into blocks.

    Where there are many values, neighbours share a bucket, and the points of each
    bucket are cut in the same way again. Points of equal score stand in the order of
    people's values: pairs of them count as concordant.
    """
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
    """Join neighbouring values into at most `BUCKETS` of about as many points.

    Two values at least stay apart.
    """
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
    """Compare every point with those before it: C - D, (B,).

    Those of other blocks by sums of weights over values; no sum is above `most`.
    """
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
    """Sum weights times whole numbers over blocks of points, (blocks, n, B) to (B,).

    In single precision if exact: no sum is above `largest` in size.
    """
    dtype = w.dtype if largest < EXACT else np.dtype(np.float64)
    return np.asarray(np.einsum("cpb,cpb->b", w, values, dtype=dtype), np.float64)
