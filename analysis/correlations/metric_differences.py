"""Whether two metrics agree with people equally well, for new stories and methods."""

import itertools
from collections.abc import Sequence
from functools import partial

import numpy as np

from analysis.correlations.coefficient_variance import coefficients_by_draw
from analysis.correlations.level_estimates import Spread
from analysis.inference.differences import tested, with_holm
from analysis.inference.resampling import DECIMALS, bootstrap_p, interval, no_draws
from analysis.options import Sampling
from analysis.reading.cells import CellGrid
from analysis.results import NAN, Array, TableRow

# Two coefficients differ by no more.
MOST = 2.0


def metric_differences(
    grid: CellGrid,
    level: str,
    coefficients: Sequence[str],
    spread: Spread,
    sampling: Sampling,
) -> list[TableRow]:
    """Compare every two metrics by every coefficient at one level.

    The test holds for what is thought of as drawn: the default, ``stories+methods``,
    for new stories and new methods, ``stories`` for new stories of these methods,
    ``methods`` for new methods in these stories, ``units`` for these of both. It is the
    difference over its standard error (`analysis.inference.cluster_variance`) against
    Student's t, and the interval goes with it. How often it rejects equal metrics, with
    effects of their own for methods and stories and without, stands in
    ``docs/coverage.md``.

    Where annotators are drawn the test is the bootstrap's, 2 (c + 1) / (k + 1). Ratings
    of whole methods have no stories: by default methods alone are drawn there.
    """
    once = no_draws(*grid.cells.shape)
    point = coefficients_by_draw(grid, level, once, coefficients)
    parts, known = spread.parts, spread.variances
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
            if name in known:
                of_both = partial(known[name].of, a, b)
                row |= tested(value, of_both, sampling, most=MOST)
            else:
                drawn = spread.draws.get(name, np.empty((len(grid.metrics), 0)))
                row |= _drawn(value, drawn[a] - drawn[b], parts, sampling["confidence"])
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
