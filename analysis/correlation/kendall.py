"""Sums over weighted pairs and ranks, for many weights at once.

A bootstrap resample is the same data with whole-number weights, and Kendall's and
Spearman's coefficients are sums over pairs of weighted points. All sums here are
whole numbers, so they are exact and do not depend on the order of the points.
"""

from typing import Any

import numpy as np

from analysis.correlation.kendall_large import many_sums
from analysis.correlation.weighted_sums import (
    EXACT,
    CellWeights,
    Floats,
    RankSums,
    Ties,
    signs_of,
)
from analysis.inference.parallel import in_threads
from analysis.results import Array

# Groups of at most this many points compare all pairs by one table of signs.
FEW_POINTS = 128
# Elements of pairwise signs at a time; they bound memory, not results.
BLOCK = 2_000_000


def rank_sums(
    human: Array, scores: Array, weights: Floats | CellWeights, *, spearman: bool = True
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
    Few points: all signs of a group in one matrix product. Many points are cut into
    blocks; the cost is N (block + values) B instead of N^2 B.
    """
    if weights.shape[2] <= FEW_POINTS:
        return _few_sums(human, scores, np.asarray(weights), spearman=spearman)
    return many_sums(human, scores, weights, spearman=spearman)


def _few_sums(
    human: Array, scores: Array, weights: Floats, *, spearman: bool
) -> RankSums:
    """Compare all pairs of points of a group by one table of signs."""
    K, (G, B, N) = len(scores), weights.shape
    largest = float(weights.sum(axis=2).max(initial=0.0))
    # Sums reach n^3 with ranks, n^2 without.
    exact = largest ** (3 if spearman else 2) < EXACT
    dtype: type[np.floating[Any]] = np.float32 if exact else np.float64
    step = max(1, BLOCK // max((2 * K + 1) * N * max(N, B), 1))

    def part(start: int) -> RankSums:
        groups = slice(start, min(start + step, G))
        w = weights[groups].transpose(0, 2, 1).astype(dtype)
        return _signed_sums(human[groups], scores[:, groups], w, spearman=spearman)

    starts = range(0, max(G, 1), step)
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


def _signed_sums(h: Array, x: Array, w: Floats, *, spearman: bool) -> RankSums:
    """Compare all pairs of points: h (G, N), x (K, G, N), w (G, N, B)."""
    sh, sx = signs_of(h).astype(w.dtype), signs_of(x).astype(w.dtype)
    pairs = _total(_partners(sx * sh, w), w)
    ranks = np.empty((0, *pairs.shape[1:]))
    if spearman:
        ranks = _total(_partners(sx, w), w * _partners(sh[None], w)[:, 0])
    human = _ties_of(sh[None], w)
    own = Ties(human.total[0], human.squares[0], human.cubes[0], human.values[0])
    return RankSums(pairs, ranks, own, _ties_of(sx, w))


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
