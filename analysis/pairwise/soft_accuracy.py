"""Soft pairwise accuracy: whether a metric is as sure of method pairs as people."""

from collections.abc import Collection

import numpy as np
from scipy.special import ndtr

from analysis.inference.cluster_variance import (
    ClusterVariances,
    compared,
    variance_of_methods,
)
from analysis.inference.resampling import (
    cluster_counts,
    in_threads,
    interval,
    near_one,
    stream,
)
from analysis.options import Sampling
from analysis.reading.cells import CellGrid
from analysis.results import NAN, Array, Counts, Mask, TableRow
from analysis.sentences import sentence

# Random sign flips behind every p-value.
DRAWS = 1000
# Sums this close to the observed one, in relation to their size, are equal to it.
SLACK = 1e-9
# Pairs of methods whose resamples are held at once.
PAIRS_AT_ONCE = 256


def soft_pairwise_accuracy(
    grid: CellGrid, *, resamples: int, confidence: float, seed: int
) -> list[TableRow]:
    r"""Compare how sure people and each metric are that one method beats another.

    .. math:: SPA = 1 - \frac{1}{n} \sum_{i<j} |p^{human}_{ij} - p^{metric}_{ij}|

    where :math:`p_{ij}` is the one-sided p-value of a paired permutation test that
    flips the sign of each story's difference (Thompson, Mathur, Deutsch and Khayrallah
    2024, WMT). With g flips above and e equal to the observed difference, itself
    included, :math:`p = (g + e/2) / (k + 1)`.

    The interval draws stories, with :math:`p = \Phi(-\sum d / \sqrt{\sum d^2})` in
    resamples; percentiles are moved up by the bias of these, and end at 1.
    """
    usable = [k for k, m in enumerate(grid.metrics) if m not in grid.method_level]
    if not usable:
        return []
    pair = shared_pairs(grid)
    n, n_stories = len(pair[0]), int((grid.cells.sum(axis=1) > 1).sum())
    reason = "" if n else sentence("no two methods have a story in common")
    if grid.human_is_method_level:
        n, reason = 0, sentence("ratings are method-level values, without stories")
    values, drawn = np.full(len(usable), NAN), np.empty((len(usable), 0))
    if not reason:
        sides = [grid.human, *grid.scores[usable]]
        values = _certain(sides, grid, pair, seed).mean(axis=1)
        if resamples and n_stories > 1:
            rng = stream(seed, "spa stories", grid.question)
            counts = cluster_counts(len(grid.stories), resamples, rng).astype(float)
            drawn = _in_resamples(sides, grid, pair, counts)
            once = np.ones((1, len(grid.stories)))
            bias = drawn.mean(axis=1) - _in_resamples(sides, grid, pair, once)[:, 0]
            drawn = np.minimum(drawn - bias[:, None], 1)
    rows: list[TableRow] = []
    for k, value, own in zip(usable, values, drawn, strict=True):
        low, high, why = interval(own, confidence)
        rows.append(
            {
                "question": grid.question,
                "metric": grid.metrics[k],
                "value": float(value),
                "low": low,
                "high": high,
                "n": n,
                "reason": reason or why,
                "n_stories": n_stories,
            }
        )
    return rows


PairCounts = tuple[Counts, Counts]


def shared_pairs(grid: CellGrid) -> PairCounts:
    """Return the pairs of methods that have a story in common."""
    together = grid.cells.astype(int).T @ grid.cells
    i, j = np.triu_indices(len(grid.methods), 1)
    shared = together[i, j] > 0
    return i[shared], j[shared]


def spa_differences(
    grid: CellGrid, *, sampling: Sampling, own: Collection[str] = ()
) -> list[TableRow]:
    """Compare metrics by soft pairwise accuracy: see `metric_pairs`."""
    usable = [k for k, m in enumerate(grid.metrics) if m not in grid.method_level]
    pair = shared_pairs(grid)
    if not usable or not len(pair[0]) or grid.human_is_method_level:
        return []
    sides = [grid.human, *grid.scores[usable]]
    certain = _certain(sides, grid, pair, sampling["seed"])
    values = certain.mean(axis=1)
    M, n, n_stories = len(grid.methods), len(pair[0]), len(grid.stories)
    i, j = np.triu_indices(M, 1)
    apart = np.zeros((len(usable), len(i)))
    place = np.isin(i * M + j, pair[0] * M + pair[1])
    apart[:, place] = (certain - values[:, None]) * len(i) / n

    step = 1 / (n * (DRAWS + 1))

    def variances(a: int, b: int) -> ClusterVariances:
        of_methods = variance_of_methods(apart[a] - apart[b], M)
        return ClusterVariances(of_methods, NAN, NAN, M, n_stories, step, ("methods",))

    names = [grid.metrics[k] for k in usable]
    rows = compared(values, names, variances, sampling, own)
    keys = {"question": grid.question, "source": "ratings", "statistic": "spa", "n": n}
    return [keys | row for row in rows]


def _certain(sides: list[Array], grid: CellGrid, pair: PairCounts, seed: int) -> Array:
    """Return how near metrics' p-values are to people's, the first side's: (K, n)."""
    rng = stream(seed, "spa", grid.question)
    flips = rng.integers(0, 2, (DRAWS, len(grid.stories))) * 2 - 1
    signs = flips.astype(float)
    human, *metrics = in_threads(
        lambda values: _flipped_p(values, grid.cells, pair, signs), sides
    )
    return 1 - np.abs(human - np.array(metrics))


def _flipped_p(values: Array, cells: Mask, pair: PairCounts, flips: Array) -> Array:
    """Return the p-value of each pair of methods: how rarely flips reach the sum."""
    i, j = pair
    observed, size = np.zeros((2, len(i)))
    for m in np.unique(i):
        here = i == m
        shared = cells[:, [m]] & cells[:, j[here]]
        differences = np.where(shared, values[:, [m]] - values[:, j[here]], 0.0)
        observed[here] = differences.sum(axis=0)
        size[here] = np.abs(differences).sum(axis=0)
    apart = _flipped_sums(values, cells, pair, flips)
    apart -= observed[:, None]
    slack = (SLACK * size)[:, None]
    above = np.count_nonzero(apart > slack, axis=1)
    reached = np.count_nonzero(apart >= -slack, axis=1)
    return np.asarray((above + (reached - above + 1) / 2) / (len(flips) + 1))


def _flipped_sums(values: Array, cells: Mask, pair: PairCounts, flips: Array) -> Array:
    """Sum the flipped differences of each pair over its stories: (n, draws)."""
    i, j = pair
    known = np.where(cells, values, 0.0)
    if cells.all():
        sums = known.T @ flips.T
        return np.asarray(sums[i] - sums[j])
    found = np.empty((len(i), len(flips)))
    for m in np.unique(i):
        here = i == m
        first = known[:, [m]] * cells[:, j[here]]
        second = cells[:, [m]] * known[:, j[here]]
        found[here] = (first - second).T @ flips.T
    return found


def _in_resamples(
    sides: list[Array], grid: CellGrid, pair: PairCounts, counts: Array
) -> Array:
    """Return SPA with normal p-values, (K, B), of stories as often as counted."""
    total = np.zeros((len(sides) - 1, len(counts)))
    for start in range(0, len(pair[0]), PAIRS_AT_ONCE):
        i, j = (side[start : start + PAIRS_AT_ONCE] for side in pair)
        shared = grid.cells[:, i] & grid.cells[:, j]
        here = [np.where(shared, v[:, i] - v[:, j], 0.0) for v in sides]
        human, *metrics = in_threads(lambda v: _normal_p(v, counts), here)
        for k, p in enumerate(metrics):
            total[k] += np.abs(human - p).sum(axis=1)
    return 1 - total / len(pair[0])


def _normal_p(differences: Array, counts: Array) -> Array:
    """Return the p-value of each column of differences in each resample."""
    differences = near_one(differences, axis=0)
    ratio, size = counts @ differences, counts @ differences**2
    np.sqrt(size, out=size)
    np.divide(ratio, size, out=ratio, where=size > 0)
    return np.asarray(ndtr(np.negative(ratio, out=ratio), out=ratio))
