"""Coefficients at one level with their variances, intervals and tests."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from analysis.correlations.levels import (
    NOT_TESTED,
    at_level,
    can_vary,
    is_tested,
    level_point,
    level_values,
    method_means,
    story_values,
    why_undefined,
)
from analysis.inference.cluster_variance import (
    CROSSED,
    LEAST,
    MOST_PAIRED,
    ClusterVariances,
    leave_outs,
    pair_values,
    variance_of_methods,
    variances_of_stories,
)
from analysis.inference.resampling import (
    DECIMALS,
    EXACT_BELOW,
    Draws,
    cluster_counts,
    draw,
    estimate,
    follow_test,
    no_draws,
    permutation_p,
    rejects,
    stream,
)
from analysis.options import Sampling
from analysis.reading.cells import CellGrid
from analysis.results import NAN, Array, Counts, Estimate, Mask, undefined
from analysis.statistics import coefficient

# Draws of stories where a coefficient is no mean over them: at least and at most, and
# cells that are drawn in all.
DRAWS = (200, 1000)
MOST_DRAWN = 2_000_000


def coefficients_by_draw(
    grid: CellGrid, level: str, draws: Draws, coefficients: Sequence[str]
) -> dict[str, Array]:
    """Return coefficients, (K, B), at level story those of every story, (K, S, B)."""
    grid, level = at_level(grid, level)
    if level == "story":
        return story_values(grid, draws, coefficients)
    return level_values(grid, level, draws, coefficients)


@dataclass(frozen=True)
class CoefficientVariances:
    """Inputs of the variances of metrics' coefficients and their differences."""

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
    grid, level = at_level(grid, level)
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
        drawn = story_draws(grid.cells, rng, len(grid.metrics))
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


def story_draws(
    cells: Mask, rng: np.random.Generator, n_metrics: int
) -> tuple[Draws, Draws]:
    """Draw stories as wholes, and for every method alone; less often for many."""
    S, M = cells.shape
    drawn_from = cells.size * max(n_metrics / MOST_PAIRED, 1)
    B = int(np.clip(MOST_DRAWN // drawn_from, *DRAWS))
    every = np.ones((B, M), int)
    by_story = Draws(cluster_counts(S, B, rng), every)
    alone = np.zeros((B, S, M), int)
    for m in np.flatnonzero(cells.any(axis=0)):
        rows = np.flatnonzero(cells[:, m])
        alone[:, rows, m] = cluster_counts(len(rows), B, rng)
    return by_story, Draws(np.ones((B, S), int), every, alone)


@dataclass(frozen=True)
class Spread:
    """Inputs of the intervals and tests of the coefficients of one level."""

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
    """Compute what intervals and tests of one level rest on."""
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

    Interval and test are those of `analysis.inference.cluster_variance`. Fewer than
    five methods, or stories, are too few to speak of others: then both are for new
    stories of these methods, or for new methods in these stories, and `Estimate.drawn`
    says so.

    At level ``method``, of fewer than ten methods, the p-value is exact, by all orders
    of the methods; the interval follows that test, and is of the bootstrap where there
    are fewer than five. At level ``residual`` only Pearson's r has either. Where
    annotators are drawn interval and test are of the
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
            if not is_tested(level, name):
                reason = NOT_TESTED if sampling["resamples"] else ""
                one = Estimate(value, n=n, groups=groups, reason=reason)
                found[metric, name] = one
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
