"""Coefficients at one level with their intervals and tests."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from analysis.correlations.cell_means import method_means
from analysis.correlations.coefficient_variance import (
    CoefficientVariances,
    coefficient_variances,
)
from analysis.correlations.levels import (
    can_vary,
    level_point,
    level_values,
    why_undefined,
)
from analysis.inference.cluster_variance import CROSSED, LEAST
from analysis.inference.resampling import draw, estimate, no_draws, stream
from analysis.inference.significance import (
    EXACT_BELOW,
    follow_test,
    permutation_p,
    rejects,
)
from analysis.options import Sampling
from analysis.reading.cells import CellGrid
from analysis.results import NAN, Array, Estimate, undefined
from analysis.statistics import coefficient


@dataclass(frozen=True)
class Spread:
    """What intervals and tests of the coefficients of one level rest on.

    Attributes
    ----------
    parts
        What is thought of as drawn.
    variances
        Coefficient to its variances; empty where nothing or annotators are drawn.
    draws
        Coefficient to the values in resamples, (K, B), where annotators are drawn, or
        methods are compared that are too few for a variance: the same resamples for all
        metrics, so that their differences are paired.
    """

    parts: tuple[str, ...]
    variances: Mapping[str, CoefficientVariances]
    draws: Mapping[str, Array]


def level_spread(
    grid: CellGrid,
    level: str,
    coefficients: Sequence[str],
    parts: tuple[str, ...],
    sampling: Sampling,
) -> Spread:
    """Compute what intervals and tests of one level rest on.

    Parameters
    ----------
    grid
        The common subset of one question.
    level
        ``"method"``, ``"story"``, ``"within_method"`` or ``"pooled"``.
    coefficients
        Some of ``kendall``, ``kendall_c``, ``spearman``, ``pearson``.
    parts
        What is thought of as drawn, from `analysis.options.resample_parts`. Ratings of
        whole methods have no stories: of stories and methods, methods are left there.
    sampling
        Number of resamples (0 for neither interval nor test), coverage, seed.
    """
    if grid.human_is_method_level and parts == CROSSED:
        parts = ("methods",)
    seed, resamples = sampling["seed"], sampling["resamples"]
    variances: dict[str, CoefficientVariances] = {}
    draws: dict[str, Array] = {}
    if not resamples:
        return Spread(parts, variances, draws)
    if "annotators" not in parts:
        variances = coefficient_variances(grid, level, coefficients, parts, seed=seed)
        if level != "method" or n_methods(grid) >= LEAST:
            return Spread(parts, variances, draws)
    drawn = draw(
        parts,
        cells=grid.cells,
        n_annotators=len(grid.votes),
        resamples=resamples,
        rng=stream(seed, "correlations", grid.question, level),
    )
    draws = level_values(grid, level, drawn, coefficients)
    if not can_vary(parts, grid, drawn):
        draws = {name: np.full_like(v, np.nan) for name, v in draws.items()}
    return Spread(parts, variances, draws)


def level_estimates(
    grid: CellGrid,
    level: str,
    coefficients: Sequence[str],
    spread: Spread,
    sampling: Sampling,
) -> dict[tuple[str, str], Estimate]:
    """Correlate every metric with people at one level, with uncertainty.

    Parameters
    ----------
    grid, level, coefficients, sampling
        As of `level_spread`.
    spread
        From there.

    Returns
    -------
    dict
        (metric, coefficient) to its estimate; its p-value is for no association,
        two-sided.

    Notes
    -----
    Interval and test are those of `analysis.inference.cluster_variance`. Fewer than
    five methods, or stories, are too few to speak of others: then both are for new
    stories of these methods, or for new methods in these stories, and `Estimate.drawn`
    says so.

    At level ``method``, of fewer than ten methods, the p-value is exact, by all orders
    of the methods; the interval follows that test, and is of the bootstrap where there
    are fewer than five. Where annotators are drawn interval and test are of the
    bootstrap.
    """
    point, sizes = level_point(grid, level, coefficients)
    exact: dict[str, Array] = {}
    if level == "method" and n_methods(grid) < EXACT_BELOW:
        h, x, weights = method_means(grid, no_draws(*grid.cells.shape))
        used = weights[0] > 0
        exact = permutation_p(h[0, used], x[:, 0, used], coefficients)
    confidence = sampling["confidence"]
    found = {}
    for k, metric in enumerate(grid.metrics):
        for name in coefficients:
            value, (n, groups) = float(point[name][k, 0]), sizes[name][k]
            if np.isnan(value):
                reason = why_undefined(grid, level, k)
                found[metric, name] = undefined(reason, n=n, groups=groups)
                continue
            p_value = float(exact[name][k]) if exact else NAN
            if name in spread.variances and name not in spread.draws:
                own = spread.variances[name].of(k)
                of_pairs = coefficient(name).counts == "pairs"
                one = own.coefficient(
                    value, confidence, of_pairs=of_pairs, exact=p_value
                )
                found[metric, name] = replace(one, n=n, groups=groups)
                continue
            one = estimate(
                value,
                spread.draws.get(name, np.empty((len(grid.metrics), 0)))[k],
                confidence,
                n=n,
                groups=groups,
                p_value=p_value if exact else None,
                drawn=spread.parts,
            )
            rejected = rejects(one.p_value, confidence)
            low, high = follow_test(one.low, one.high, one.value, 0.0, rejected)
            found[metric, name] = replace(one, low=low, high=high)
    return found


def n_methods(grid: CellGrid) -> int:
    """Return how many methods have an output that counts."""
    return int(grid.cells.any(axis=0).sum())
