"""Methods, or pairs of methods, by stories: the map of how far a study is."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from annotate.coverage.counts import UnitCount

# So many columns and rows are shown one by one; more are folded into fewer.
MOST, COLUMNS, ROWS = 40, 10, 20


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
    worst: UnitCount

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

    @property
    def present(self) -> list[Cell]:
        return [cell for cell in self.cells if cell is not None]

    @property
    def done(self) -> int:
        return sum(cell.done for cell in self.present)

    @property
    def wanted(self) -> int:
        return sum(cell.wanted for cell in self.present)

    @property
    def name(self) -> str:
        return self.fold.label

    @property
    def query(self) -> str:
        """Return how the list of slots is asked for those of this row."""
        return urlencode({"method": self.methods}, doseq=True)


@dataclass(frozen=True)
class HeatMap:
    """The heat map: what stands in its columns and rows, and which part was asked."""

    columns: tuple[Fold, ...]
    rows: tuple[HeatMapRow, ...]
    part: str = ""

    @property
    def is_folded(self) -> bool:
        return any(fold.is_folded for fold in self.columns) or any(
            row.fold.is_folded for row in self.rows
        )

    @property
    def marks(self) -> dict[str, bool]:
        """Return which small marks stand in the map, so that its legend names them."""
        cells = [cell for row in self.rows for cell in row.present]
        return {
            "doubted": any(cell.doubted for cell in cells),
            "leased": any(cell.leased and not cell.folded for cell in cells),
            "aside": any(cell.aside for cell in cells),
        }


def grid(found: Sequence[UnitCount], *, stories: str = "", rows: str = "") -> HeatMap:
    """Arrange units by method and story; fold what is more than fits."""
    keys = sorted({unit.story for unit in found})
    sets = sorted({unit.methods for unit in found})
    columns = fold(keys, stories, COLUMNS)
    bands = fold([" / ".join(methods) for methods in sets], rows, ROWS)
    column_of = {key: n for n, one in enumerate(columns) for key in one.names}
    band_of = {
        methods: n
        for n, one in enumerate(bands)
        for methods in sets[one.first - 1 : one.last]
    }
    by_place: dict[tuple[int, int], list[UnitCount]] = defaultdict(list)
    for unit in found:
        if unit.methods in band_of and unit.story in column_of:
            by_place[band_of[unit.methods], column_of[unit.story]].append(unit)
    made = []
    for i, band in enumerate(bands):
        methods = () if band.is_folded else sets[band.first - 1]
        cells = (
            _cell(by_place[i, j], methods, band, column) if (i, j) in by_place else None
            for j, column in enumerate(columns)
        )
        made.append(HeatMapRow(band, methods, tuple(cells)))
    return HeatMap(tuple(columns), tuple(made), f"{stories} {rows}".strip())


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
    units: list[UnitCount], methods: tuple[str, ...], band: Fold, column: Fold
) -> Cell:
    folded = band.is_folded or column.is_folded
    if folded:
        query = urlencode({"stories": column.span, "rows": band.span})
    else:
        query = urlencode({"method": methods, "story": column.names[0]}, doseq=True)
    sums = (
        sum(getattr(unit, name) for unit in units)
        for name in ("done", "doubted", "leased", "wanted", "aside")
    )
    worst = min(units, key=lambda unit: unit.done / max(unit.wanted, 1))
    return Cell(query, folded, *sums, worst)
