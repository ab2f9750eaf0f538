"""Which rows of the three tables enter an analysis, in a fixed order."""

from collections.abc import Iterable

import numpy as np
import pandas as pd

from analysis.tables import FLAGS


def kept_rows(frame: pd.DataFrame, keys: Iterable[str]) -> pd.DataFrame:
    """Drop gold, repeated and excluded rows, and sort by the keys.

    Parameters
    ----------
    frame
        Ratings, choices or scores.
    keys
        Columns that order the rows; absent ones are skipped. Missing keys
        become the empty string, and all keys become text.

    Returns
    -------
    DataFrame
        A copy whose order does not depend on the order of the file.
    """
    keep = np.ones(len(frame), bool)
    for column in FLAGS:
        if column in frame:
            keep &= ~frame[column].map(is_true).to_numpy(bool)
    rows = frame[keep].copy()
    present = [key for key in keys if key in rows]
    for key in present:
        rows[key] = rows[key].map(key_text)
    return rows.sort_values(present, kind="stable", ignore_index=True)


def is_true(value: object) -> bool:
    """Say whether a flag is set, as a file or a frame writes it."""
    return str(value).strip().lower() in {"true", "1", "1.0"}


def key_text(value: object) -> str:
    """Return a key as text; a missing one is empty."""
    return "" if pd.isna(value) else str(value)  # type: ignore[call-overload]


def without_methods(
    frame: pd.DataFrame, excluded: tuple[str, ...], columns: tuple[str, ...]
) -> pd.DataFrame:
    """Leave out rows that name an excluded method in one of the columns."""
    keep = ~frame[list(columns)].isin(excluded).any(axis=1)
    return frame[keep].reset_index(drop=True)
