"""Numbers as people read them: in the tables of a page and in LaTeX."""

from typing import Any

import pandas as pd

from analysis.sentences import with_template

DECIMALS = 3
P_VALUES = ("p_value", "p_adjusted")
SMALLEST_P = 0.001
# Smaller values would be printed as 0.000; from the second on, digits say nothing more.
SMALLEST, LARGEST = 0.5 * 10**-DECIMALS, 1e9


def counted(n: float, noun: str, plural: str = "") -> str:
    """Return a number with its noun, whose plural may be an own one.

    >>> counted(1, "method"), counted(2, "pair of methods"), counted(0, "story")
    ('1 method', '2 pairs of methods', '0 stories')
    """
    text = f"{int(n)} {noun if n == 1 else plural or _plural(noun)}"
    return with_template(text, f"{{n}} {noun}", {"n": int(n)})


def _plural(noun: str) -> str:
    head, of, rest = noun.partition(" of ")
    is_story = head.endswith("y") and head[-2] not in "aeiou"
    return f"{head[:-1]}ies{of}{rest}" if is_story else f"{head}s{of}{rest}"


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
    return f"{value:.0f}" if whole else f"{value:.{DECIMALS}f}"
