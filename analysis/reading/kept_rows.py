"""Which rows of the four tables enter an analysis, in a fixed order."""

from collections.abc import Iterable

import numpy as np
import pandas as pd

from analysis.reading.column_cleaning import Column, coded, combined
from analysis.results import Mask
from analysis.tables import FLAGS


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
