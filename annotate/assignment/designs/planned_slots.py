"""Types of an assignment: units, groups of annotators, planned slots."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]

# The number of rows converted at a time.
CHUNK = 20_000


@dataclass(frozen=True)
class DesignUnit:
    """The story and methods that a slot shows."""

    id: int
    story: str
    methods: tuple[str, ...]
    redundancy: int | None = None


@dataclass(frozen=True)
class LanguageGroup:
    """Annotators of one language, and the number of ratings per unit."""

    name: str
    annotators: int
    redundancy: int


class Assignment(NamedTuple):
    """One planned slot: annotator, unit, session, position and sides."""

    annotator: int
    unit: int
    round: int
    session: int
    position: int
    a_is_left: bool


@dataclass(eq=False)
class Assignments:
    """Planned slots as columns; iterating gives `Assignment` rows."""

    annotator: Ints
    unit: Ints
    round: Ints
    session: Ints
    position: Ints
    a_is_left: Bools

    @classmethod
    def of(cls, rows: Iterable[Assignment]) -> "Assignments":
        """Return the rows as columns."""
        if isinstance(rows, Assignments):
            return rows
        table = np.array([tuple(row) for row in rows], dtype=np.int64).reshape(-1, 6)
        person, unit, round_, session, position, left = table.T
        return cls(person, unit, round_, session, position, left.astype(bool))

    @property
    def columns(self) -> tuple[NDArray[Any], ...]:
        return tuple(getattr(self, name) for name in Assignment._fields)

    def __len__(self) -> int:
        return len(self.annotator)

    def __iter__(self) -> Iterator[Assignment]:
        for start in range(0, len(self), CHUNK):
            part = (column[start : start + CHUNK].tolist() for column in self.columns)
            yield from map(Assignment._make, zip(*part, strict=True))


class Layout:
    """Units as numbers: their stories, their kinds, and the methods of each kind."""

    def __init__(self, units: Sequence[DesignUnit]) -> None:
        self.ids: Ints = np.array([unit.id for unit in units], dtype=np.int64)
        self.story, stories = number([unit.story for unit in units])
        self.stories = len(stories)
        self.kind, self.kinds = number([unit.methods for unit in units])
        self.methods = sorted({method for kind in self.kinds for method in kind})
        place = {method: i for i, method in enumerate(self.methods)}
        self.shown: NDArray[np.bool_] = np.zeros(
            (len(self.kinds), len(self.methods)), dtype=bool
        )
        for i, kind in enumerate(self.kinds):
            self.shown[i, [place[method] for method in kind]] = True
        self.pairwise = any(len(kind) > 1 for kind in self.kinds)
        # Three or more outputs have their own order (see `Slot.order`).
        self.sided = all(len(kind) == 2 for kind in self.kinds)
        # First and last method of each kind; a single output has the same one twice.
        self.ends: Ints = np.array(
            [(place[kind[0]], place[kind[-1]]) for kind in self.kinds], dtype=np.int64
        ).reshape(-1, 2)

    def __len__(self) -> int:
        return len(self.ids)

    def places(self, ids: Ints) -> Ints:
        """Return the places of units in the given list, -1 for unknown ones."""
        if not len(self):
            return np.full(len(ids), -1, dtype=np.int64)
        order = np.argsort(self.ids)
        found = order[np.searchsorted(self.ids, ids, sorter=order) % len(order)]
        return np.where(self.ids[found] == ids, found, -1)


def number(items: Sequence[Any]) -> tuple[Ints, list[Any]]:
    """Return a number for each item, equal for equal items, and the items by number."""
    seen: dict[Any, int] = {}
    codes = [seen.setdefault(item, len(seen)) for item in items]
    return np.array(codes, dtype=np.int64), list(seen)


def runs(key: Ints) -> tuple[Ints, Ints]:
    """Return the starts and sizes of runs of equal values in a sorted column."""
    if not len(key):
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    starts = np.flatnonzero(np.r_[True, key[1:] != key[:-1]])
    return starts, np.diff(np.r_[starts, len(key)])


def ranks(key: Ints) -> Ints:
    """Return each item's rank, from 0, in its run of a sorted column."""
    starts, sizes = runs(key)
    result: Ints = np.arange(len(key)) - np.repeat(starts, sizes)
    return result


def run_numbers(key: Ints) -> Ints:
    """Return the number, from 0, of the run of each item of a sorted column."""
    _starts, sizes = runs(key)
    return np.repeat(np.arange(len(sizes)), sizes)
