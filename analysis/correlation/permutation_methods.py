"""One order by people against many orders by a metric: method means after swaps."""

from collections.abc import Sequence

import numpy as np

from analysis.correlation.coefficients import correlate, quotient, ratio, tau_c
from analysis.correlation.kendall import FEW_POINTS
from analysis.correlation.weighted_sums import EXACT, column_signs, tie_sums
from analysis.results import Array

# Comparisons of two points held at once.
CHUNK = 4_000_000


def correlate_orders(
    human: Array, scores: Array, coefficients: Sequence[str]
) -> dict[str, Array]:
    """Correlate many rows of scores with the same values of people.

    Parameters
    ----------
    human
        Shape (N,).
    scores
        Shape (B, N), standardised.
    coefficients
        Some of ``kendall``, ``kendall_c``, ``spearman``, ``pearson``.

    Returns
    -------
    dict
        Coefficient to B values; NaN where either side is constant.

    Notes
    -----
    What `correlate` computes, without a table of signs a row: people's differences
    are the same everywhere, so all rows share one matrix product.
    """
    N, B = len(human), len(scores)
    found = {}
    if N < 2 or N > FEW_POINTS:
        once = np.ones((1, 1, N))
        values = correlate(
            np.broadcast_to(human, scores.shape),
            scores[None],
            np.broadcast_to(once, (B, 1, N)),
            coefficients,
        )
        return {name: v[0, :, 0] for name, v in values.items()}
    ranked = [name for name in coefficients if name != "pearson"]
    if ranked:
        step = max(1, CHUNK // (N * N))
        parts = [
            _ranked(human, scores[start : start + step], ranked)
            for start in range(0, B, step)
        ]
        found = {name: np.concatenate([p[name] for p in parts]) for name in ranked}
    if "pearson" in coefficients:
        found["pearson"] = _pearson(human, scores)
    return {name: found[name] for name in coefficients}


def _ranked(
    human: Array, scores: Array, coefficients: Sequence[str]
) -> dict[str, Array]:
    N, B = len(human), len(scores)
    i, j = np.triu_indices(N, 1)
    sh = np.sign(human[:, None] - human)
    ranks = sh.sum(axis=1)
    sx = column_signs(np.ascontiguousarray(scores.T))
    dtype = np.float32 if N**3 < EXACT else np.float64
    kernel = np.stack([sh[i, j], ranks[i] - ranks[j]]).astype(dtype)
    pairs, products = (kernel @ sx.astype(dtype)).astype(np.float64)
    own = np.full((3, B), float(N))
    tied = np.flatnonzero((sx == 0).any(axis=0))
    own[:, tied] = tie_sums(scores[tied])
    squares, cubes, values = tie_sums(human[None])
    n = float(N)
    found = {
        "kendall": ratio(2 * pairs, n**2 - squares, n**2 - own[0]),
        "kendall_c": tau_c(2 * pairs, np.minimum(values, own[2]), np.full(B, n)),
        "spearman": ratio(products, (n**3 - cubes) / 3, (n**3 - own[1]) / 3),
    }
    return {name: found[name] for name in coefficients}


def _pearson(human: Array, scores: Array) -> Array:
    h = human - human.mean()
    x = scores - scores.mean(axis=1, keepdims=True)
    varies = np.ptp(scores, axis=1) > 0
    square = np.where(varies, np.einsum("bn,bn->b", x, x), 0.0)
    return np.clip(quotient(x @ h, (h @ h) * (np.ptp(human) > 0), square), -1, 1)
