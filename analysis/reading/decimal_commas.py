"""Numbers with a comma before their decimals, where it can mean nothing else."""

import re
from collections.abc import Iterable
from math import isfinite
from typing import Any

from analysis.reading.column_cleaning import as_text
from analysis.reading.number_text import as_number

_COMMA = re.compile(r"[+-]?[0-9]*,[0-9]+([eE][+-]?[0-9]+)?")
_THOUSANDS = re.compile(r"[+-]?[1-9][0-9]{0,2},[0-9]{3}")


def has_decimal_comma(value: Any) -> bool:
    """Say whether a cell may be a number with a decimal comma."""
    return isinstance(value, str) and _COMMA.fullmatch(value.strip()) is not None


def with_point(value: Any) -> Any:
    """Return a cell with a point in place of its decimal comma."""
    return value.replace(",", ".") if has_decimal_comma(value) else value


def as_tags(values: list[Any]) -> list[Any]:
    """Return the values of a tag, with points where all of them are numbers."""
    pointed = [with_point(value) for value in values]
    filled = (value for value in pointed if as_text(value) != "")
    is_number = all(isfinite(as_number(value)) for value in filled)
    return pointed if is_number and not why_no_decimal_comma(values) else values


def why_no_decimal_comma(cells: Iterable[Any]) -> str:
    """Return what would be right instead of the commas; empty where they are decimal.

    Examples
    --------
    >>> why_no_decimal_comma(["0,5", "1,234", "3"])
    ''
    >>> why_no_decimal_comma(["0,5", "1.234"])
    'a decimal point, as other numbers of this table have'
    >>> why_no_decimal_comma(["1,234"])
    'a number such as 1234 or 1.234: the comma may mean either'
    """
    texts = [cell.strip() for cell in cells if isinstance(cell, str)]
    commas = [text for text in texts if has_decimal_comma(text)]
    if commas and any("." in text and isfinite(as_number(text)) for text in texts):
        return "a decimal point, as other numbers of this table have"
    if commas and all(_THOUSANDS.fullmatch(text) for text in commas):
        return "a number such as 1234 or 1.234: the comma may mean either"
    return ""
