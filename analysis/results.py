"""A number never travels alone: value, interval, how many, and why not."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from analysis.sentences import counted, sentence

Array = npt.NDArray[np.float64]
Counts = npt.NDArray[np.integer[Any]]
Mask = npt.NDArray[np.bool_]
NAN = float("nan")
# One row of a table: column to plain value.
TableRow = dict[str, object]


def records(rows: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a table by column name."""
    return [
        {str(name): value for name, value in row.items()}
        for row in rows.to_dict("records")
    ]


# The two sides of a correlation, in words.
PEOPLE_AND_METRIC = (sentence("people"), sentence("the metric"))
# One of what is drawn, in words.
ONE = {
    "stories": sentence("one story"),
    "methods": sentence("one method"),
    "annotators": sentence("one annotator"),
    "units": sentence("one unit"),
}


@dataclass(frozen=True)
class Groups:
    """Over how many groups a statistic is averaged, and why not over the others."""

    kind: str
    averaged: int
    too_few: int = 0
    people_same: int = 0
    metric_same: int = 0
    sides: tuple[str, str] = PEOPLE_AND_METRIC

    @property
    def left_out(self) -> int:
        """The number of groups in which it is undefined."""
        return self.too_few + self.people_same + self.metric_same

    @property
    def why(self) -> str:
        """The number of groups left out with the reasons, in words; empty if none is.

        >>> Groups("story", 56, too_few=3, people_same=7).why.split(": ")[0]
        '10 of 66 stories left out'
        """
        total = self.averaged + self.left_out
        people, metric = self.sides
        reasons = (
            (sentence("fewer than two outputs"), self.too_few),
            (
                sentence("{people}'s values all the same", people=people),
                self.people_same,
            ),
            (
                sentence("{metric}'s scores all the same", metric=metric),
                self.metric_same,
            ),
        )
        why = [sentence("{what} in {n}", what=what, n=n) for what, n in reasons if n]
        if not why:
            return ""
        return sentence(
            "{n} of {total} left out: {reasons}",
            n=self.left_out,
            total=counted(total, self.kind, {"story": "stories"}.get(self.kind, "")),
            reasons=why,
        )

    def columns(self) -> TableRow:
        """Return the columns of the table ``groups``."""
        return {
            "n_groups": self.averaged,
            "n_left_out": self.left_out,
            "too_few": self.too_few,
            "people_same": self.people_same,
            "metric_same": self.metric_same,
            "reason": self.why,
        }


@dataclass(frozen=True)
class Estimate:
    """A statistic with its interval, or the reason why it has none.

    `value`, `low` and `high` are NaN where there is none, `n` counts the points it
    rests on, `p_value` is two-sided for "no association", and `drawn` names what
    interval and test think of as drawn, such as ``stories+methods``.
    """

    value: float
    low: float = NAN
    high: float = NAN
    n: int = 0
    p_value: float = NAN
    reason: str = ""
    groups: Groups | None = None
    drawn: str = ""

    def columns(self) -> TableRow:
        """Return the columns that an estimate takes in most tables."""
        names = ("value", "low", "high", "n", "reason")
        return {name: getattr(self, name) for name in names}

    def bounds(self, name: str) -> TableRow:
        """Return value and bounds under a name, and under names with that prefix."""
        return {name: self.value, f"{name}_low": self.low, f"{name}_high": self.high}

    @property
    def n_groups(self) -> int:
        """Number of groups averaged; without groups 1, and 0 without a value."""
        if self.groups is not None:
            return self.groups.averaged
        return 0 if np.isnan(self.value) else 1


def undefined(reason: str, *, n: int = 0, groups: Groups | None = None) -> Estimate:
    """Return an estimate that has no value, and says why.

    >>> undefined("every score is the same", n=5).value
    nan
    """
    return Estimate(NAN, n=n, reason=reason, groups=groups)


def in_unit(value: Estimate, unit: float) -> Estimate:
    """Multiply a mean and its interval."""
    return replace(
        value, value=value.value * unit, low=value.low * unit, high=value.high * unit
    )


# Numbers as people read them: in the tables of a page and in LaTeX.
SHOWN_DECIMALS = 3
P_VALUES = ("p_value", "p_adjusted")
SMALLEST_P = 0.001
# Smaller values would be printed as 0.000; from the second on, digits say nothing more.
SMALLEST, LARGEST = 0.5 * 10**-SHOWN_DECIMALS, 1e9


def column_texts(column: "pd.Series[Any]") -> list[str]:
    """Return the cells of one column as text, alike in all of its rows.

    Empty where there is no value. Whole numbers have no decimals if all of the column
    are whole, other numbers three; what would be printed as zero without being it is
    written as a bound (p-values, by the column's name) or in scientific form.

    >>> column_texts(pd.Series([1, -0.25, float("nan"), 2e-7]))
    ['1.000', '-0.250', '', '2.0e-07']
    >>> column_texts(pd.Series([2e-7, 1.0], name="p_value"))
    ['<0.001', '1.000']
    """
    missing = column.isna()
    values = [
        None if gap else value for value, gap in zip(column, missing, strict=True)
    ]
    if pd.api.types.is_bool_dtype(column):
        return ["yes" if value else "no" for value in values]
    if not pd.api.types.is_numeric_dtype(column):
        return ["" if value is None else str(value) for value in values]
    numbers = [None if value is None else float(str(value)) for value in values]
    is_p = column.name in P_VALUES
    whole = not is_p and all(x is None or x.is_integer() for x in numbers)
    return ["" if x is None else _number(x, whole, is_p) for x in numbers]


def _number(value: float, whole: bool, is_p: bool) -> str:
    if is_p and value < SMALLEST_P:
        return f"<{SMALLEST_P}"
    if abs(value) >= LARGEST or 0 < abs(value) < SMALLEST:
        return f"{value:.1e}"
    return f"{value:.0f}" if whole else f"{value:.{SHOWN_DECIMALS}f}"
