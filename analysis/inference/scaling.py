"""Numbers brought near 1 before they are squared, without changing a digit."""

import math

import numpy as np

from analysis.results import Array, Mask

MOST_EXPONENT = 1023


def near_one(
    values: Array, used: Array | Mask | None = None, *, axis: int = -1
) -> Array:
    """Multiply by the power of two that brings the largest size to 0.5 up to 1."""
    if used is not None:
        values = np.where(used, values, 0.0)
    largest = np.abs(values).max(axis=axis, keepdims=True, initial=0.0)
    return np.asarray(np.ldexp(values, -np.frexp(largest)[1]))


def unit_of(values: Array) -> float:
    """Return the power of two next above the largest size; 1 where all are 0."""
    largest = float(np.abs(values[np.isfinite(values)]).max(initial=0.0))
    if largest == 0:
        return 1.0
    return float(np.ldexp(1.0, min(math.frexp(largest)[1], MOST_EXPONENT)))


def divided(part: Array, whole: Array) -> Array:
    """Divide; NaN where there is no whole."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(whole > 0, part / whole, np.nan)
