"""Ranks of methods, and how sure they are."""

import numpy as np

from analysis.results import Array

# Differences of a bootstrap whose spread is rounding only do not vary.
NO_SPREAD = 1e-12
LEAST_DEFINED = 0.5


def ranks(values: Array, *, tolerance: float = 0.0, ties: str = "best") -> Array:
    """Rank values, 1 being the largest; NaN has no rank."""
    gaps = values[..., None, :] - values[..., :, None]
    found = 1.0 + (gaps > tolerance).sum(axis=-1)
    if ties == "middle":
        found += ((np.abs(gaps) <= tolerance).sum(axis=-1) - 1) / 2
    return np.asarray(np.where(np.isnan(values), np.nan, found))


def rank_intervals(
    values: Array, drawn: Array, confidence: float, *, tolerance: float = 0.0
) -> tuple[Array, Array]:
    r"""Return the ranks that each method may have.

    One plus the number of methods that are surely better, to the number of methods
    that are not surely worse. Surely: the interval of their difference excludes 0,
    and all M - 1 intervals of a method hold together, :math:`\hat d_j \pm c s_j` with
    :math:`s_j` the bootstrap standard deviation and c the quantile of
    :math:`\max_j |d^*_j - \hat d_j| / s_j` over resamples.

    Percentiles of resampled ranks are not used: where methods are nearly equal they
    miss the true rank far too often, since resampling adds noise to ranks that noise
    has already spread (Xie, Singh and Zhang 2009).

    Source: Mogstad, Romano, Shaikh and Wilhelm (2024), Review of Economic Studies 91,
    section 3.1; Xie, Singh and Zhang (2009), JASA 104, 775-788.
    """
    M = len(values)
    low, high = np.full(M, np.nan), np.full(M, np.nan)
    known = np.flatnonzero(np.isfinite(values))
    complete = np.isfinite(drawn[:, known]).all(axis=1)
    if complete.sum() < max(LEAST_DEFINED * len(drawn), 2):
        return low, high
    kept, centre = drawn[np.ix_(complete, known)], values[known]
    for at, i in enumerate(known):
        gap = centre - centre[at]
        moves = kept - kept[:, [at]] - gap
        spread = moves.std(axis=0, ddof=1)
        scale = NO_SPREAD * np.abs(centre).max()
        varies = spread > scale
        margin = np.full(len(gap), tolerance)
        if varies.any():
            largest = (np.abs(moves[:, varies]) / spread[varies]).max(axis=1)
            margin[varies] = np.quantile(largest, confidence) * spread[varies]
        margin = np.maximum(margin, tolerance)
        low[i] = 1 + (gap > margin).sum()
        high[i] = len(known) - (gap < -margin).sum()
    return low, high
