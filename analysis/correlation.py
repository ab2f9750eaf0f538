"""Kendall tau-b, Spearman and Pearson, for many weighted resamples at once.

A bootstrap resample is the same data with whole-number weights. All three
coefficients are written as sums over weighted points or pairs of points, so a
thousand resamples are a few matrix products instead of a thousand sorts.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from analysis.results import Array, Mask

# Elements of one block of pairwise signs (float32); bounds memory, not results.
BLOCK = 4_000_000
# Below this share of the group's own variance a resample counts as constant.
# Its values are equal then, and what is left is rounding.
NO_VARIANCE = 1e-10

Signs = npt.NDArray[np.float32]


def correlate(
    human: Array, scores: Array, weights: Array, coefficients: Sequence[str]
) -> dict[str, Array]:
    r"""Correlate scores with human values, in groups and under many weights.

    Parameters
    ----------
    human
        Shape (G, N): N points in each of G groups. Values at points of weight
        0 are ignored, but must be finite.
    scores
        Shape (K, G, N): K metrics.
    weights
        Shape (G, B, N), whole numbers: how often each point occurs in each of
        B resamples. 0 leaves a point out; that is also how a missing cell is
        written.
    coefficients
        Some of `COEFFICIENTS`.

    Returns
    -------
    dict
        Coefficient to an array of shape (K, G, B); NaN where either side is
        constant or fewer than two points have weight.

    Notes
    -----
    With :math:`s_{ij} = w_i w_j \operatorname{sgn}(x_i - x_j)
    \operatorname{sgn}(y_i - y_j)` summed over all i, j,

    - Kendall's tau-b is :math:`(C - D) / \sqrt{(C + D + T_m)(C + D + T_h)}`:
      pairs tied in one variable only stay in the other's factor, pairs tied in
      both leave everything. A point drawn twice ties with itself in both.
    - Spearman is Pearson's r of the mid-ranks, here
      :math:`r_i = \sum_j w_j \operatorname{sgn}(x_i - x_j)`, an affine function
      of them.
    - Pearson's r is computed from values standardised in their group.

    Sums of the first two are whole numbers and therefore exact: the result
    does not depend on the order of the points.

    References
    ----------
    Kendall, M. G. (1945), The treatment of ties in ranking problems,
    Biometrika 33(3). Values equal ``scipy.stats.kendalltau`` (variant b),
    ``spearmanr`` and ``pearsonr``.

    Examples
    --------
    >>> human = np.array([[1.0, 2, 3, 4]])
    >>> scores = np.array([[[1.0, 2, 4, 3]]])
    >>> from analysis.options import COEFFICIENTS
    >>> found = correlate(human, scores, np.ones((1, 1, 4)), COEFFICIENTS)
    >>> {name: round(float(values[0, 0, 0]), 3) for name, values in found.items()}
    {'kendall': 0.667, 'spearman': 0.8, 'pearson': 0.8}
    """
    found = {}
    ranked = {"kendall", "spearman"} & set(coefficients)
    if ranked:
        sums = _rank_sums(human, scores, weights, spearman="spearman" in ranked)
        if "kendall" in ranked:
            found["kendall"] = ratio(sums.pairs, sums.human_pairs, sums.metric_pairs)
        if "spearman" in ranked:
            found["spearman"] = ratio(sums.ranks, sums.human_ranks, sums.metric_ranks)
    if "pearson" in coefficients:
        found["pearson"] = _pearson(human, scores, weights)
    return {name: found[name] for name in coefficients}


def ratio(product: Array, human: Array, metric: Array) -> Array:
    """Return product / sqrt(human metric); NaN where a side has no variation."""
    square = human * metric
    with np.errstate(invalid="ignore", divide="ignore"):
        # sqrt(a) * sqrt(a) is not a: a perfect order must give exactly 1.
        value = product / np.sqrt(square)
    return np.where(square > 0, np.clip(value, -1, 1), np.nan)


@dataclass(frozen=True)
class _RankSums:
    """Sums over weighted pairs (tau) and over weighted ranks (Spearman)."""

    pairs: Array
    human_pairs: Array
    metric_pairs: Array
    ranks: Array
    human_ranks: Array
    metric_ranks: Array


def dense_ranks(values: Array) -> Signs:
    """Replace values by whole numbers of the same order, exact in float32."""
    order = np.unique(values, return_inverse=True)[1].reshape(values.shape)
    return order.astype(np.float32)


def signs(left: Signs, right: Signs) -> Signs:
    """Return sgn(left_i - right_j), shape (G, R, N)."""
    return np.asarray(np.sign(left[:, :, None] - right[:, None, :]))


def blocks(groups: int, points: int, resamples: int) -> Iterator[tuple[slice, slice]]:
    """Cut groups and points into blocks whose pairwise signs fit into memory."""
    per_group = points * max(points, resamples)
    step_groups = max(1, BLOCK // max(per_group, 1))
    step_points = max(1, min(points, BLOCK // max(points, resamples, 1)))
    for group in range(0, groups, step_groups):
        for point in range(0, points, step_points):
            yield (
                slice(group, min(group + step_groups, groups)),
                slice(point, min(point + step_points, points)),
            )


def _rank_sums(
    human: Array, scores: Array, weights: Array, *, spearman: bool
) -> _RankSums:
    K = len(scores)
    G, B, N = weights.shape
    h, w = dense_ranks(human), weights.astype(np.float32)
    x = np.stack([dense_ranks(metric) for metric in scores])
    sums = _RankSums(*(np.zeros((K, G, B)) for _ in range(6)))
    for groups, points in blocks(G, N, B):
        wg, wp = w[groups], w[groups][:, :, points]

        def total(kernel: Signs, wg: Signs = wg, wp: Signs = wp) -> Array:
            product = np.matmul(wg, kernel.transpose(0, 2, 1))
            return np.asarray(np.sum(wp * product, axis=2, dtype=np.float64))

        def ranks(kernel: Signs, wg: Signs = wg) -> Array:
            return np.asarray(np.matmul(wg, kernel.transpose(0, 2, 1)), np.float64)

        sh = signs(h[groups][:, points], h[groups])
        sums.human_pairs[:, groups] += total(np.abs(sh))
        rh = ranks(sh) if spearman else None
        for k in range(K):
            sx = signs(x[k, groups][:, points], x[k, groups])
            sums.pairs[k, groups] += total(sx * sh)
            sums.metric_pairs[k, groups] += total(np.abs(sx))
            if rh is not None:
                rx = ranks(sx)
                sums.ranks[k, groups] += (wp * rx * rh).sum(axis=2)
                sums.metric_ranks[k, groups] += (wp * rx * rx).sum(axis=2)
        if rh is not None:
            sums.human_ranks[:, groups] += (wp * rh * rh).sum(axis=2)
    return sums


def standardise(values: Array, used: Array | Mask) -> Array:
    """Subtract the mean and divide by the deviation over the used points.

    Parameters
    ----------
    values
        Shape (..., N).
    used
        Same shape or broadcast to it; weight of each point, 0 for unused.

    Returns
    -------
    array
        All 0 in a group whose used values are equal.
    """
    w = np.broadcast_to(used, values.shape).astype(float)
    total = np.maximum(w.sum(axis=-1, keepdims=True), 1)
    mean = (w * values).sum(axis=-1, keepdims=True) / total
    centred = np.where(w > 0, values - mean, 0.0)
    deviation = np.sqrt((w * centred**2).sum(axis=-1, keepdims=True) / total)
    high = np.where(w > 0, values, -np.inf).max(axis=-1, keepdims=True)
    low = np.where(w > 0, values, np.inf).min(axis=-1, keepdims=True)
    spread = (high > low) & (deviation > 0)
    return np.where(spread, centred / np.where(spread, deviation, 1.0), 0.0)


def _pearson(human: Array, scores: Array, weights: Array) -> Array:
    used = np.asarray((weights > 0).any(axis=1))
    h, x = standardise(human, used), standardise(scores, used)
    w = weights.astype(float)
    total = np.maximum(w.sum(axis=2), 1)  # (G, B)

    def mean(values: Array) -> Array:
        summed = np.einsum("gbn,...gn->...gb", w, values, optimize=True)
        return np.asarray(summed / total)

    mh, mx = mean(h), mean(x)
    covariance = mean(h * x) - mh * mx
    vh, vx = mean(h * h) - mh**2, mean(x * x) - mx**2
    with np.errstate(invalid="ignore", divide="ignore"):
        value = covariance / np.sqrt(vh * vx)
    defined = (vh > NO_VARIANCE) & (vx > NO_VARIANCE)
    return np.where(defined, np.clip(value, -1, 1), np.nan)
