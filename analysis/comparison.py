"""Do two metrics agree with people equally well? A paired swap test.

Under the null hypothesis it does not matter which of two metrics a score comes
from, so their standardised scores may be swapped: for whole stories, for whole
methods, or both (PERM-INPUTS, PERM-SYSTEMS, PERM-BOTH).
"""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from analysis.cells import Grid
from analysis.correlation import (
    Signs,
    blocks,
    correlate,
    dense_ranks,
    ratio,
    signs,
    standardise,
)
from analysis.levels import HUMAN_DIGITS, MEAN_DIGITS
from analysis.resampling import stream
from analysis.results import NAN, Array, Mask

SLACK = 1e-9
TEST_NAMES = {
    ("stories",): "perm-stories",
    ("methods",): "perm-methods",
    ("stories", "methods"): "perm-both",
    ("units",): "perm-units",
}
METHODS = (("methods",),)


@dataclass(frozen=True)
class Difference:
    """What the swap test says of one pair of metrics at one level.

    Attributes
    ----------
    metric_a, metric_b
        The pair, in alphabetical order.
    coefficient
        Kendall, Spearman or Pearson.
    p_value
        Two-sided; NaN where the difference is undefined.
    test
        What was swapped.
    """

    metric_a: str
    metric_b: str
    coefficient: str
    p_value: float
    test: str


def swap_tests(
    grid: Grid,
    level: str,
    *,
    coefficients: Sequence[str],
    parts: tuple[str, ...],
    resamples: int,
    seed: int,
) -> list[Difference]:
    r"""Test every pair of metrics for equal agreement with people.

    Parameters
    ----------
    grid
        The common subset of one question.
    level
        ``"method"``, ``"story"`` or ``"pooled"``.
    coefficients
        Some of ``kendall``, ``spearman``, ``pearson``.
    parts
        What is swapped: ``stories``, ``methods``, both, or ``units`` (single
        cells, which treats them as independent). Annotators cannot be swapped;
        without any of these, both stories and methods are.
    resamples
        Number of random swaps; 0 makes no test.
    seed
        Seed of the coins. All pairs of one question share them.

    Returns
    -------
    list of Difference
        One a pair and coefficient.

    Notes
    -----
    Both metrics are standardised over the common cells. The p-value is
    :math:`(c + 1) / (k + 1)`, where c counts swaps with a difference at least
    as large in absolute value.

    With PERM-BOTH each story and each method throws a coin, and the scores of a
    cell are swapped where its two coins differ. The coins of any two cells are
    then uncorrelated, also inside one story, so by itself it is hardly stricter
    than swapping single cells. Therefore stories are swapped as well, and the
    larger of the two p-values is reported together with the test it comes from.

    Method-level scores can only be swapped for whole methods.

    References
    ----------
    Deutsch, D., Dror, R. and Roth, D. (2021), A Statistical Analysis of
    Summarization Evaluation Metrics Using Resampling Methods, TACL 9.
    """
    if resamples == 0 or not grid.cells.any():
        return []
    by_parts, by_method = _swaps(parts), METHODS
    coins = {
        swaps: np.concatenate([_coins(grid, swap, resamples, seed) for swap in swaps])
        for swaps in (by_parts, by_method)
    }
    found = []
    for a, b in itertools.combinations(range(len(grid.metrics)), 2):
        pair = (grid.metrics[a], grid.metrics[b])
        whole_methods = grid.human_is_method_level or grid.method_level & set(pair)
        swaps = by_method if whole_methods else by_parts
        values = _swapped_differences(grid, level, a, b, coins[swaps], coefficients)
        for name in coefficients:
            tests = zip(np.split(values[name], len(swaps)), swaps, strict=True)
            p_values = [(_p_value(drawn), TEST_NAMES[swap]) for drawn, swap in tests]
            found.append(Difference(*pair, name, *max(p_values)))
    return found


def _swaps(parts: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    """Return the swaps to make; the largest of their p-values is reported."""
    if "units" in parts:
        return (("units",),)
    chosen = tuple(part for part in parts if part in {"stories", "methods"})
    if len(chosen) == 1:
        return (chosen,)
    return ("stories", "methods"), ("stories",)


def _coins(grid: Grid, parts: tuple[str, ...], resamples: int, seed: int) -> Signs:
    """Return 1 (kept) or -1 (swapped), shape (1 + B, S, M); the first row keeps all."""
    rng = stream(seed, "swaps", grid.question, *parts)
    S, M = grid.cells.shape
    coins = np.ones((resamples, S, M), np.float32)
    shapes = {"stories": (S, 1), "methods": (1, M), "units": (S, M)}
    for part in parts:
        thrown = rng.integers(0, 2, (resamples, *shapes[part])) * 2 - 1
        coins *= thrown.astype(np.float32)
    return np.concatenate([np.ones((1, S, M), np.float32), coins])


def _p_value(differences: Array) -> float:
    observed, swapped = differences[0], differences[1:]
    defined = swapped[np.isfinite(swapped)]
    if np.isnan(observed) or not defined.size:
        return NAN
    count = int((np.abs(defined) >= abs(observed) - SLACK).sum())
    return (count + 1) / (defined.size + 1)


def _swapped_differences(
    grid: Grid, level: str, a: int, b: int, coins: Signs, coefficients: Sequence[str]
) -> dict[str, Array]:
    """Return coefficient(a) - coefficient(b) after each swap, shape (1 + B,)."""
    used = grid.cells.reshape(-1)
    za, zb = (
        standardise(grid.scores[k].reshape(-1), used).reshape(grid.cells.shape)
        for k in (a, b)
    )
    if level == "method":
        return _method_differences(grid, za, zb, coins, coefficients)
    if level == "story":
        points = _Points(grid.human, za, zb, grid.cells, coins.transpose(1, 0, 2))
    else:
        cells = grid.cells
        points = _Points(
            grid.human[cells][None], za[cells][None], zb[cells][None],
            np.ones((1, int(cells.sum())), bool), coins[:, cells][None],
        )  # fmt: skip
    found = {}
    if "pearson" in coefficients:
        found["pearson"] = _pearson(points)
    if {"kendall", "spearman"} & set(coefficients):
        found |= _rank_coefficients(points)
    return {
        name: _average(found[name][0]) - _average(found[name][1])
        for name in coefficients
    }


def _average(values: Array) -> Array:
    """Average over groups where defined: shape (G, B) to (B,)."""
    defined = np.isfinite(values)
    count = defined.sum(axis=0)
    total = np.where(defined, values, 0.0).sum(axis=0)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def _method_differences(
    grid: Grid, za: Array, zb: Array, coins: Signs, coefficients: Sequence[str]
) -> dict[str, Array]:
    """Swap cells, then average over the cells of each method, then correlate."""
    n = np.maximum(grid.cells.sum(axis=0), 1)
    half = np.where(grid.cells, (za - zb) / 2, 0.0)
    middle = ((za + zb) / 2).sum(axis=0) / n
    shift = np.einsum("bsm,sm->bm", coins, half) / n
    human = np.round(grid.human.sum(axis=0) / n, HUMAN_DIGITS)
    found = correlate(
        np.broadcast_to(human, shift.shape),
        np.round(np.stack([middle + shift, middle - shift]), MEAN_DIGITS),
        np.broadcast_to(grid.cells.any(axis=0), shift.shape)[:, None, :].astype(float),
        coefficients,
    )
    return {name: v[0, :, 0] - v[1, :, 0] for name, v in found.items()}


@dataclass(frozen=True)
class _Points:
    """Two metrics and people on N points in G groups, with coins (G, B, N).

    `used` is 0 at points that do not exist.
    """

    human: Array
    a: Array
    b: Array
    used: Mask
    coins: Signs


Pair = tuple[Array, Array]


def _pearson(points: _Points) -> Pair:
    """Pearson's r of both metrics after each swap, each (G, B)."""
    used = points.used[:, None, :]
    h = standardise(points.human, points.used)[:, None, :]
    n = np.maximum(used.sum(axis=2), 1)
    first = points.coins > 0

    def correlation(a: Array, b: Array) -> Array:
        x = np.where(first, a[:, None, :], b[:, None, :])
        mean = np.where(used, x, 0.0).sum(axis=2) / n
        centred = np.where(used, x - mean[:, :, None], 0.0)
        varies = np.where(used, x, -np.inf).max(axis=2) > np.where(used, x, np.inf).min(
            axis=2
        )
        size = varies * (centred**2).sum(axis=2)
        return ratio((centred * h).sum(axis=2), (h * h).sum(axis=2), size)

    return correlation(points.a, points.b), correlation(points.b, points.a)


def _rank_coefficients(points: _Points) -> dict[str, Pair]:
    """Kendall's tau-b and Spearman's rho of both metrics after each swap.

    With coins s, the sign of a pair depends on two coins, so a sum over pairs is
    ``constant + linear . s + s' Q s``, and the other metric is the same at -s.
    """
    G, B, N = points.coins.shape
    w = points.used.astype(np.float32)
    s = points.coins * w[:, None, :]
    h = dense_ranks(points.human)
    both = dense_ranks(np.stack([points.a, points.b]))
    zeros = [np.zeros((G, B)) for _ in range(8)]
    tau_a, tau_b, ties_a, ties_b, rho_a, rho_b, size_a, size_b = zeros
    pairs_h, size_h = np.zeros((G, 1)), np.zeros((G, 1))
    for groups, rows in blocks(G, N, B):
        a, b = both[0, groups], both[1, groups]
        wg, wr = w[groups], w[groups][:, rows]
        mask = wr[:, :, None] * wg[:, None, :]
        sh = signs(h[groups][:, rows], h[groups]) * mask
        aa, ab = signs(a[:, rows], a) * mask, signs(a[:, rows], b) * mask
        ba, bb = signs(b[:, rows], a) * mask, signs(b[:, rows], b) * mask
        sg, sr = s[groups], s[groups][:, :, rows]
        for first, second, x in (
            (tau_a, tau_b, (aa * sh, ab * sh, ba * sh, bb * sh)),
            (ties_a, ties_b, (abs(aa), abs(ab), abs(ba), abs(bb))),
        ):
            even, odd = _pair_sums(x, sg, sr)
            first[groups] += even + odd
            second[groups] += even - odd
        human = sh.sum(axis=2, dtype=np.float64)[:, None, :]
        pairs_h[groups] += np.abs(sh).sum(axis=(1, 2), dtype=np.float64)[:, None]
        size_h[groups] += (human**2).sum(axis=2)
        for product, size, ranks in zip(
            (rho_a, rho_b), (size_a, size_b), _swapped_ranks((aa, ab, ba, bb), sg, sr),
            strict=True,
        ):  # fmt: skip
            product[groups] += (ranks * human).sum(axis=2)
            size[groups] += (ranks**2).sum(axis=2)
    return {
        "kendall": (ratio(tau_a, pairs_h, ties_a), ratio(tau_b, pairs_h, ties_b)),
        "spearman": (ratio(rho_a, size_h, size_a), ratio(rho_b, size_h, size_b)),
    }


Kernels = tuple[Signs, Signs, Signs, Signs]


def _pair_sums(kernels: Kernels, s: Signs, s_rows: Signs) -> Pair:
    """Sum a kernel over pairs of held scores: parts even and odd in the coins."""
    aa, ab, ba, bb = kernels
    stay, move = aa - ab, ba - bb  # what a partner's coin changes
    constant = (aa + ab + ba + bb).sum(axis=(1, 2), dtype=np.float64)[:, None]
    quadratic = np.matmul(s, (stay - move).transpose(0, 2, 1))
    squares: Array = np.sum(s_rows * quadratic, axis=2, dtype=np.float64)
    own = ((aa + ab) - (ba + bb)).sum(axis=2)[:, None, :]
    partners = (stay + move).sum(axis=1)[:, None, :]
    held: Array = np.sum(s_rows * own, axis=2, dtype=np.float64)
    moved: Array = np.sum(s * partners, axis=2, dtype=np.float64)
    return np.asarray((constant + squares) / 4), np.asarray((held + moved) / 4)


def _swapped_ranks(kernels: Kernels, s: Signs, s_rows: Signs) -> Iterator[Array]:
    """Yield the centred ranks of the first, then of the second metric."""
    aa, ab, ba, bb = kernels
    fixed_a, fixed_b = (aa + ab).sum(axis=2), (ba + bb).sum(axis=2)
    moved_a = np.matmul(s, (aa - ab).transpose(0, 2, 1))
    moved_b = np.matmul(s, (ba - bb).transpose(0, 2, 1))
    for sign in (1, -1):
        held_a = fixed_a[:, None, :] + sign * moved_a
        held_b = fixed_b[:, None, :] + sign * moved_b
        coin = sign * s_rows
        yield (((1 + coin) * held_a + (1 - coin) * held_b) / 4).astype(np.float64)
