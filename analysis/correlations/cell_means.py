"""What is correlated: people's means of cells by resample, and means of methods."""

from dataclasses import replace

import numpy as np

from analysis.inference.resampling import Draws
from analysis.reading.cells import CellGrid
from analysis.results import Array

HUMAN_DIGITS = 9
# Means of metric scores are computed numbers: those that differ by less than this share
# of what they are means of are equal.
ROUNDING = 1e-12


def resampled_human(grid: CellGrid, draws: Draws) -> tuple[Array, Array]:
    """Return people's cell means, and the weight of each cell, by resample."""
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
    human = total / np.maximum(count, 1)
    if not grid.judge:
        human = np.round(human, HUMAN_DIGITS)
    return human, weights * (count > 0)


def turned(grid: CellGrid) -> CellGrid:
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


def method_means(grid: CellGrid, draws: Draws) -> tuple[Array, Array, Array]:
    """Average people's values and scores over the cells of each method."""
    if grid.judge:
        scores = np.concatenate([grid.human[None], grid.scores])
        _, x, weights = method_means(replace(grid, scores=scores, judge=""), draws)
        return x[0], x[1:], weights
    known = np.where(grid.cells, grid.scores, 0.0)
    both_signs = (known < 0).any(axis=(1, 2)) & (known > 0).any(axis=(1, 2))
    if draws.units is None and draws.annotators is None:
        # Drawing stories is one matrix product.
        times = draws.stories.astype(float)
        total = np.where(draws.methods > 0, times @ grid.cells.astype(float), 0.0)
        h = np.where(total > 0, times @ np.where(grid.cells, grid.human, 0.0), 0.0)

        def summed(values: Array) -> Array:
            return np.where(total > 0, np.matmul(times, values), 0.0)
    else:
        human, weights = resampled_human(grid, draws)
        once = np.where(draws.methods[:, None, :] > 0, weights, 0.0)
        once = once * draws.stories[:, :, None]
        total = once.sum(axis=1)
        h = np.einsum("bsm,bsm->bm", once, np.broadcast_to(human, once.shape))

        def summed(values: Array) -> Array:
            return np.asarray(np.einsum("bsm,ksm->kbm", once, values))

    divisor = np.maximum(total, 1)
    x = summed(known) / divisor
    size = np.abs(x)
    size[both_signs] = summed(np.abs(known[both_signs])) / divisor
    return (
        np.round(h / divisor, HUMAN_DIGITS),
        merged_by_rounding(x, size),
        np.where(total > 0, draws.methods, 0).astype(float),
    )


def merged_by_rounding(values: Array, size: Array) -> Array:
    """Make means along the last axis equal that differ by no more than rounding."""
    tolerance = ROUNDING * size
    gaps = np.diff(np.sort(values))
    near = (gaps > 0) & (gaps <= tolerance.max(axis=-1, keepdims=True, initial=0))
    rows = near.any(axis=-1)
    found = values.copy()
    found[rows] = _merged_rows(values[rows], tolerance[rows])
    return found


def _merged_rows(values: Array, tolerance: Array) -> Array:
    """Make neighbours equal that differ by no more than their tolerance, (R, M)."""
    order = np.argsort(values, axis=1)
    ordered = np.take_along_axis(values, order, 1)
    slack = np.take_along_axis(tolerance, order, 1)
    new = np.ones(values.shape, bool)
    new[:, 1:] = np.diff(ordered) > np.maximum(slack[:, 1:], slack[:, :-1])
    first = np.maximum.accumulate(np.where(new, np.arange(values.shape[1]), 0), 1)
    found = np.empty_like(values)
    np.put_along_axis(found, order, np.take_along_axis(ordered, first, 1), 1)
    return found
