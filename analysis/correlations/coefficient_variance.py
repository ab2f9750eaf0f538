"""Variances of coefficients, by stories and methods."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from analysis.correlations.levels import level_values, story_values
from analysis.inference.cluster_variance import (
    ClusterVariances,
    leave_outs,
    pair_values,
    variance_of_methods,
    variances_of_stories,
)
from analysis.inference.resampling import DECIMALS, Draws, cluster_counts, stream
from analysis.reading.cells import CellGrid
from analysis.results import NAN, Array, Counts, Mask

# Draws of stories where a coefficient is no mean over them: at least and at most, and
# cells that are drawn in all.
DRAWS = (200, 1000)
MOST_DRAWN = 2_000_000


def coefficients_by_draw(
    grid: CellGrid, level: str, draws: Draws, coefficients: Sequence[str]
) -> dict[str, Array]:
    """Return coefficients, (K, B), at level story those of every story, (K, S, B)."""
    if level == "story":
        return story_values(grid, draws, coefficients)
    return level_values(grid, level, draws, coefficients)


@dataclass(frozen=True)
class CoefficientVariances:
    """What variances of metrics' coefficients, and of their differences, rest on."""

    left_out: Array
    by_story: Array | None
    by_output: Array | None
    n_methods: int
    n_stories: int
    n_pairs: int
    parts: tuple[str, ...]

    def of(self, a: int, b: int | None = None) -> ClusterVariances:
        """Return the variances of a metric's coefficient, or of a difference."""

        def own(values: Array) -> Array:
            found = values[a] if b is None else values[a] - values[b]
            return np.asarray(np.round(found, DECIMALS))

        values, step = own(self.left_out), 2 / max(self.n_pairs, 1)
        if values.ndim > 1:
            return variances_of_stories(values, self.n_methods, step, self.parts)
        methods = variance_of_methods(
            pair_values(values, self.n_methods), self.n_methods
        )
        # Draws of S scatter (S - 1) / S times as much as S others would.
        S = self.n_stories
        stories, outputs = (
            NAN if drawn is None else float(np.nanvar(own(drawn))) * S / (S - 1)
            for drawn in (self.by_story, self.by_output)
        )
        return ClusterVariances(
            methods, stories, outputs, self.n_methods, S, step, self.parts
        )


def coefficient_variances(
    grid: CellGrid,
    level: str,
    coefficients: Sequence[str],
    parts: tuple[str, ...],
    *,
    seed: int,
) -> dict[str, CoefficientVariances]:
    """Compute every coefficient without each method, each two, and by drawn stories."""
    S = len(grid.stories)
    used = np.flatnonzero(grid.cells.any(axis=0))
    M = used.size
    without: Counts = np.zeros((1 + M + M * (M - 1) // 2, len(grid.methods)), int)
    without[:, used] = leave_outs(M)
    by_method = Draws(np.ones((len(without), S), int), without)
    found = coefficients_by_draw(grid, level, by_method, coefficients)
    by_story: dict[str, Array] = {}
    by_output: dict[str, Array] = {}
    if level != "story" and S > 1:
        rng = stream(seed, "stories", grid.question, level)
        drawn = story_draws(grid.cells, rng)
        by_story, by_output = (
            coefficients_by_draw(grid, level, part, coefficients) for part in drawn
        )
    sizes = {
        "method": np.array([M]),
        "pooled": grid.cells.sum(),
        "within_method": grid.cells.sum(axis=0),
    }.get(level, grid.cells.sum(axis=1))
    n_pairs = int((sizes * (sizes - 1) // 2).sum())
    return {
        name: CoefficientVariances(
            found[name], by_story.get(name), by_output.get(name), M, S, n_pairs, parts
        )
        for name in coefficients
    }


def story_draws(cells: Mask, rng: np.random.Generator) -> tuple[Draws, Draws]:
    """Draw stories as wholes, and for every method alone."""
    S, M = cells.shape
    B = int(np.clip(MOST_DRAWN // cells.size, *DRAWS))
    every = np.ones((B, M), int)
    by_story = Draws(cluster_counts(S, B, rng), every)
    alone = np.zeros((B, S, M), int)
    for m in np.flatnonzero(cells.any(axis=0)):
        rows = np.flatnonzero(cells[:, m])
        alone[:, rows, m] = cluster_counts(len(rows), B, rng)
    return by_story, Draws(np.ones((B, S), int), every, alone)
