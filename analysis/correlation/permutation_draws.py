"""Coins that decide whose scores of two metrics are exchanged, many throws at once.

A coin of 1 leaves the scores of a point where they are, -1 exchanges them.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from analysis.correlation.weighted_sums import Floats, Levels
from analysis.results import Array, Mask

Signs = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Coins:
    """Coins of the points, shared by all groups.

    Attributes
    ----------
    points
        Shape (N, B).
    """

    points: npt.NDArray[np.floating[Any]]

    @property
    def swaps(self) -> int:
        """The number of swaps, B."""
        return int(self.points.shape[1])

    @property
    def clusters(self) -> Levels | None:
        """Every point has its own coin."""
        return None

    def some(self, points: Levels, draws: slice) -> Signs:
        """Return the coins of some points in some throws."""
        return self.points[points, draws].astype(np.float32)

    def moved(self, parts: list[Array]) -> list[Array]:
        """Sum parts (G, N) times coins over the points: each (G, B)."""
        return np.split(np.concatenate(parts) @ self.points, len(parts))


@dataclass(frozen=True)
class CellCoins:
    """Coins of the cells of a table, products of those of its rows and columns.

    Attributes
    ----------
    rows, columns
        Shapes (B, S) and (B, M).
    cells
        Shape (S, M): the cells that are points, row by row.
    """

    rows: Array
    columns: Array
    cells: Mask

    @property
    def swaps(self) -> int:
        """The number of swaps, B."""
        return len(self.rows)

    @cached_property
    def _places(self) -> tuple[Levels, Levels]:
        rows, columns = np.nonzero(self.cells)
        return rows, columns

    @cached_property
    def _rows_alone(self) -> bool:
        return bool((self.columns == 1).all())

    @cached_property
    def points(self) -> Signs:
        """The coin of every cell, (N, B); made only where few scores tie."""
        return self.some(np.arange(len(self._places[0])), slice(None))

    @property
    def clusters(self) -> Levels | None:
        """Starts of the rows, where columns throw no coins."""
        if not self._rows_alone:
            return None
        return np.flatnonzero(np.diff(self._places[0], prepend=-1))

    def some(self, points: Levels, draws: slice) -> Signs:
        """Return the coins of some points in some throws."""
        rows, columns = (place[points] for place in self._places)
        found = self.rows.T[rows, draws].astype(np.float32)
        if not self._rows_alone:
            found *= self.columns.T[columns, draws]
        return found

    def moved(self, parts: list[Array]) -> list[Array]:
        """Sum over rows by a matrix product, then over columns."""
        table = np.zeros((*self.cells.shape, len(parts)))
        table[self.cells] = np.concatenate(parts).T
        if self._rows_alone:
            return list((self.rows @ table.sum(axis=1)).T[:, None])
        S, M = self.cells.shape
        sums = (self.rows @ table.reshape(S, -1)).reshape(-1, M, len(parts))
        return list(np.einsum("bmp,bm->pb", sums, self.columns)[:, None])


AnyCoins = Coins | CellCoins


@dataclass(frozen=True)
class Thrown:
    """Coins 1 (kept) or -1 (swapped) of each story and method; the first keeps all.

    A cell's coin is the product: stories (1 + B, S) times methods (1 + B, M), or its
    own, units (1 + B, S, M).

    What all pairs of metrics share is prepared once: `coins` of the points of a
    level, and `own`, what ties inside each metric add up to.
    """

    stories: Array
    methods: Array
    units: Array | None = None
    coins: AnyCoins | None = None
    own: dict[int, Floats] | None = None

    def turned(self) -> "Thrown":
        """Exchange stories and methods."""
        units = None if self.units is None else self.units.transpose(0, 2, 1)
        return Thrown(self.methods, self.stories, units)

    def whole(self, cells: Mask) -> Array:
        """Return the coin of all cells where they have the same one, else 0: (B,)."""
        if self.units is not None:
            units = self.units[:, cells]
            return np.where((units == units[:, :1]).all(axis=1), units[:, 0], 0.0)
        alike = [(c == c[:, :1]).all(axis=1) for c in (self.stories, self.methods)]
        one = self.stories[:, 0] * self.methods[:, 0]
        return np.where(np.logical_and(*alike), one, 0.0)

    def of_cells(self, cells: Mask) -> AnyCoins:
        """Return the coin of every existing cell."""
        if self.units is not None:
            return Coins(np.ascontiguousarray(self.units[:, cells].T))
        return CellCoins(self.stories, self.methods, cells)
