"""A number never travels alone: value, interval, how many, and why not."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Counts = npt.NDArray[np.integer[Any]]
Mask = npt.NDArray[np.bool_]
NAN = float("nan")
# One row of a table: column to plain value.
Row = dict[str, object]


@dataclass(frozen=True)
class Estimate:
    """A statistic with its interval, or the reason why it has none.

    Attributes
    ----------
    value
        The statistic on the data as they are; NaN when it is undefined.
    low, high
        Percentile interval; NaN when there is none.
    n
        Number of points it rests on.
    n_groups
        Number of groups averaged; 1 when there are no groups.
    p_value
        Two-sided, for "no association"; NaN when no test was made.
    reason
        Why the value, or only the interval, is missing; empty otherwise.
    """

    value: float
    low: float = NAN
    high: float = NAN
    n: int = 0
    n_groups: int = 1
    p_value: float = NAN
    reason: str = ""


def undefined(reason: str, *, n: int = 0, n_groups: int = 0) -> Estimate:
    """Return an estimate that has no value, and says why.

    Examples
    --------
    >>> undefined("every score is the same", n=5).value
    nan
    """
    return Estimate(NAN, n=n, n_groups=n_groups, reason=reason)
