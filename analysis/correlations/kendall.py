"""Sums over weighted pairs and ranks, for many weights at once."""

from typing import Any

import numpy as np

from analysis.correlations.kendall_large import many_sums
from analysis.correlations.weighted_sums import (
    EXACT,
    CellWeights,
    Floats,
    RankSums,
    Ties,
    column_signs,
    dense_levels,
    tie_sums,
)
from analysis.inference.parallel import in_threads
from analysis.results import Array

# Elements of pairwise signs at a time, with many weightings and with one; they bound
# memory, not results.
BLOCK = 2_000_000
BLOCK_OF_ONE = 16 * BLOCK


def few_sums(
    human: Array, scores: Array, weights: Floats, *, spearman: bool
) -> RankSums:
    """Compare all pairs of points of a group by one table of signs."""
    K, (G, B, N) = len(scores), weights.shape
    largest = float(weights.sum(axis=2).max(initial=0.0))
    # Sums reach n^3 with ranks, n^2 without.
    exact = largest ** (3 if spearman else 2) < EXACT
    dtype: type[np.floating[Any]] = np.float32 if exact else np.float64
    if B != 1:
        h: Floats = dense_levels(human).astype(dtype)
        x: Floats = np.stack([dense_levels(metric).astype(dtype) for metric in scores])
    block = BLOCK_OF_ONE if B == 1 else BLOCK
    step = max(1, block // max((2 * K + 1) * N * max(N, B), 1))

    def part(start: int) -> RankSums:
        groups = slice(start, min(start + step, G))
        w = weights[groups].transpose(0, 2, 1).astype(dtype)
        if B == 1:
            return _pair_sums(human[groups], scores[:, groups], w, spearman=spearman)
        return _signed_sums(h[groups], x[:, groups], w, spearman=spearman)

    starts = range(0, max(G, 1), step)
    if B == 1:
        # Many short operations: threads would wait for each other.
        return _joined([part(start) for start in starts])
    return _joined(in_threads(part, starts))


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


def _pair_sums(h: Array, x: Array, w: Floats, *, spearman: bool) -> RankSums:
    """Compare every pair once: what `_signed_sums` does, faster for one weighting."""
    K, G, N = x.shape
    i, j = np.triu_indices(N, 1)
    once = np.ascontiguousarray(w[:, :, 0].T)
    signs = [column_signs(np.ascontiguousarray(own.T)) for own in (h, *x)]
    weight = once[i] * once[j]
    present = weight > 0
    kernels = [signs[0] * weight]
    if spearman:
        full = np.sign(h[:, :, None] - h[:, None, :]).astype(w.dtype)
        rh = np.matmul(full, w)[:, :, 0].T
        kernels.append((rh[i] - rh[j]) * weight)
    sums = np.zeros((2, K, G))
    for k, own in enumerate(signs[1:]):
        sx = own.astype(w.dtype)
        for found_sums, kernel in zip(sums, kernels, strict=False):
            found_sums[k] = np.einsum("pg,pg->g", sx, kernel)
    ties = [
        np.stack([part] * (K + 1))
        for part in (
            once.sum(axis=0, dtype=np.float64),
            (once**2).sum(axis=0, dtype=np.float64),
            (once**3).sum(axis=0, dtype=np.float64),
            np.count_nonzero(once, axis=0).astype(np.float64),
        )
    ]
    for row, (values, compared) in enumerate(zip((h, *x), signs, strict=True)):
        tied = np.flatnonzero(((compared == 0) & present).any(axis=0))
        if len(tied):
            sums_of_ties = tie_sums(values[tied], w[tied, :, 0])
            for part, found in zip(ties[1:], sums_of_ties, strict=True):
                part[row, tied] = found
    return RankSums(
        2 * sums[0][:, :, None],
        sums[1, :, :, None] if spearman else np.empty((0, G, 1)),
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
        wide.sum(axis=1),
        (wide**2).sum(axis=1),
        (wide**3).sum(axis=1),
        np.count_nonzero(w, axis=1).astype(np.float64),
    )
    total, squares, cubes, values = (np.stack([part] * len(signs)) for part in alone)
    equal = signs == 0
    tied = np.flatnonzero(equal.sum(axis=(1, 2, 3)) > w.shape[0] * w.shape[1])
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


# Groups of at most this many points compare all pairs by one table of signs.
FEW_POINTS = 128


def rank_sums(
    human: Array, scores: Array, weights: Floats | CellWeights, *, spearman: bool = True
) -> RankSums:
    """Sum over pairs and ranks in every group and under every weighting."""
    if weights.shape[2] <= FEW_POINTS:
        return few_sums(human, scores, np.asarray(weights), spearman=spearman)
    return many_sums(human, scores, weights, spearman=spearman)
