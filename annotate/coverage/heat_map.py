"""Methods, or pairs of methods, by stories: the map of how far a study is."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import urlencode

import numpy as np

from annotate.coverage.counts import UnitCounts, UnitNumbers

# So many columns and rows are shown one by one; more are folded into fewer.
MOST, COLUMNS, ROWS = 40, 10, 20
NOWHERE = -1


class UnitShare(NamedTuple):
    done: int
    wanted: int


@dataclass(frozen=True)
class Cell:
    """The slots of one row in one column; several units where these are folded."""

    query: str
    folded: bool
    done: int
    doubted: int
    leased: int
    wanted: int
    aside: int
    worst: UnitShare

    @property
    def adjusted(self) -> int:
        """Return the done slots of annotators whom no rule has flagged."""
        return self.done - self.doubted

    @property
    def text(self) -> str:
        if self.doubted:
            return f"{self.done} ({self.adjusted})/{self.wanted}"
        return f"{self.done}/{self.wanted}"

    @property
    def share(self) -> int:
        """Return done of wanted in quarters, 0 to 4; 4 only when complete."""
        return 4 * self.done // self.wanted if self.wanted else 0


@dataclass(frozen=True)
class Fold:
    """Neighbouring names shown as one; a lone name is itself."""

    first: int
    last: int
    names: tuple[str, ...]

    @property
    def is_folded(self) -> bool:
        return len(self.names) > 1

    @property
    def label(self) -> str:
        if self.is_folded:
            return f"{self.names[0]} – {self.names[-1]}"
        return self.names[0]

    @property
    def span(self) -> str:
        """Return the places it holds, as the page's address names them."""
        return f"{self.first}-{self.last}"


@dataclass(frozen=True)
class HeatMapRow:
    """One method, or one pair of methods, over the stories shown; or several."""

    fold: Fold
    methods: tuple[str, ...]
    cells: tuple[Cell | None, ...]
    done: int
    doubted: int
    wanted: int

    @property
    def name(self) -> str:
        return self.fold.label

    @property
    def query(self) -> str:
        """Return how the list of slots is asked for those of this row."""
        return urlencode({"method": self.methods}, doseq=True)


@dataclass(frozen=True)
class HeatMap:
    """The heat map: what stands in its columns and rows, and how much there is."""

    columns: tuple[Fold, ...]
    rows: tuple[HeatMapRow, ...]
    n_stories: int
    n_rows: int
    doubted: int
    shown: str = ""

    @property
    def is_part(self) -> bool:
        return bool(self.shown)

    @property
    def is_folded(self) -> bool:
        return any(fold.is_folded for fold in self.columns) or any(
            row.fold.is_folded for row in self.rows
        )


def grid(found: UnitCounts, *, stories: str = "", rows: str = "") -> HeatMap:
    """Arrange units by method and story; fold what is more than fits."""
    columns = fold(found.stories, stories, COLUMNS)
    bands = fold([" / ".join(methods) for methods in found.methods], rows, ROWS)
    sums = _sums(found, bands, columns)
    made = []
    for i, band in enumerate(bands):
        methods = () if band.is_folded else found.methods[band.first - 1]
        cells = [
            _cell(sums[i, j], methods, band, column) if (i, j) in sums else None
            for j, column in enumerate(columns)
        ]
        present = [cell for cell in cells if cell is not None]
        made.append(
            HeatMapRow(
                band,
                methods,
                tuple(cells),
                sum(cell.done for cell in present),
                sum(cell.doubted for cell in present),
                sum(cell.wanted for cell in present),
            )
        )
    shown = f"{stories} {rows}".strip()
    doubted = sum(row.doubted for row in made)
    return HeatMap(
        tuple(columns),
        tuple(made),
        len(found.stories),
        len(found.methods),
        doubted,
        shown,
    )


def _sums(
    found: UnitCounts, bands: Sequence[Fold], columns: Sequence[Fold]
) -> dict[tuple[int, int], tuple[Any, ...]]:
    """Sum the units of each cell that has any, by place of its row and column."""
    band = _folds(bands, len(found.methods))[found.row]
    column = _folds(columns, len(found.stories))[found.column]
    shown = (band != NOWHERE) & (column != NOWHERE)
    cell = (band * len(columns) + column)[shown]
    done, wanted = found.done[shown], found.wanted[shown]
    # Sorted by cell, and in each by share: the first is furthest behind.
    order = np.lexsort((done / np.maximum(wanted, 1), cell))
    cells, first = np.unique(cell[order], return_index=True)
    if not len(cells):
        return {}
    summed = [
        np.add.reduceat(values[order], first).tolist()
        for values in (
            done,
            found.doubted[shown],
            found.leased[shown],
            wanted,
            found.aside[shown],
        )
    ]
    worst = map(UnitShare, done[order][first].tolist(), wanted[order][first].tolist())
    return {
        divmod(place, len(columns)): tuple(values)
        for place, *values in zip(cells.tolist(), *summed, worst, strict=True)
    }


def _folds(folds: Sequence[Fold], n: int) -> UnitNumbers:
    found = np.full(n, NOWHERE, np.int64)
    for place, one in enumerate(folds):
        found[one.first - 1 : one.last] = place
    return found


def fold(names: Sequence[str], places: str, into: int, most: int = MOST) -> list[Fold]:
    """Return names one by one, or neighbours together where they are many."""
    first, last = _span(places, len(names))
    n = last - first + 1
    size = -(-n // into) if n > most else 1
    ends = [(at, min(at + size - 1, last)) for at in range(first, last + 1, size)]
    return [Fold(at, end, tuple(names[at - 1 : end])) for at, end in ends]


def _span(places: str, n: int) -> tuple[int, int]:
    """Return the first and the last place that an address names; all if it is odd."""
    low, _dash, high = places.partition("-")
    if not (low.isdecimal() and high.isdecimal()) or len(places) > 20:
        return 1, n
    first, last = int(low), min(int(high), n)
    return (first, last) if 1 <= first <= last else (1, n)


def _cell(
    sums: tuple[Any, ...], methods: tuple[str, ...], band: Fold, column: Fold
) -> Cell:
    folded = band.is_folded or column.is_folded
    if folded:
        query = urlencode({"stories": column.span, "rows": band.span})
    else:
        query = urlencode({"method": methods, "story": column.names[0]}, doseq=True)
    return Cell(query, folded, *sums)
