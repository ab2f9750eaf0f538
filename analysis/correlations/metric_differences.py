"""Whether two metrics agree with people equally well."""

import itertools
import math
from collections.abc import Sequence
from functools import partial

import numpy as np
from scipy import stats

from analysis.correlations.level_estimates import Spread, coefficients_by_draw
from analysis.correlations.levels import method_means
from analysis.inference.cluster_variance import tested, with_holm
from analysis.inference.resampling import DECIMALS, bootstrap_p, interval, no_draws
from analysis.inference.scaling import near_one
from analysis.inference.significance import holm
from analysis.options import Sampling
from analysis.reading.cells import CellGrid
from analysis.results import NAN, PEOPLE_AND_METRIC, Array, TableRow
from analysis.sentences import sentence

# Two coefficients differ by no more.
MOST = 2.0


def metric_differences(
    grid: CellGrid,
    level: str,
    coefficients: Sequence[str],
    spread: Spread,
    sampling: Sampling,
) -> list[TableRow]:
    """Compare every two metrics by every coefficient at one level."""
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


def williams_t(r12: float, r13: float, r23: float, n: int) -> tuple[float, float]:
    r"""Compare two correlations with the same third variable.

    :math:`t = (r_{12} - r_{13}) \sqrt{(n-1)(1+r_{23}) / (2 \frac{n-1}{n-3} K +
    \bar r^2 (1-r_{23})^3)}` with :math:`K = 1 - r_{12}^2 - r_{13}^2 - r_{23}^2 +
    2 r_{12} r_{13} r_{23}` and :math:`\bar r = (r_{12} + r_{13}) / 2`.

    Source: Williams, E. J. (1959), The comparison of regression variables, JRSS B
    21(2); Steiger, J. H. (1980), Tests for comparing elements of a correlation matrix,
    Psychological Bulletin 87(2), equation 7.

    Examples
    --------
    >>> [round(x, 3) for x in williams_t(0.79097, 0.69887, 0.91451, 10)]
    [0.967, 0.366]
    """
    if n < 4 or any(math.isnan(r) for r in (r12, r13, r23)):
        return NAN, NAN
    k = max(1 - r12**2 - r13**2 - r23**2 + 2 * r12 * r13 * r23, 0.0)
    mean = (r12 + r13) / 2
    below = 2 * (n - 1) / (n - 3) * k + mean**2 * (1 - r23) ** 3
    if below < 1e-15 or r23 >= 1:
        return NAN, NAN
    t = (r12 - r13) * math.sqrt((n - 1) * (1 + r23) / below)
    return t, min(1.0, 2 * float(stats.t.sf(abs(t), n - 3)))


def williams_rows(grid: CellGrid) -> list[TableRow]:
    """Test every pair of metrics at method level, the one with independent points."""
    human, scores, weights = method_means(grid, no_draws(*grid.cells.shape))
    used = weights[0] > 0
    n = int(used.sum())
    points = near_one(np.vstack([human[:, used], scores[:, 0, used]]))
    varies = np.ptp(points, axis=1) > 0 if n else np.zeros(len(points), bool)
    with np.errstate(invalid="ignore", divide="ignore"):
        r = np.corrcoef(points) if n > 1 else np.full((len(points),) * 2, NAN)
    r = np.where(varies[:, None] & varies, r, NAN)
    rows: list[TableRow] = []
    for a, b in itertools.combinations(range(len(grid.metrics)), 2):
        r12, r13, r23 = (float(r[0, a + 1]), float(r[0, b + 1]), float(r[a + 1, b + 1]))
        t, p_value = williams_t(r12, r13, r23, n)
        rows.append(
            {
                "question": grid.question,
                "metric_a": grid.metrics[a],
                "metric_b": grid.metrics[b],
                "level": "method",
                "r_a": r12,
                "r_b": r13,
                "r_ab": r23,
                "n": n,
                "value": t,
                "p_value": p_value,
                "reason": _reason(t, n, varies[[0, a + 1, b + 1]].tolist()),
            }
        )
    adjusted = holm(np.array([row["p_value"] for row in rows], float))
    return [
        {**row, "p_adjusted": float(p)} for row, p in zip(rows, adjusted, strict=True)
    ]


def _reason(t: float, n: int, varies: list[bool]) -> str:
    if not math.isnan(t):
        return ""
    if n < 4:
        return sentence("{n} methods: four at least are needed", n=n)
    people, metric = PEOPLE_AND_METRIC
    if not varies[0]:
        return sentence("{people}'s values are all the same", people=people)
    if not all(varies):
        return sentence("{metric}'s scores are all the same", metric=metric)
    return sentence("the two metrics are the same up to scale")
