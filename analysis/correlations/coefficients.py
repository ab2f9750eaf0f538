"""Kendall tau-b and tau-c, Spearman and Pearson, for many weighted resamples."""

from collections.abc import Iterator, Sequence

import numpy as np

from analysis.correlations.kendall import Floats, RankSums, rank_sums
from analysis.inference.resampling import near_one
from analysis.results import Array, Counts, Mask
from analysis.statistics import Coefficient, coefficient

# Below this share of the group's own variance, the sums of a resample have lost digits:
# its values are equal, or, where the group has values near each other, it is
# standardised by itself.
LEAST_VARIANCE = 1e-6
# Values held at once when Pearson's sums are made.
CHUNK = 4_000_000


def correlate(
    human: Array, scores: Array, weights: Floats, coefficients: Sequence[str]
) -> dict[str, Array]:
    r"""Correlate scores with human values, in groups and under many weights.

    With :math:`s_{ij} = w_i w_j \operatorname{sgn}(x_i - x_j) \operatorname{sgn}(y_i -
    y_j)` summed over all i, j, tau-b is :math:`(C - D) / \sqrt{(C + D + T_m)(C + D +
    T_h)}`: a point drawn twice ties with itself in both. Tau-c (Stuart 1953) is
    :math:`2 (C - D) / (n^2 (m - 1) / m)`, with n the sum of the weights and m the
    smaller number of distinct values. Spearman is Pearson's r of the mid-ranks.
    Pearson's r is computed from values standardised in their group, whatever their
    unit. Sums of the first three are whole numbers and therefore exact.

    Values equal ``scipy.stats.kendalltau`` (variants b and c), ``spearmanr``,
    ``pearsonr``.
    """
    declared = [coefficient(name) for name in coefficients]
    found = {}
    if any(one.of_sums for one in declared):
        in_ranks = any(one.counts == "ranks" for one in declared)
        sums = rank_sums(human, scores, weights, spearman=in_ranks)
    for one in declared:
        if one.of_sums:
            found[one.key] = one.of_sums(sums)
        elif one.of_values:
            found[one.key] = one.of_values(human, scores, weights)
    return found


def tau_c(pairs: Array, values: Array, total: Array) -> Array:
    """Return C - D (ordered pairs) / (n^2 (m - 1) / m); NaN where m is below 2."""
    size = total**2 * (values - 1)
    with np.errstate(invalid="ignore", divide="ignore"):
        value = pairs * values / size
    return np.where(size > 0, value, np.nan)


def ratio(product: Array, human: Array, metric: Array) -> Array:
    """Return product / sqrt(human metric) between -1 and 1; NaN without variation."""
    return np.clip(quotient(product, human, metric), -1, 1)


def quotient(product: Array, human: Array, metric: Array) -> Array:
    """Return product / sqrt(human metric); NaN where a side has no variation."""
    square = human * metric
    with np.errstate(invalid="ignore", divide="ignore"):
        # sqrt(a) * sqrt(a) is not a: a perfect order must give exactly 1.
        value = product / np.sqrt(square)
    return np.where(square > 0, value, np.nan)


def standardise(values: Array, used: Array | Mask) -> Array:
    """Subtract the mean and divide by the deviation over the used points."""
    w = np.broadcast_to(used, values.shape).astype(float)
    values = near_one(values, w)
    total = np.maximum(w.sum(axis=-1, keepdims=True), 1)
    mean = (w * values).sum(axis=-1, keepdims=True) / total
    centred = values - mean
    # A mean is rounded, which is much of values that differ in their last digits.
    centred -= (w * centred).sum(axis=-1, keepdims=True) / total
    deviation = np.sqrt((w * centred**2).sum(axis=-1, keepdims=True) / total)
    spread = _varied(values, w)[..., None]
    varied = spread & (w > 0)
    return np.where(varied, centred / np.where(spread, deviation, 1.0), 0.0)


def _pearson(human: Array, scores: Array, weights: Floats) -> Array:
    used = np.asarray((weights > 0).any(axis=1))
    features = _pearson_features(human, scores, used)
    K, (G, B, N) = len(scores), weights.shape
    values = np.empty((K, G, B))
    step = max(1, CHUNK // max(B * max(N, 2 + 3 * K), 1))
    for start in range(0, G, step):
        groups = slice(start, start + step)
        w = weights[groups].astype(float)
        total = w.sum(axis=2)  # (g, B)
        sums = np.matmul(w, features[groups])
        found, small = _pearson_of(sums.transpose(2, 0, 1), total)
        values[:, groups] = found
        # There a variance is small for want of digits, or values are all the same.
        for k, g, b in _places(small[:1] | small[1:], N):
            values[k, start + g, b] = _pearson_alone(
                human[start + g], scores[k, start + g], w[g, b]
            )
    return values


def _pearson_features(human: Array, scores: Array, used: Mask) -> Array:
    """Return h, h^2, and x, x^2, h x of every metric, (..., N, 2 + 3 K)."""
    h, x = standardise(human, used), standardise(scores, used)
    sums = [h[None], h[None] ** 2, x, x**2, h * x]
    return np.moveaxis(np.concatenate(sums), 0, -1)


def _pearson_of(sums: Array, total: Array) -> tuple[Array, Mask]:
    """Return Pearson's r from weighted sums of features, (2 + 3 K, ...)."""
    K = (len(sums) - 2) // 3
    means = sums / np.maximum(total, 1)
    mh, sh, mx, sx, product = np.split(means, [1, 2, 2 + K, 2 + 2 * K])
    vh, vx = sh - mh**2, sx - mx**2
    with np.errstate(invalid="ignore", divide="ignore"):
        value = (product - mh * mx) / np.sqrt(vh * vx)
    small = np.concatenate([vh <= LEAST_VARIANCE, vx <= LEAST_VARIANCE])
    value = np.where(small[:1] | small[1:], np.nan, np.clip(value, -1, 1))
    return value, small & (total > 1)


def _places(unsure: Mask, size: int) -> Iterator[tuple[Counts, ...]]:
    """Yield indexes of what is unsure, as many as fit when each has `size` values."""
    found = np.nonzero(unsure)
    step = max(1, CHUNK // max(size, 1))
    for start in range(0, len(found[0]), step):
        yield tuple(index[start : start + step] for index in found)


def _pearson_alone(human: Array, scores: Array, weights: Array) -> Array:
    """Return Pearson's r of each row by itself, shapes (R, N); NaN if constant."""
    found = np.full(len(weights), np.nan)
    varied = np.logical_and(*(_varied(side, weights) for side in (human, scores)))
    w = weights[varied]
    h, x = standardise(human[varied], w), standardise(scores[varied], w)
    total = np.maximum(w.sum(axis=1), 1)
    found[varied] = np.clip((w * h * x).sum(axis=1) / total, -1, 1)
    return found


def _varied(values: Array, weights: Array) -> Mask:
    """Return in which rows two points with weight have different values."""
    high = np.where(weights > 0, values, -np.inf).max(axis=-1, initial=-np.inf)
    low = np.where(weights > 0, values, np.inf).min(axis=-1, initial=np.inf)
    return np.asarray(high > low)


def _kendall(sums: RankSums) -> Array:
    return ratio(sums.pairs, sums.human.pairs, sums.metric.pairs)


def _kendall_c(sums: RankSums) -> Array:
    distinct = np.minimum(sums.human.values, sums.metric.values)
    return tau_c(sums.pairs, distinct, sums.human.total)


def _spearman(sums: RankSums) -> Array:
    return ratio(sums.ranks, sums.human.ranks, sums.metric.ranks)


DECLARED = (
    Coefficient(
        key="kendall",
        name="Kendall's tau-b",
        title="Kendall's tau-b",
        symbol="τ",
        of_sums=_kendall,
        formula="τ_b = frac{C − D}{sqrt{(C + D + T_m)(C + D + T_h)}}",
    ),
    Coefficient(
        key="kendall_c",
        name="Kendall's tau-c",
        title="Kendall's tau-c",
        symbol="τ-c",
        of_sums=_kendall_c,
        formula="τ_c = frac{2(C − D)}{n^2(m − 1)/m}",
        explained="with m the smaller number of distinct values.",
    ),
    Coefficient(
        key="spearman",
        name="Spearman's rho",
        title="Spearman",
        symbol="ρ",
        counts="ranks",
        of_sums=_spearman,
        explained="Spearman: Pearson's r of midranks.",
    ),
    Coefficient(
        key="pearson",
        name="Pearson's r",
        title="Pearson",
        symbol="r",
        counts="values",
        of_values=_pearson,
        explained="Pearson's r as usual.",
    ),
)
