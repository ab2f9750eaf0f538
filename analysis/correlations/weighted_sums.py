"""What sums over weighted pairs of points and their ranks consist of."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from analysis.results import Array

# float32 holds whole numbers below this exactly.
EXACT = 2**24

Floats = npt.NDArray[np.floating[Any]]
Levels = npt.NDArray[np.int64]
Signs = npt.NDArray[np.int8]


@dataclass(frozen=True)
class Ties:
    """Weights summed over points of equal value, each of shape (..., G, B)."""

    total: Array
    squares: Array
    cubes: Array
    values: Array

    @property
    def pairs(self) -> Array:
        """Ordered pairs of copies with different values."""
        return self.total**2 - self.squares

    @property
    def ranks(self) -> Array:
        """Sum of the squared centred ranks (doubled), over all copies."""
        return (self.total**3 - self.cubes) / 3


@dataclass(frozen=True)
class RankSums:
    """What Kendall's and Spearman's coefficients are made of: sums (1 + K, 6, G, B).

    People come first. Of each: C - D, the products of ranks, and the sums of `Ties`.
    """

    sums: Array

    @property
    def pairs(self) -> Array:
        return np.asarray(self.sums[1:, 0])

    @property
    def ranks(self) -> Array:
        return np.asarray(self.sums[1:, 1])

    @property
    def human(self) -> Ties:
        return Ties(*self.sums[0, 2:])

    @property
    def metric(self) -> Ties:
        return Ties(*self.sums[1:, 2:].swapaxes(0, 1))


def dense_levels(values: Array | Levels) -> Levels:
    """Replace values by whole numbers of the same order, from 0 on."""
    order = np.unique(values, return_inverse=True)[1]
    return np.asarray(order.reshape(values.shape), np.int64)


def signs_of(values: Floats | Levels) -> Signs:
    """Compare all values with each other: (..., n) to (..., n, n)."""
    rows, columns = values[..., :, None], values[..., None, :]
    more, less = rows > columns, rows < columns
    return np.asarray(more.view(np.int8) - less.view(np.int8))
