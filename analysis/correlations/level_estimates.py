"""Coefficients at one level with their intervals and tests."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

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
from analysis.inference.cluster_variance import CROSSED
from analysis.inference.resampling import draw, estimate, no_draws, stream
from analysis.inference.significance import permutation_p
from analysis.options import Sampling
from analysis.reading.cells import CellGrid
from analysis.results import Array, Estimate, undefined

# Methods from which on intervals of rank coefficients over methods are corrected.
LEAST_CORRECTED = 8
# Random orders of the methods for each metric that is tested, at least.
ORDERS_PER_METRIC = 40
# Where people's ratings are of whole methods all rests on resamples of these, which
# cost little: so many times as many, up to so many, move bounds by half a hundredth.
TIMES_OF_WHOLE, MOST_OF_WHOLE = 20, 20_000


@dataclass(frozen=True)
class Spread:
    """What intervals and tests of the coefficients of one level rest on.

    Attributes
    ----------
    parts
        What is thought of as drawn.
    variances
        Coefficient to its variances; empty at level ``method``, and where nothing or
        annotators are drawn.
    draws
        Coefficient to the values in resamples, (K, B), where there are no variances:
        the same resamples for all metrics, so that their differences are paired.
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
    if level != "method" and "annotators" not in parts:
        variances = coefficient_variances(grid, level, coefficients, parts, seed=seed)
        return Spread(parts, variances, draws)
    drawn = draw(
        parts,
        cells=grid.cells,
        n_annotators=len(grid.votes),
        resamples=_times(grid, resamples),
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
    Inside stories, inside methods and pooled, interval and test are those of
    `analysis.inference.cluster_variance` on Fisher's scale. Fewer than five methods, or
    stories, are too few to speak of others: then both are for new stories of these
    methods, or for new methods in these stories, and `Estimate.drawn` says so.

    At level ``method`` few methods make few points: intervals are of the bootstrap, and
    the p-value comes from permuting methods, all orders below ten methods and as many
    as there are resamples above; where people's ratings are of whole methods both take
    twenty times as many, up to 20,000. Where annotators are drawn both are of the
    bootstrap at every other level.
    """
    point, sizes = level_point(grid, level, coefficients)
    p_values: dict[str, Array] = {}
    if level == "method":
        p_values = _permuted(grid, coefficients, sampling)
    found = {}
    for k, metric in enumerate(grid.metrics):
        for name in coefficients:
            value, (n, groups) = float(point[name][k, 0]), sizes[name][k]
            if np.isnan(value):
                reason = why_undefined(grid, level, k)
                found[metric, name] = undefined(reason, n=n, groups=groups)
            elif name in spread.variances:
                own = spread.variances[name].of(k)
                confidence = sampling["confidence"]
                found[metric, name] = own.coefficient(value, confidence, n, groups)
            else:
                found[metric, name] = estimate(
                    value,
                    spread.draws.get(name, np.empty((len(grid.metrics), 0)))[k],
                    sampling["confidence"],
                    n=n,
                    groups=groups,
                    p_value=float(p_values[name][k]) if p_values else None,
                    bias_corrected=is_bias_corrected(grid, level, name, spread.parts),
                    drawn=spread.parts,
                )
    return found


def _times(grid: CellGrid, resamples: int) -> int:
    """Return how often methods are drawn or permuted.

    Ratings of whole methods cost little, and everything rests on these resamples.
    """
    if not grid.human_is_method_level:
        return resamples
    return max(resamples, min(TIMES_OF_WHOLE * resamples, MOST_OF_WHOLE))


def is_bias_corrected(
    grid: CellGrid, level: str, coefficient: str, parts: tuple[str, ...]
) -> bool:
    """Tell whether an interval takes bias-corrected percentiles.

    Those of rank coefficients of method means do where methods are drawn: copies of
    methods spread them too widely and to one side, so that plain percentiles hold the
    truth in 98 to 100 % of studies, and corrected ones in 93 to 97 %
    (``docs/coverage.md``). With fewer than `LEAST_CORRECTED` methods plain ones are
    nearer to what they promise.
    """
    over_drawn_methods = level == "method" and "methods" in parts
    enough = int(grid.cells.any(axis=0).sum()) >= LEAST_CORRECTED
    return over_drawn_methods and enough and coefficient != "pearson"


def _permuted(
    grid: CellGrid, coefficients: Sequence[str], sampling: Sampling
) -> dict[str, Array]:
    """Return p-values of metrics' coefficients over methods, by permuting methods."""
    h, x, weights = method_means(grid, no_draws(*grid.cells.shape))
    used = weights[0] > 0
    rng = stream(sampling["seed"], "permutation", grid.question)
    times = _times(grid, sampling["resamples"])
    # So many that the smallest p-value is small after adjustment for all metrics.
    times = max(times, ORDERS_PER_METRIC * len(x)) if times else 0
    return permutation_p(h[0, used], x[:, 0, used], coefficients, times, rng)
