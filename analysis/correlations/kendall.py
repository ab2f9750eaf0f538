"""Sums over weighted pairs and ranks, for many weights at once.

A bootstrap resample is the same data with whole-number weights, and the coefficients of
Kendall and Spearman are sums over pairs of weighted points. All sums here are whole
numbers, so they are exact and do not depend on the order of the points.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from analysis.inference.resampling import in_threads
from analysis.results import Array

# float32 holds whole numbers below this exactly.
EXACT = 2**24

Floats = npt.NDArray[np.floating[Any]]
Levels = npt.NDArray[np.int64]


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


# Groups of at most this many points compare all pairs by one table of signs.
FEW_POINTS = 128
# Metrics at a time, which bounds memory as well.
METRICS_AT_ONCE = 25
# Elements of pairwise signs at a time; they bound memory, not results.
BLOCK = 2_000_000
# Points that are compared with all others at a time.
ROWS = 256


def rank_sums(
    human: Array, scores: Array, weights: Floats, *, spearman: bool = True
) -> RankSums:
    """Sum over pairs and ranks in every group and under every weighting.

    Shapes are (G, N), (K, G, N) and (G, B, N). Many points are cut into blocks; the
    cost is N (block + values) B instead of N^2 B.
    """
    sums = few_sums if weights.shape[2] <= FEW_POINTS else many_sums
    first, *others = (
        sums(human, scores[k : k + METRICS_AT_ONCE], weights, spearman=spearman)
        for k in range(0, max(len(scores), 1), METRICS_AT_ONCE)
    )
    return RankSums(np.concatenate([first, *(own[1:] for own in others)]))


def few_sums(human: Array, scores: Array, weights: Floats, *, spearman: bool) -> Array:
    """Compare all pairs of points of a group by one table of signs."""
    K, (G, B, N) = len(scores), weights.shape
    largest = float(weights.sum(axis=2).max(initial=0.0))
    # Sums reach n^3 with ranks, n^2 without.
    exact = largest ** (3 if spearman else 2) < EXACT
    dtype: type[np.floating[Any]] = np.float32 if exact else np.float64
    levels = [dense_levels(side).astype(dtype) for side in (human, *scores)]
    values: Floats = np.stack(levels)
    step = max(1, BLOCK // max((2 * K + 1) * N * max(N, B), 1))

    def part(start: int) -> Array:
        groups = slice(start, min(start + step, G))
        w = weights[groups].transpose(0, 2, 1).astype(dtype)
        return _signed_sums(values[:, groups], w, spearman=spearman)

    return np.concatenate(in_threads(part, range(0, max(G, 1), step)), axis=2)


def _signed_sums(values: Floats, w: Floats, *, spearman: bool) -> Array:
    """Compare all pairs of points: values (1 + K, G, N), w (G, N, B)."""
    signs = np.sign(values[..., :, None] - values[..., None, :])
    pairs = _total(_partners(signs * signs[0], w), w)
    ranks = np.zeros_like(pairs)
    if spearman:
        partners = _partners(signs, w)
        ranks = _total(partners, w * partners[:, 0])
    return np.stack([pairs, ranks, *_ties_of(signs, w)], axis=1)


def _partners(kernel: Floats, w: Floats) -> Floats:
    """Sum a kernel (k, G, N, N) over weighted partners: (G, k, N, B)."""
    k, G, N, _N = kernel.shape
    rows = kernel.transpose(1, 0, 2, 3).reshape(G, k * N, N)
    return np.asarray(np.matmul(rows, w).reshape(G, k, N, w.shape[2]))


def _total(values: Floats, w: Floats) -> Array:
    """Sum values (G, k, N, B) over weighted points: (k, G, B)."""
    return np.asarray(np.einsum("gknb,gnb->kgb", values, w), np.float64)


def _ties_of(signs: Floats, w: Floats) -> list[Array]:
    """Sum t, t^2, t^3 and 1 over equal values, from signs (k, G, N, N)."""
    wide = w.astype(np.float64)
    alone = [(wide**power).sum(axis=1) for power in (1, 2, 3)]
    alone.append(np.count_nonzero(w, axis=1).astype(np.float64))
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
    return [total, squares, cubes, values]


def many_sums(human: Array, scores: Array, weights: Floats, *, spearman: bool) -> Array:
    """Compare the points of a group, some at a time, with all of them."""
    groups = [
        _group_sums(
            [dense_levels(side[g]) for side in (human, *scores)],
            np.ascontiguousarray(weights[g].T, np.float64),
            spearman=spearman,
        )
        for g in range(len(weights))
    ]
    return np.stack(groups, axis=2)


def _group_sums(levels: list[Levels], w: Array, *, spearman: bool) -> Array:
    """Return the sums of one group, shape (1 + K, 6, B)."""
    people = levels[0]
    ranked = w * _centred_ranks(_summed(w, people))[people] if spearman else w
    untied = _tie_sums(w)

    def own_sums(own: Levels) -> Array:
        by_value = _summed(w, own)
        ranks = np.zeros(w.shape[1])
        if spearman and own is not people:
            middle = _centred_ranks(by_value)
            ranks = np.einsum("nb,nb->b", _summed(ranked, own), middle)
        ties = untied if len(by_value) == len(w) else _tie_sums(by_value)
        return np.stack([ranks, *ties])

    sums = np.stack(in_threads(own_sums, levels))
    return np.concatenate([_pair_sums(levels, w)[:, None], sums], axis=1)


def _pair_sums(levels: list[Levels], w: Array) -> Array:
    """Return C - D of people (0) and of each metric, (1 + K, B).

    Points whose weights are the same in every resample, as those of a story that is
    drawn as a whole, are summed before they are weighted.
    """
    N, B = w.shape
    known: dict[bytes, int] = {}
    alike = np.array([known.setdefault(row.tobytes(), len(known)) for row in w], int)
    order = np.argsort(alike, kind="stable")
    starts = np.searchsorted(alike[order], np.arange(len(known)))
    merged = 2 * len(starts) <= N
    w = w[order]
    # Sums over all partners of a point are whole numbers of at most twice the total.
    exact = 2 * float(w.sum(axis=0).max(initial=0.0)) < EXACT
    partners = w.astype(np.float32 if exact else np.float64)
    human, *metrics = (own[order].astype(np.min_scalar_type(-N)) for own in levels)
    step = max(1, min(BLOCK // N, ROWS))

    def block(start: int) -> Array:
        # Both orders of two points count at once, unless points are merged.
        others = slice(0 if merged else start, N)
        rows = slice(start, start + step)
        first = np.sign(human[rows, None] - human[others])

        def compared(own: Levels) -> Array:
            signs = np.sign(own[rows, None] - own[others]) * first
            if merged:
                kernel = np.add.reduceat(signs, starts, axis=1, dtype=partners.dtype)
                sums = kernel @ partners[starts]
            else:
                kernel = signs.astype(partners.dtype)
                kernel[:, step:] *= 2
                sums = kernel @ partners[others]
            return np.asarray(np.einsum("nb,nb->b", w[rows], sums))

        return np.reshape(in_threads(compared, metrics), (len(metrics), B))

    found = sum(map(block, range(0, N, step)), np.zeros((len(metrics), B)))
    return np.concatenate([np.zeros((1, B)), found])


def _tie_sums(by_value: Array) -> list[Array]:
    """Sum t, t^2, t^3 and 1 over the weights of equal values, (levels, B)."""
    squares = by_value * by_value
    sums = [part.sum(axis=0) for part in (by_value, squares, squares * by_value)]
    return [*sums, np.count_nonzero(by_value, axis=0).astype(float)]


def _summed(w: Array, levels: Levels) -> Array:
    """Sum weights (N, B) over points of equal level: (levels, B)."""
    add = sparse.csr_array((np.ones(len(levels)), (levels, np.arange(len(levels)))))
    return np.asarray(add @ w)


def _centred_ranks(by_value: Array) -> Array:
    """Return the doubled rank of each value about the mean, (levels, B)."""
    return np.asarray(2 * np.cumsum(by_value, axis=0) - by_value - by_value.sum(axis=0))
