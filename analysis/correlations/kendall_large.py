"""Sums over pairs in groups of many points, cut into blocks.

Blocks follow the order of the metric, which does not depend on weights. Pairs inside a
block are compared by their signs; pairs of two blocks by sums of weights over people's
values. Where there are many values, neighbours share a bucket, and the points of each
bucket are compared in the same way again.
"""

import itertools
from collections.abc import Iterator

import numpy as np

from analysis.correlations.kendall_blocks import block_pairs, blocks_of, products
from analysis.correlations.weighted_sums import (
    EXACT,
    CellWeights,
    Floats,
    Levels,
    RankSums,
    Ties,
    dense_levels,
    signs_of,
)
from analysis.inference.parallel import THREADS, in_threads
from analysis.results import Array

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
    """Cut points into blocks in the order of each metric.

    Parameters as in `kendall.rank_sums`.
    """
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
    """Return C - D, rank products, n, t^2, t^3 and values, shape (1 + K, 6, B).

    The first row is people's own, without the first two.
    """
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
    """Return n and the sums of t^2, t^3 and 1 over the levels, shape (4, B).

    `alone` has the same sums over points; only those of shared levels change.
    """
    shared = np.bincount(levels)[levels] > 1
    if not shared.any():
        return alone
    if shared.mean() > MOST_SHARED:
        return _powers(_summed(w, levels), cubes=cubes)
    points = np.flatnonzero(shared)
    summed = _summed(w[points], dense_levels(levels[points]))
    return alone + _powers(summed, cubes=cubes) - _powers(w[points], cubes=cubes)


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
