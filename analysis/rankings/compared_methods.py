"""Every two methods compared by what is known of each, and what ranks that allows."""

from dataclasses import dataclass

import numpy as np

from analysis.inference.crossed_clusters import CrossedCovariance
from analysis.inference.significance import holm
from analysis.results import Array, Counts, TableRow


@dataclass(frozen=True)
class MethodGaps:
    """The differences of every two of M methods."""

    n_methods: int
    first: Counts
    second: Counts
    value: Array
    low: Array
    high: Array
    p_value: Array
    p_adjusted: Array

    def settled_ranks(self, confidence: float) -> tuple[Array, Array]:
        """Return the best and the worst rank that each method may have, 1 being best.

        A method ranks before another one for sure where `p_adjusted` of the two is at
        most 1 - confidence. One plus the methods that are surely better, to the
        methods that are not surely worse: these ranks hold together for all methods
        (Mogstad, Romano, Shaikh and Wilhelm 2024, Review of Economic Studies 91,
        section 3), and say of two methods what their comparison says.
        """
        apart = self.p_adjusted <= 1 - confidence
        worse = np.where(self.value < 0, self.first, self.second)[apart]
        better = np.where(self.value < 0, self.second, self.first)[apart]
        M = self.n_methods
        best = 1 + np.bincount(worse, minlength=M)
        worst = M - np.bincount(better, minlength=M)
        return np.asarray(best, float), np.asarray(worst, float)

    def rows(self, methods: tuple[str, ...], scale: float = 1.0) -> list[TableRow]:
        """Return a row a pair: `method_a`, `method_b`, `difference` in units of scale.

        Beside it its interval, `p_value` and `p_adjusted`.
        """
        return [
            {
                "method_a": methods[self.first[k]],
                "method_b": methods[self.second[k]],
                "difference": float(self.value[k] * scale),
                "low": float(self.low[k] * scale),
                "high": float(self.high[k] * scale),
                "p_value": float(self.p_value[k]),
                "p_adjusted": float(self.p_adjusted[k]),
            }
            for k in range(len(self.value))
        ]


def method_gaps(
    values: Array, covariance: CrossedCovariance, confidence: float
) -> MethodGaps:
    """Compare every two methods."""
    M = len(values)
    first, second = np.triu_indices(M, 1)
    unit = np.eye(M)
    value = values[first] - values[second]
    errors = covariance.of(unit[first] - unit[second])
    low, high = errors.intervals(value, confidence)
    p_value = errors.p_values(value)
    return MethodGaps(M, first, second, value, low, high, p_value, holm(p_value))
