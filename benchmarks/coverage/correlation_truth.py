"""The coefficients and accuracies in pairs that an endless study would give."""

import functools
from dataclasses import replace

import numpy as np
from scipy import stats

from analysis.correlations.levels import level_values
from analysis.inference.resampling import no_draws
from analysis.options import COEFFICIENTS
from analysis.reading.cells import CellGrid
from benchmarks.coverage import studies
from benchmarks.coverage.studies import Design, World, generator, world

# By metric (or "difference" of the two), level and statistic.
Truth = dict[tuple[str, str, str], float]


def coefficient(name: str, x: np.ndarray, y: np.ndarray) -> float:
    compute = {
        "kendall": stats.kendalltau,
        "spearman": stats.spearmanr,
        "pearson": stats.pearsonr,
    }
    return float(compute[name](x, y).statistic)


@functools.cache
def methods_kept(design: Design, number: int) -> Truth:
    """Truth for these methods over endless stories."""
    here = world(design, number)
    grid = studies.simulated_study(
        here, here.methods[None], 12_000, generator(2, number)
    )
    pairs = np.stack(np.triu_indices(design.methods, 1), axis=1)
    return with_differences(
        inside_stories(grid)
        | coefficients("pooled", grid.human, grid.scores)
        | of_methods(here, here.methods)
        | accuracies(grid.human[:, pairs], grid.scores[:, :, pairs])
    )


@functools.cache
def methods_drawn(design: Design, number: int) -> Truth:
    """Truth over endless stories and methods, for these annotators.

    Inside a story: coefficients over as many methods as the study has.
    """
    here, rng = world(design, number), generator(11, number)
    n, m = 240_000 // design.methods, design.methods
    fresh = studies.method_effects(design, n * m, rng).reshape(n, m, -1)
    return with_differences(
        endless_methods(replace(design, stories=0, methods=0), number)
        | inside_stories(studies.simulated_study(here, fresh, n, rng))
    )


@functools.cache
def endless_methods(design: Design, number: int) -> Truth:
    """Return what does not depend on the size of a study."""
    here, rng = world(design, number), generator(3, number)
    # Two outputs a story: pooled pairs are of different stories and methods.
    n = 100_000
    methods = studies.method_effects(design, 2 * n, rng).reshape(n, 2, -1)
    grid = studies.simulated_study(here, methods, n, rng)
    return (
        accuracies(grid.human, grid.scores)
        | coefficients("pooled", grid.human[:, 0], grid.scores[:, :, 0])
        | of_methods(here, studies.method_effects(design, n, rng))
    )


def coefficients(level: str, human: np.ndarray, scores: np.ndarray) -> Truth:
    """Correlate people's values with the scores of each metric, (K, ...)."""
    return {
        (metric, level, name): coefficient(name, human.ravel(), x.ravel())
        for metric, x in zip(studies.METRICS, scores, strict=True)
        for name in COEFFICIENTS
    }


def of_methods(here: World, methods: np.ndarray) -> Truth:
    """Correlate means over endless stories."""
    human = studies.expected_rating(here, methods[:, 0])
    return coefficients("method", human, studies.expected_scores(methods))


def inside_stories(grid: CellGrid) -> Truth:
    once = no_draws(*grid.cells.shape)
    values = level_values(grid, "story", once, COEFFICIENTS)
    return {
        (metric, "story", name): float(values[name][k, 0])
        for k, metric in enumerate(studies.METRICS)
        for name in COEFFICIENTS
    }


def accuracies(human: np.ndarray, scores: np.ndarray) -> Truth:
    """PPA of pairs of outputs of one story: human (.., 2), scores (K, .., 2)."""
    sign = np.sign(human[..., 0] - human[..., 1])
    clear = sign != 0
    found = {}
    for k, metric in enumerate(studies.METRICS):
        x = np.sign(scores[k, ..., 0] - scores[k, ..., 1])[clear]
        hit, tie = (x == sign[clear]).mean(), (x == 0).mean()
        found[metric, "story", "ppa strict"] = float(hit)
        found[metric, "story", "ppa half"] = float(hit + tie / 2)
    return found


def with_differences(found: Truth) -> Truth:
    one, other = studies.METRICS
    return found | {
        ("difference", level, name): value - found[other, level, name]
        for (metric, level, name), value in found.items()
        if metric == one
    }
