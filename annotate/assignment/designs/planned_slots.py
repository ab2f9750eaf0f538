"""The words of an assignment: units, groups of annotators, planned slots.

Pure. Planned slots are kept as columns, because a plan may have a million of them.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]

# Rows that are made into objects at a time.
CHUNK = 20_000


@dataclass(frozen=True)
class DesignUnit:
    """What is shown at once: one output, or a pair of outputs of one story.

    Parameters
    ----------
    id
        Names the unit in the plan.
    story
        The story that is shown.
    methods
        One method (Likert) or two different ones in the unit's order (pairwise).
    redundancy
        Ratings of this unit (by each group of annotators), where they are not those of
        the plan.
    """

    id: int
    story: str
    methods: tuple[str, ...]
    redundancy: int | None = None


@dataclass(frozen=True)
class LanguageGroup:
    """Annotators of one language, and how many of them rate each unit."""

    name: str
    annotators: int
    redundancy: int


class Assignment(NamedTuple):
    """One planned slot: who judges which unit, when, and which method stands left."""

    annotator: int
    unit: int
    round: int
    session: int
    position: int
    a_is_left: bool


class Assignments(Sequence[Assignment]):
    """Planned slots as columns; iterating and indexing give `Assignment` rows."""

    def __init__(
        self,
        annotator: Ints,
        unit: Ints,
        round_: Ints,
        session: Ints,
        position: Ints,
        a_is_left: Bools,
    ) -> None:
        self.annotator = annotator
        self.unit = unit
        self.round = round_
        self.session = session
        self.position = position
        self.a_is_left = a_is_left

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
        """The six columns, in the order of `Assignment`."""
        return (
            self.annotator,
            self.unit,
            self.round,
            self.session,
            self.position,
            self.a_is_left,
        )

    def __len__(self) -> int:
        return len(self.annotator)

    def __iter__(self) -> Iterator[Assignment]:
        for start in range(0, len(self), CHUNK):
            part = (column[start : start + CHUNK].tolist() for column in self.columns)
            yield from map(Assignment._make, zip(*part, strict=True))

    @overload
    def __getitem__(self, index: int) -> Assignment: ...
    @overload
    def __getitem__(self, index: slice) -> "Assignments": ...
    def __getitem__(self, index: int | slice) -> "Assignment | Assignments":
        if isinstance(index, slice):
            return Assignments(*(column[index] for column in self.columns))
        return Assignment(*(column[index].item() for column in self.columns))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Assignments):
            return NotImplemented
        return all(map(np.array_equal, self.columns, other.columns))

    __hash__ = None  # type: ignore[assignment]


class Layout:
    """Units as numbers: their stories, their kinds, and the methods of each kind.

    Units of the same methods are of one kind.
    """

    def __init__(self, units: Sequence[DesignUnit]) -> None:
        self.ids: Ints = np.array([unit.id for unit in units], dtype=np.int64)
        stories = number([unit.story for unit in units])
        self.story, self.stories = stories.codes, len(stories.names)
        kinds = number([unit.methods for unit in units])
        self.kind, self.kinds = kinds.codes, kinds.names
        self.methods = sorted({method for kind in self.kinds for method in kind})
        place = {method: i for i, method in enumerate(self.methods)}
        self.shown: NDArray[np.bool_] = np.zeros(
            (len(self.kinds), len(self.methods)), dtype=bool
        )
        for i, kind in enumerate(self.kinds):
            self.shown[i, [place[method] for method in kind]] = True
        self.pairwise = any(len(kind) > 1 for kind in self.kinds)
        # The first and the last method of each kind: the same one unless it is a pair.
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


class Numbered(NamedTuple):
    """Names in the order of their first appearance, and each item's number."""

    codes: Ints
    names: list[Any]


def number(items: Sequence[Any]) -> Numbered:
    """Give equal items the same number."""
    seen: dict[Any, int] = {}
    codes = [seen.setdefault(item, len(seen)) for item in items]
    return Numbered(np.array(codes, dtype=np.int64), list(seen))


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
