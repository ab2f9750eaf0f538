"""Clean the cells of a column: each different one once, however many rows have it."""

import re
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import isfinite
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from analysis.reading.texts import as_number, is_nan_word
from analysis.results import NAN, Array, Counts, Mask
from analysis.tables import FLAGS, restored

Column: TypeAlias = "pd.Series[Any]"

# Kinds of cells that are equal only if they are written alike; of others, True is 1.
_ALIKE = ("string", "integer", "floating", "boolean", "empty")


@dataclass(frozen=True)
class Coded:
    """A column as its different values and which of them each row has."""

    codes: Counts
    values: list[Any]

    def texts(self) -> "Coded":
        """Return the values as clean text; those that become equal become one."""
        clean = np.array([as_text(value) for value in self.values] or [""], object)
        where, texts = pd.factorize(clean)
        return Coded(where[self.codes], list(texts))

    def mapped(self, function: Callable[[Any], str]) -> "Coded":
        """Return other text for each value."""
        return Coded(self.codes, [function(value) for value in self.values])

    def mask(self, test: Callable[[Any], bool]) -> Mask:
        """Return which rows have a value that passes a test."""
        return np.array([test(value) for value in self.values], bool)[self.codes]

    def column(self, index: pd.Index) -> Column:
        texts = np.array(self.values, object)
        try:
            values = pd.array(texts, dtype="str").take(self.codes)
        except UnicodeEncodeError:  # halves of letters: refused soon
            return pd.Series(texts[self.codes], index, dtype=object)
        return pd.Series(values, index)


def coded(column: Column) -> Coded:
    """Find the different values of a column, in the order they come."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        codes = column.cat.codes.to_numpy(np.intp)
        values = list(column.cat.categories)
    elif column.dtype != object or pd.api.types.infer_dtype(column) in _ALIKE:
        codes, uniques = pd.factorize(column)
        values = list(uniques)
    else:
        codes = np.where(column.isna(), -1, np.arange(len(column)))
        values = column.tolist()
    missing = codes < 0
    if missing.any():
        codes = np.where(missing, len(values), codes)
        values.append("")
    return Coded(codes, values)


def as_text(value: object) -> str:
    """Return a cell as text; letters that look the same become the same."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    text = str(value).strip()
    return restored(text if text.isascii() else unicodedata.normalize("NFC", text))


def numbers(column: Column) -> tuple[Array, Mask]:
    """Return a column as numbers, NaN for what is none, and which cells are empty."""
    if pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column):
        return column.to_numpy(float, na_value=NAN), column.isna().to_numpy(bool)
    found = coded(column)
    values = np.array([as_number(value) for value in found.values] or [NAN])
    return values[found.codes], found.mask(is_without_value)


def is_without_value(value: object) -> bool:
    """Say whether a cell of a column of numbers has none: it is empty, or ``nan``."""
    return as_text(value) == "" or is_nan_word(value)


def combined(columns: Iterable[Column]) -> npt.NDArray[np.int64]:
    """Return one number a row that is the same where all columns are the same."""
    keys = np.zeros(0, np.int64)
    size = 1
    for column in columns:
        codes, values = pd.factorize(column, sort=True, use_na_sentinel=False)
        if not len(keys):
            keys = np.zeros(len(codes), np.int64)
        if size * max(len(values), 1) >= 2**62:
            keys = np.unique(keys, return_inverse=True)[1].astype(np.int64)
            size = int(keys.max(initial=0)) + 1
        keys = keys * len(values) + codes
        size *= max(len(values), 1)
    return keys


def plain(column: Column) -> Column:
    """Return a categorical column as the text it stands for; others as they are."""
    if not isinstance(column.dtype, pd.CategoricalDtype):
        return column
    if column.cat.categories.dtype == "str":
        values = column.cat.categories.array.take(
            column.cat.codes.to_numpy(), allow_fill=True
        )
        return pd.Series(values, column.index)
    return column.astype(object)


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


def kept_rows(frame: pd.DataFrame, keys: Iterable[str]) -> pd.DataFrame:
    """Drop gold, repeated and excluded rows, and sort by the keys."""
    keep = np.ones(len(frame), bool)
    for column in FLAGS:
        if column in frame:
            keep &= ~true_flags(frame[column])
    rows = frame if keep.all() else frame[keep]
    rows = rows.copy(deep=False)
    present = [key for key in keys if key in rows]
    for key in present:
        rows[key] = key_texts(rows[key])
    if not present:
        return rows.reset_index(drop=True)
    order = np.argsort(combined(rows[key] for key in present), kind="stable")
    return rows.take(order).reset_index(drop=True)


def true_flags(flags: Column) -> Mask:
    """Say which flags are set, as a file or a frame writes them."""
    if flags.dtype == bool:
        return flags.to_numpy(bool)
    return coded(flags).mask(is_true)


def key_texts(keys: Column) -> Column:
    """Return a key of every row as text; a missing one is empty."""
    if keys.dtype == "str" and not keys.hasnans:
        return keys
    return coded(keys).mapped(str).column(keys.index)


def is_true(value: object) -> bool:
    """Say whether a flag is set, as a file or a frame writes it."""
    return str(value).strip().lower() in {"true", "1", "1.0"}


def without_methods(
    frame: pd.DataFrame, excluded: tuple[str, ...], columns: tuple[str, ...]
) -> pd.DataFrame:
    """Leave out rows that name an excluded method in one of the columns."""
    if not excluded:
        return frame.reset_index(drop=True)
    keep = ~frame[list(columns)].isin(excluded).any(axis=1)
    return frame[keep].reset_index(drop=True)
