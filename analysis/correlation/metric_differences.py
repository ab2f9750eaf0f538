"""Whether two metrics agree with people equally well, for new stories and methods."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from analysis.correlation.levels import level_values, story_values
from analysis.inference.crossed import (
    Spread,
    leave_outs,
    methods_part,
    pair_values,
    spread_of_stories,
    tested,
    with_holm,
)
from analysis.inference.resampling import (
    DECIMALS,
    Draws,
    bootstrap_p,
    cluster_counts,
    interval,
    no_draws,
    stream,
)
from analysis.options import Sampling
from analysis.reading.cells import CellGrid
from analysis.results import NAN, Array, Counts, Mask, TableRow

# Draws behind the variance that stories add where a statistic is no mean over them.
STORY_DRAWS = 200


def metric_differences(
    grid: CellGrid,
    level: str,
    coefficients: Sequence[str],
    *,
    parts: tuple[str, ...],
    draws: Mapping[str, Array],
    sampling: Sampling,
) -> list[TableRow]:
    """Compare every two metrics by every coefficient at one level.

    Parameters
    ----------
    grid
        The common subset of one question.
    level
        ``"method"``, ``"story"``, ``"within_method"`` or ``"pooled"``.
    coefficients
        Some of ``kendall``, ``kendall_c``, ``spearman``, ``pearson``.
    parts
        What is thought of as drawn: stories and methods, unless others were asked for.
    draws
        Coefficient to its values in the resamples of `parts`, (K, B), from
        `levels.level_estimates`: where annotators are drawn the test rests on them.
    sampling
        Number of resamples (0 for neither interval nor test), coverage, seed.

    Returns
    -------
    list of dict
        Rows of ``metric_comparisons``, one a pair of metrics and coefficient. At level
        ``story`` `difference` is averaged over the stories in which both have a
        coefficient, `n_groups` of them. `p_adjusted` is Holm's over the pairs of the
        question, level and coefficient.

    Notes
    -----
    The test holds for what is thought of as drawn: the default, ``stories+methods``,
    for new stories and new methods, ``stories`` for new stories of these methods,
    ``methods`` for new methods in these stories, ``units`` for these of both. It is the
    difference over its standard error (`analysis.inference.crossed`) against Student's
    t, and the interval goes with it. How often it rejects equal metrics, with effects
    of their own for methods and stories and without, stands in ``docs/coverage.md``.

    Where annotators are drawn the test is the bootstrap's, 2 (c + 1) / (k + 1). Ratings
    of whole methods have no stories: there methods alone are drawn.
    """
    once = no_draws(*grid.cells.shape)
    point = _values(grid, level, once, coefficients)
    spreads: dict[str, CrossedValues] = {}
    if sampling["resamples"] and "annotators" not in parts:
        spreads = crossed_values(grid, level, coefficients, seed=sampling["seed"])
    if grid.human_is_method_level:
        parts = ("methods",)
    found: list[TableRow] = []
    for name in coefficients:
        rows: list[TableRow] = []
        for a, b in itertools.combinations(range(len(grid.metrics)), 2):
            apart = point[name][a, ..., 0] - point[name][b, ..., 0]
            defined = apart[np.isfinite(apart)]
            value = round(float(defined.mean()), DECIMALS) if defined.size else NAN
            row: TableRow = {
                "dimension": grid.question,
                "level": level,
                "coefficient": name,
                "metric_a": grid.metrics[a],
                "metric_b": grid.metrics[b],
                "difference": value,
                "n_groups": defined.size,
            }
            if name in spreads:
                spread = partial(spreads[name].spread, a, b)
                row |= tested(value, spread, parts, sampling)
            else:
                drawn = draws[name][a] - draws[name][b]
                row |= _drawn(value, drawn, parts, sampling["confidence"])
            rows.append(row)
        found += with_holm(rows)
    return found


def _drawn(
    value: float, drawn: Array, parts: tuple[str, ...], confidence: float
) -> TableRow:
    """Test a difference for what was drawn."""
    if np.isnan(value):
        drawn = drawn[:0]
    low, high, reason = interval(drawn, confidence)
    return {
        "low": low,
        "high": high,
        "p_value": bootstrap_p(drawn),
        "test": "+".join(parts) if drawn.size else "",
        "reason": reason,
    }


def _values(
    grid: CellGrid, level: str, draws: Draws, coefficients: Sequence[str]
) -> dict[str, Array]:
    """Return coefficients, (K, B), at level story those of every story, (K, S, B)."""
    if level == "story":
        return story_values(grid, draws, coefficients)
    return level_values(grid, level, draws, coefficients)


@dataclass(frozen=True)
class CrossedValues:
    """What the spread of every metric's coefficient, and of differences, rests on.

    Attributes
    ----------
    by_method
        Shape (K, 1 + M + M (M - 1) / 2): values by `leave_outs`; those of a mean over
        stories have the stories between, (K, S, ...).
    whole, apart
        Shape (K, B): values where whole stories are drawn, and where those of every
        method are drawn alone; None of a mean over stories, and of whole methods.
    n_methods, n_stories
        How many there are.
    """

    by_method: Array
    whole: Array | None
    apart: Array | None
    n_methods: int
    n_stories: int

    def spread(self, a: int, b: int | None = None) -> Spread:
        """Return the spread of a metric's coefficient, or of a difference of two."""

        def of(values: Array) -> Array:
            own = values[a] if b is None else values[a] - values[b]
            return np.asarray(np.round(own, DECIMALS))

        values = of(self.by_method)
        if values.ndim > 1:
            return spread_of_stories(values, self.n_methods)
        methods = methods_part(pair_values(values, self.n_methods), self.n_methods)
        stories, outputs = (
            NAN if drawn is None else float(np.nanvar(of(drawn)))
            for drawn in (self.whole, self.apart)
        )
        return Spread(methods, stories, outputs, self.n_methods, self.n_stories)


def crossed_values(
    grid: CellGrid, level: str, coefficients: Sequence[str], *, seed: int
) -> dict[str, CrossedValues]:
    """Compute every coefficient without each method, each two, and by drawn stories.

    Parameters
    ----------
    grid, level, coefficients
        As of `metric_differences`.
    seed
        Of the draws of stories.
    """
    S = len(grid.stories)
    used = np.flatnonzero(grid.cells.any(axis=0))
    M = used.size
    without: Counts = np.zeros((1 + M + M * (M - 1) // 2, len(grid.methods)), int)
    without[:, used] = leave_outs(M)
    by_method = Draws(np.ones((len(without), S), int), without)
    found = _values(grid, level, by_method, coefficients)
    whole: dict[str, Array] = {}
    apart: dict[str, Array] = {}
    if level != "story" and S > 1:
        rng = stream(seed, "stories", grid.question, level)
        drawn = story_draws(grid.cells, rng)
        whole, apart = (_values(grid, level, part, coefficients) for part in drawn)
    return {
        name: CrossedValues(found[name], whole.get(name), apart.get(name), M, S)
        for name in coefficients
    }


def story_draws(cells: Mask, rng: np.random.Generator) -> tuple[Draws, Draws]:
    """Draw stories as wholes, and those of every method alone."""
    S, M = cells.shape
    every = np.ones((STORY_DRAWS, M), int)
    whole = Draws(cluster_counts(S, STORY_DRAWS, rng), every)
    alone = np.zeros((STORY_DRAWS, S, M), int)
    for m in np.flatnonzero(cells.any(axis=0)):
        rows = np.flatnonzero(cells[:, m])
        alone[:, rows, m] = cluster_counts(len(rows), STORY_DRAWS, rng)
    return whole, Draws(np.ones((STORY_DRAWS, S), int), every, alone)
