"""Sums over pairs in groups of many points, cut into blocks.

Blocks follow the order of the metric, which does not depend on weights. Pairs inside a
block are compared by their signs; pairs of two blocks by sums of weights over people's
values, of which there are few; where there are many, neighbouring values share a sum
and pairs inside it are compared by their signs.
"""

import itertools
from collections.abc import Iterator

import numpy as np

from analysis.coefficients.weighted import (
    EXACT,
    Floats,
    Levels,
    RankSums,
    Ties,
    dense_levels,
)
from analysis.parallel import THREADS, in_threads
from analysis.results import Array

# Points of one block, and weights at a time.
BLOCK_POINTS = 128
BLOCK_WEIGHTS = 512
# With fewer points a sum, sums are made at once, else one by one (faster by far).
POINTS_OF_A_SUM = 8


def many_sums(
    human: Array, scores: Array, weights: Floats, *, spearman: bool
) -> RankSums:
    """Cut points into blocks in the order of each metric.

    Parameters as in `ranksums.rank_sums`.
    """
    K, (G, B, _N) = len(scores), weights.shape
    h = [dense_levels(human[g]) for g in range(G)]
    x = [[dense_levels(scores[k, g]) for k in range(K)] for g in range(G)]
    step = min(BLOCK_WEIGHTS, -(-max(B, 1) // THREADS))

    def part(place: tuple[int, int]) -> Array:
        g, start = place
        w = weights[g, start : start + step]
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


def _group_sums(
    h: Levels, x: list[Levels], weights: Floats, *, spearman: bool
) -> Array:
    """Return C - D, rank products, n, t^2, t^3 and values, shape (1 + K, 6, B).

    The first row is people's own, without the first two.
    """
    w = np.ascontiguousarray(weights.T)
    alone = _powers(w, cubes=spearman)
    largest = float(alone[0].max(initial=0.0)) * float(w.max(initial=0.0))
    w = w.astype(np.float32 if largest < EXACT else np.float64, copy=False)
    weighted_ranks = None
    if spearman:
        by_value = _summed(w, h).astype(np.float64)
        before = np.cumsum(by_value, axis=0) - by_value
        centred = 2 * before + by_value - alone[0]
        weighted_ranks = w * centred.astype(w.dtype)[h]
    ties = _tie_sums(h, w, alone, cubes=spearman)
    rows = [np.concatenate([np.zeros((2, w.shape[1])), ties])]
    for levels in x:
        both = _block_sums(h, levels, w, alone[0], weighted_ranks)
        ties = _tie_sums(levels, w, alone, cubes=spearman)
        rows.append(np.concatenate([both, ties]))
    return np.stack(rows)


def _summed(w: Floats, levels: Levels) -> Floats:
    """Sum weights (N, B) over points of equal level: (levels, B)."""
    order = np.argsort(levels, kind="stable")
    bounds = np.searchsorted(levels[order], np.arange(levels.max(initial=-1) + 2))
    if len(levels) < POINTS_OF_A_SUM * (len(bounds) - 1):
        return np.asarray(np.add.reduceat(w[order], bounds[:-1], axis=0))
    found = np.empty((len(bounds) - 1, w.shape[1]), w.dtype)
    for level in range(len(found)):
        rows = order[bounds[level] : bounds[level + 1]]
        np.add.reduce(w[rows], axis=0, out=found[level])
    return found


def _powers(w: Floats, *, cubes: bool) -> Array:
    """Return the sums of w, w^2, w^3 and the number of w > 0, shape (4, B)."""
    found = np.zeros((4, w.shape[1]))
    found[0] = w.sum(axis=0, dtype=np.float64)
    largest = float(found[0].max(initial=0.0)) * float(w.max(initial=0.0))
    found[1] = _products(w, w, largest)
    if cubes:
        found[2] = np.einsum("pb,pb,pb->b", w, w, w, dtype=np.float64)
    found[3] = np.count_nonzero(w, axis=0)
    return found


def _products(w: Floats, values: Floats, largest: float) -> Array:
    """Sum weights times whole numbers over points, in single precision if exact.

    No sum is above `largest` in size.
    """
    dtype = w.dtype if largest < EXACT else np.dtype(np.float64)
    return np.asarray(np.einsum("pb,pb->b", w, values, dtype=dtype), np.float64)


def _tie_sums(levels: Levels, w: Floats, alone: Array, *, cubes: bool) -> Array:
    """Return n and the sums of t^2, t^3 and 1 over the levels, shape (4, B).

    `alone` has the same sums over points; only those of shared levels change.
    """
    shared = np.bincount(levels)[levels] > 1
    if not shared.any():
        return alone
    if shared.all():
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
    h: Levels, x: Levels, w: Floats, total: Array, weighted_ranks: Floats | None
) -> Array:
    """Return C - D (ordered pairs) and the products of ranks, shape (2, B).

    `total` is the sum of w over points, (B,).
    """
    most = float(total.max(initial=0.0))
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
            kernels = [move, np.maximum(sx, 0) * sh]
            if weighted_ranks is not None:
                kernels.append(sx)
            stacked = np.concatenate(kernels) @ own
            net += stacked[:n_values]
            partners += stacked[n_values : n_values + len(points)]
            inside = stacked[n_values + len(points) :]
        else:
            net += move @ own
        weight = own.sum(axis=0, dtype=np.float64)
        pairs += _products(own, partners, most * float(weight.max(initial=0.0)))
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
