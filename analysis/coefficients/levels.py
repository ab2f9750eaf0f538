"""Correlation of metrics with people at four levels, with intervals.

``method`` correlates method means over methods (system level), ``story``
correlates across methods inside each story and averages over stories (group by
item), ``within_method`` correlates across stories inside each method and averages
over methods (group by system), ``pooled`` takes all cells together (no grouping).
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from analysis.coefficients.weighted import CellWeights
from analysis.correlation import correlate, pearson_features, pearson_of
from analysis.reading.cells import Grid
from analysis.resampling import Draws, draw, estimate, no_draws, stream
from analysis.results import Array, Estimate, Mask, undefined
from analysis.significance import permutation_p

# Values held at once while resampling: resamples x stories x methods.
CHUNK = 10_000_000
# Means of metric scores are computed numbers: equal up to rounding is equal.
MEAN_DIGITS = 12
# Methods from which on intervals of rank coefficients over methods are corrected.
LEAST_CORRECTED = 8
HUMAN_DIGITS = 9


def level_values(
    grid: Grid, level: str, draws: Draws, coefficients: Sequence[str]
) -> dict[str, Array]:
    """Correlate every metric at one level in every resample.

    Parameters
    ----------
    grid
        The common subset of one question.
    level
        ``"method"``, ``"story"``, ``"within_method"`` or ``"pooled"``.
    draws
        How often each cluster counts.
    coefficients
        Some of ``kendall``, ``kendall_c``, ``spearman``, ``pearson``.

    Returns
    -------
    dict
        Coefficient to an array of shape (K, B); NaN where undefined.
    """
    compute = {
        "method": _at_methods, "story": _in_stories, "within_method": _in_methods,
        "pooled": _over_cells,
    }  # fmt: skip
    size = max(1, CHUNK // max(grid.cells.size, 1))
    parts = [compute[level](grid, chunk, coefficients) for chunk in draws.chunks(size)]
    return {name: np.concatenate([p[name] for p in parts], 1) for name in coefficients}


def resampled_human(grid: Grid, draws: Draws) -> tuple[Array, Array]:
    """Return people's cell means, and the weight of each cell, by resample.

    Returns
    -------
    human
        Shape (1, S, M), or (B, S, M) when annotators are drawn.
    weights
        Shape (B, S, M): draws of method and unit; 0 outside the common subset
        and where no drawn annotator rated the cell.
    """
    weights = draws.methods[:, None, :] * grid.cells[None].astype(float)
    if draws.units is not None:
        weights = weights * draws.units
    if draws.annotators is None:
        return grid.human[None], np.broadcast_to(
            weights, (draws.resamples, *grid.cells.shape)
        )
    drawn = draws.annotators.astype(float)
    present = np.isfinite(grid.votes)
    total = np.einsum("ba,asm->bsm", drawn, np.where(present, grid.votes, 0.0))
    count = np.einsum("ba,asm->bsm", drawn, present.astype(float))
    human = np.round(total / np.maximum(count, 1), HUMAN_DIGITS)
    return human, weights * (count > 0)


Values = dict[str, Array]


def _over_cells(grid: Grid, draws: Draws, coefficients: Sequence[str]) -> Values:
    by_cluster = draws.units is None and draws.annotators is None
    others = [c for c in coefficients if not (by_cluster and c == "pearson")]
    found = {}
    if "pearson" in coefficients and by_cluster:
        found["pearson"] = _pearson_over_cells(grid, draws)
    if others:
        found |= _coefficients_over_cells(grid, draws, others)
    return found


def _pearson_over_cells(grid: Grid, draws: Draws) -> Array:
    """Sum over stories by a matrix product, then over methods; no cell has a weight."""
    shape = grid.cells.shape
    features = pearson_features(
        grid.human.reshape(-1), grid.scores.reshape(len(grid.scores), -1),
        grid.cells.reshape(-1),
    ).reshape(*shape, -1) * grid.cells[:, :, None]  # fmt: skip
    stories, methods = draws.stories.astype(float), draws.methods.astype(float)
    sums = np.stack(
        [
            np.einsum("bm,bm->b", stories @ features[:, :, i], methods)
            for i in range(features.shape[2])
        ]
    )
    total = np.einsum("bm,bm->b", stories @ grid.cells.astype(float), methods)
    return pearson_of(sums, total)


def _coefficients_over_cells(
    grid: Grid, draws: Draws, coefficients: Sequence[str]
) -> Values:
    x = grid.scores[:, None, grid.cells]
    if draws.units is None and draws.annotators is None:
        of_cells = CellWeights(draws.stories, draws.methods, grid.cells)
        found = correlate(grid.human[grid.cells][None], x, of_cells, coefficients)
        return {name: v[:, 0, :] for name, v in found.items()}
    human, weights = resampled_human(grid, draws)
    weights = weights[:, grid.cells] * draws.stories[:, np.nonzero(grid.cells)[0]]
    h = human[:, grid.cells]
    if len(h) == 1:
        found = correlate(h, x, weights[None], coefficients)
        return {name: v[:, 0, :] for name, v in found.items()}
    x = np.repeat(x, len(h), axis=1)
    found = correlate(h, x, weights[:, None, :], coefficients)
    return {name: v[:, :, 0] for name, v in found.items()}


def _in_stories(grid: Grid, draws: Draws, coefficients: Sequence[str]) -> Values:
    B, K = draws.resamples, len(grid.scores)
    S, M = grid.cells.shape
    if draws.annotators is not None:
        human, weights = resampled_human(grid, draws)
        x = np.tile(grid.scores, (1, B, 1))
        flat = correlate(
            human.reshape(B * S, M), x, weights.reshape(B * S, 1, M), coefficients
        )
        found = {n: v.reshape(K, B, S).transpose(0, 2, 1) for n, v in flat.items()}
    elif draws.units is None and (draws.methods == 1).all():
        # A story drawn as a whole keeps its coefficient.
        once = grid.cells[:, None, :].astype(float)
        found = {
            name: np.broadcast_to(v, (K, S, B))
            for name, v in correlate(
                grid.human, grid.scores, once, coefficients
            ).items()
        }
    else:
        weights = resampled_human(grid, draws)[1].transpose(1, 0, 2)
        found = correlate(grid.human, grid.scores, weights, coefficients)
    times = draws.stories.T[None].astype(float)  # (1, S, B)
    averages = {}
    for name, values in found.items():
        here = np.isfinite(values)
        count = (times * here).sum(axis=1)
        total = (times * np.where(here, values, 0.0)).sum(axis=1)
        averages[name] = np.where(count > 0, total / np.maximum(count, 1), np.nan)
    return averages


def turned(grid: Grid) -> Grid:
    """Exchange stories and methods: what holds inside stories then does in methods."""
    return replace(
        grid,
        stories=grid.methods,
        methods=grid.stories,
        cells=grid.cells.T,
        human=grid.human.T,
        scores=grid.scores.transpose(0, 2, 1),
        votes=grid.votes.transpose(0, 2, 1),
    )


def _in_methods(grid: Grid, draws: Draws, coefficients: Sequence[str]) -> Values:
    units = None if draws.units is None else draws.units.transpose(0, 2, 1)
    exchanged = Draws(draws.methods, draws.stories, units, draws.annotators)
    return _in_stories(turned(grid), exchanged, coefficients)


def method_means(grid: Grid, draws: Draws) -> tuple[Array, Array, Array]:
    """Average people's values and scores over the cells of each method.

    Returns
    -------
    human
        Shape (B, M).
    scores
        Shape (K, B, M).
    weights
        Shape (B, M): how often the method was drawn; 0 without a cell.
    """
    if draws.units is None and draws.annotators is None:
        # Drawing stories is one matrix product.
        times = draws.stories.astype(float)
        total = np.where(draws.methods > 0, times @ grid.cells.astype(float), 0.0)
        divisor = np.maximum(total, 1)
        h = np.where(total > 0, times @ np.where(grid.cells, grid.human, 0.0), 0.0)
        x = np.matmul(times, np.where(grid.cells, grid.scores, 0.0))
        h, x = h / divisor, np.where(total > 0, x, 0.0) / divisor
    else:
        human, weights = resampled_human(grid, draws)
        once = np.where(draws.methods[:, None, :] > 0, weights, 0.0)
        once = once * draws.stories[:, :, None]
        total = once.sum(axis=1)
        divisor = np.maximum(total, 1)
        h = np.einsum("bsm,bsm->bm", once, np.broadcast_to(human, once.shape))
        h, x = h / divisor, np.einsum("bsm,ksm->kbm", once, grid.scores) / divisor
    largest = np.abs(grid.scores).max(axis=(1, 2), initial=0.0).reshape(-1, 1, 1)
    scale = np.where(largest > 0, largest, 1.0)
    return (
        np.round(h, HUMAN_DIGITS),
        np.round(x / scale, MEAN_DIGITS) * scale,
        np.where(total > 0, draws.methods, 0).astype(float),
    )


def _at_methods(grid: Grid, draws: Draws, coefficients: Sequence[str]) -> Values:
    h, x, weights = method_means(grid, draws)
    found = correlate(h, x, weights[:, None, :], coefficients)
    return {name: v[:, :, 0] for name, v in found.items()}


def level_estimates(
    grid: Grid,
    level: str,
    *,
    coefficients: Sequence[str],
    parts: tuple[str, ...],
    resamples: int,
    confidence: float,
    seed: int,
) -> tuple[dict[tuple[str, str], Estimate], dict[str, Array]]:
    """Correlate every metric with people at one level, with uncertainty.

    Parameters
    ----------
    grid
        The common subset of one question.
    level
        ``"method"``, ``"story"``, ``"within_method"`` or ``"pooled"``.
    coefficients
        Some of ``kendall``, ``kendall_c``, ``spearman``, ``pearson``.
    parts
        Clusters to draw, from `analysis.options.resample_parts`.
    resamples, confidence, seed
        Number of resamples (0 for no intervals), coverage, seed.

    Returns
    -------
    dict
        (metric, coefficient) to its estimate.
    dict
        Coefficient to the resampled values, shape (K, B): the same resamples
        for all metrics, so that their differences are paired.

    Notes
    -----
    The p-value is for no association, two-sided. At method level it comes from
    permuting methods: all orders below ten methods, `resamples` random ones
    above. At the other levels cells are not exchangeable, since they share
    stories and methods; there it is the p-value of the cluster bootstrap.
    """
    point = level_values(grid, level, no_draws(*grid.cells.shape), coefficients)
    rng = stream(seed, "correlations", grid.question, level)
    draws = draw(
        parts, cells=grid.cells, n_annotators=len(grid.votes), resamples=resamples,
        rng=rng,
    )  # fmt: skip
    values = level_values(grid, level, draws, coefficients)
    if not can_vary(parts, grid, draws):
        values = {name: np.full_like(v, np.nan) for name, v in values.items()}
    p_values = _method_p(grid, level, coefficients, resamples, seed)
    found = {}
    for k, metric in enumerate(grid.metrics):
        for name in coefficients:
            n, n_groups = _sizes(grid, level, k)
            if np.isnan(point[name][k, 0]):
                reason = _why_undefined(grid, level, k)
                found[metric, name] = undefined(reason, n=n)
                continue
            found[metric, name] = estimate(
                float(point[name][k, 0]), values[name][k], confidence,
                n=n, n_groups=n_groups,
                p_value=None if level != "method" else float(p_values[name][k]),
                bias_corrected=is_bias_corrected(grid, level, name, parts),
            )  # fmt: skip
    return found, values


def is_bias_corrected(
    grid: Grid, level: str, coefficient: str, parts: tuple[str, ...]
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


def can_vary(parts: tuple[str, ...], grid: Grid, draws: Draws) -> bool:
    """Tell whether at least one kind of cluster has two members to draw from."""
    sizes = {
        "stories": len(grid.stories),
        "methods": len(grid.methods),
        "annotators": len(grid.votes),
        "units": int(grid.cells.sum()),
    }
    return draws.resamples > 0 and any(sizes[part] > 1 for part in parts)


def _method_p(
    grid: Grid, level: str, coefficients: Sequence[str], resamples: int, seed: int
) -> dict[str, Array]:
    if level != "method":
        return {}
    h, x, weights = method_means(grid, no_draws(*grid.cells.shape))
    used = weights[0] > 0
    rng = stream(seed, "permutation", grid.question)
    return permutation_p(h[0, used], x[:, 0, used], coefficients, resamples, rng)


def _sizes(grid: Grid, level: str, k: int) -> tuple[int, int]:
    if level == "method":
        return int(grid.cells.any(axis=0).sum()), 1
    if level == "pooled":
        return int(grid.cells.sum()), 1
    inside = turned(grid) if level == "within_method" else grid
    groups = _varies(inside.human, inside.cells)
    groups &= _varies(inside.scores[k], inside.cells)
    return int(inside.cells[groups].sum()), int(groups.sum())


def _varies(values: Array, cells: Mask) -> Mask:
    """Tell in which stories the existing cells have two values at least."""
    high = np.where(cells, values, -np.inf).max(axis=1)
    return np.asarray(high > np.where(cells, values, np.inf).min(axis=1))


def _why_undefined(grid: Grid, level: str, k: int) -> str:
    if level == "story":
        return "in no story do both people and the metric tell two methods apart"
    if level == "within_method":
        return "in no method do both people and the metric tell two stories apart"
    if level == "method":
        h, x, weights = method_means(grid, no_draws(*grid.cells.shape))
        h, x, used = h[0], x[k, 0], weights[0] > 0
    else:
        h, x, used = grid.human, grid.scores[k], grid.cells
    if used.sum() < 2:
        return f"fewer than two {'methods' if level == 'method' else 'outputs'}"
    side = "people's values" if np.ptp(h[used]) == 0 else "the metric's scores"
    return f"{side} are all the same"
