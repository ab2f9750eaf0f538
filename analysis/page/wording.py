"""How the report words numbers: coefficients, intervals, p-values, ranks."""

import math
from collections.abc import Mapping
from typing import Any

import pandas as pd

NAMES = {"kendall": "Kendall's tau-b", "spearman": "Spearman's rho",
         "pearson": "Pearson's r"}  # fmt: skip
LEVELS = {
    "story": "inside stories",
    "pooled": "over all cells together",
    "method": "over method means",
}
FEW_METHODS = 10
# What has a larger (adjusted) p-value is not shown.
SIGNIFICANT = 0.05
SMALLEST_P = 0.01
# Whether the data show it, and how it reads.
Claim = tuple[bool, str]


def number(value: float) -> str:
    """Return a coefficient as text: two decimals, a true minus sign.

    Examples
    --------
    >>> number(-0.456)
    '−0.46'
    """
    # Adding 0.0 turns -0.0 into 0.0.
    return f"{round(value, 2) + 0.0:.2f}".replace("-", "\N{MINUS SIGN}")


def interval(row: Mapping[str, Any]) -> str:
    """Return [low, high], or nothing where there is none."""
    if math.isnan(row["low"]) or math.isnan(row["high"]):
        return ""
    return f" [{number(row['low'])}, {number(row['high'])}]"


def first_row(rows: pd.DataFrame) -> dict[str, Any]:
    """Return the first row by column name."""
    return {str(column): rows[column].iloc[0] for column in rows.columns}


def p_text(value: float) -> str:
    """Return a p-value after a comma, or nothing where there is none."""
    if math.isnan(value):
        return ""
    if value < SMALLEST_P:
        return f", p < {SMALLEST_P}"
    return f", p = {number(value)}"


def per_cent(value: float, low: float = math.nan, high: float = math.nan) -> str:
    """Return a share in per cent with its interval.

    Examples
    --------
    >>> per_cent(0.664, 0.6, 0.71), per_cent(0.5)
    ('66 % [60, 71]', '50 %')
    """
    text = f"{100 * value:.0f} %"
    if not (math.isnan(low) or math.isnan(high)):
        text += f" [{100 * low:.0f}, {100 * high:.0f}]"
    return text.replace("-", "\N{MINUS SIGN}")


def nth(rank: int) -> str:
    """Return a rank as people say it.

    Examples
    --------
    >>> nth(1), nth(6), nth(11), nth(22)
    ('first', 'sixth', '11th', '22nd')
    """
    words = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh",
             "eighth", "ninth", "tenth")  # fmt: skip
    if rank <= len(words):
        return words[rank - 1]
    ending = {1: "st", 2: "nd", 3: "rd"}.get(rank % 10, "th")
    return f"{rank}{'th' if rank % 100 in (11, 12, 13) else ending}"
