"""Replan after people, methods or stories were added or removed. Pure."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy as np

from annotate.assignment.designs.counterbalancing import HeldSides, completed_sides
from annotate.assignment.designs.ordering import arrange, sessions
from annotate.assignment.designs.planned_slots import (
    Assignment,
    Assignments,
    Bools,
    DesignUnit,
    Ints,
    Layout,
    ranks,
)

# The number of exchanges between two people that balance the methods: per new slot, and
# the maximum.
EXCHANGES = 20
MOST_EXCHANGES = 40_000


class Filling:
    """New slots during their distribution."""

    def __init__(
        self,
        layout: Layout,
        left: Ints,
        holds: Bools,
        *,
        room: Ints,
        load: Ints,
        held: tuple[Ints, Ints],
        rng: np.random.Generator,
    ) -> None:
        self.left, self.holds, self.room, self.load = left, holds, room, load
        self.rng, self.story = rng, layout.story
        self.shown = layout.shown[layout.kind].astype(np.int64)
        person, unit = held
        self.met: Ints = np.zeros((len(room), len(layout.methods)), dtype=np.int64)
        np.add.at(self.met, person, self.shown[unit])
        self.seen: Ints = np.zeros((len(room), layout.stories), dtype=np.int64)
        np.add.at(self.seen, (person, self.story[unit]), 1)
        self.new: dict[int, list[int]] = defaultdict(list)
        self.taken: Ints = np.zeros(len(room), dtype=np.int64)

    def slots(self) -> tuple[Ints, Ints]:
        """Return unit and person of every new slot."""
        pairs = [(i, p) for p in sorted(self.new) for i in self.new[p]]
        unit, person = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
        return unit, person

    def fill(self) -> None:
        """Fill the gaps, those with the fewest candidates first."""
        for unit in self._tightest_first().tolist():
            while self.left[unit]:
                able = self._able(unit)
                free = np.flatnonzero(able & (self.room > 0))
                if len(free):
                    person = self._neediest(unit, free)
                else:
                    path = self._path(np.flatnonzero(able), self.room > 0)
                    if not path:
                        break
                    person = path[0][0]
                    self._pass_on(path)
                self._give(unit, person)
                self.left[unit] -= 1

    def even_loads(self) -> None:
        """Pass slots on until no chain of people leads to a load lower by two."""
        while self._lower_loads():
            pass

    def _lower_loads(self) -> bool:
        """Lower the largest loads along chains of people; return whether any fell."""
        load, settled = self.load, self.taken < 0
        passed = False
        while ((self.taken > 0) & ~settled).any():
            givers = np.flatnonzero((self.taken > 0) & ~settled)
            top = load[givers].max()
            goal = (load <= top - 2) & (self.room > 0)
            reached = np.zeros(len(load), dtype=bool)
            path = self._path(givers[load[givers] == top], goal, reached)
            if path:
                self._pass_on(path)
                passed = True
            else:
                settled |= reached
        return passed

    def even_methods(self) -> None:
        """Exchange new slots at random where that makes methods more even."""
        unit, person = self.slots()
        if not len(unit):
            return
        tries = min(EXCHANGES * len(unit), MOST_EXCHANGES)
        for one, other in self.rng.integers(len(unit), size=(tries, 2)).tolist():
            i, j, p, q = unit[one], unit[other], person[one], person[other]
            if self.holds[p, j] or self.holds[q, i]:
                continue
            step = self.shown[j] - self.shown[i]
            if (step * (self.met[p] - self.met[q] + step)).sum() < 0:
                for person_, old, new in ((p, i, j), (q, j, i)):
                    self._take(int(old), int(person_))
                    self._give(int(new), int(person_))
                unit[one], unit[other] = j, i

    def _tightest_first(self) -> Ints:
        gaps = np.flatnonzero(self.left)
        may = self.room > 0
        spare = may.sum() - self.holds[may][:, gaps].sum(axis=0) - self.left[gaps]
        return gaps[np.lexsort((self.rng.random(len(gaps)), spare))]

    def _able(self, unit: int) -> Bools:
        """Return who may rate a unit: active people who do not hold it."""
        able: Bools = ~self.holds[:, unit] & ((self.room > 0) | (self.taken > 0))
        return able

    def _neediest(self, unit: int, people: Ints) -> int:
        met = self.met[people] @ self.shown[unit]
        seen = self.seen[people, self.story[unit]]
        order = np.lexsort((self.rng.random(len(people)), seen, met, self.load[people]))
        return int(people[order[0]])

    def _path(
        self, sources: Ints, goal: Bools, reached: Bools | None = None
    ) -> list[tuple[int, int, int]]:
        """Return (giver, unit, taker) steps from a source to a person in the goal."""
        reached = np.zeros(len(goal), dtype=bool) if reached is None else reached
        reached[sources] = True
        came: dict[int, tuple[int, int]] = {}
        queue = sources.tolist()
        for giver in queue:
            for unit in self.new[giver]:
                takers = self._able(unit) & ~reached
                for taker in np.flatnonzero(takers).tolist():
                    came[taker] = giver, unit
                    if goal[taker]:
                        return _steps(came, taker)
                    queue.append(taker)
                reached |= takers
        return []

    def _pass_on(self, path: list[tuple[int, int, int]]) -> None:
        for giver, unit, taker in path:
            self._take(unit, giver)
            self._give(unit, taker)

    def _give(self, unit: int, person: int) -> None:
        self.new[person].append(unit)
        self._count(unit, person, 1)

    def _take(self, unit: int, person: int) -> None:
        self.new[person].remove(unit)
        self._count(unit, person, -1)

    def _count(self, unit: int, person: int, sign: int) -> None:
        self.holds[person, unit] = sign > 0
        self.room[person] -= sign
        self.taken[person] += sign
        self.load[person] += sign
        self.met[person] += sign * self.shown[unit]
        self.seen[person, self.story[unit]] += sign


def _steps(came: dict[int, tuple[int, int]], last: int) -> list[tuple[int, int, int]]:
    """Return the steps that lead to the last person, the first step first."""
    steps = []
    while last in came:
        giver, unit = came[last]
        steps.append((giver, unit, last))
        last = giver
    return steps[::-1]


def replan(
    units: Sequence[DesignUnit],
    held: Iterable[Assignment],
    *,
    room: Sequence[int | None],
    session_size: int,
    seed: int,
) -> Assignments:
    """Distribute the missing ratings; those that nobody can take stay missing."""
    rows = Assignments.of(held)
    people = len(room)
    required = np.array([unit.redundancy or 0 for unit in units], dtype=np.int64)
    rng = np.random.default_rng(seed % 2**64)
    layout = Layout(units)
    place = layout.places(rows.unit)
    counts = (place >= 0) & (rows.round == 1)
    holds = np.zeros((people, len(units)), dtype=bool)
    holds[rows.annotator[counts], place[counts]] = True
    filling = Filling(
        layout,
        np.maximum(required - holds.sum(axis=0), 0),
        holds,
        room=np.array([len(units) if most is None else most for most in room]),
        load=np.bincount(rows.annotator, minlength=people),
        held=(rows.annotator[counts], place[counts]),
        rng=rng,
    )
    filling.fill()
    filling.even_loads()
    filling.even_methods()
    return _slots(layout, rows, *filling.slots(), session_size, people, rng)


def rearrange(
    units: Sequence[DesignUnit],
    held: Iterable[Assignment],
    *,
    session_size: int,
    seed: int,
) -> Assignments:
    """Mix slots that nobody has begun; sessions and positions of each begin at 1."""
    rows = Assignments.of(held)
    rng = np.random.default_rng(seed % 2**64)
    layout = Layout(units)
    unit = layout.places(rows.unit)
    story = layout.story[unit]
    session = sessions(rows.annotator, story, rows.round, session_size, rng)
    order = arrange(layout, rows.annotator, unit, session, rng)
    person = rows.annotator[order]
    return Assignments(
        person,
        rows.unit[order],
        rows.round[order],
        session[order],
        ranks(person) + 1,
        rows.a_is_left[order],
    )


def _slots(
    layout: Layout,
    held: Assignments,
    unit: Ints,
    person: Ints,
    size: int,
    people: int,
    rng: np.random.Generator,
) -> Assignments:
    """Return the new slots in sessions, numbered after the held ones."""
    last = np.zeros((2, people), dtype=np.int64)
    np.maximum.at(last[0], held.annotator, held.session)
    np.maximum.at(last[1], held.annotator, held.position)
    first_round = np.ones_like(unit)
    session = sessions(person, layout.story[unit], first_round, size, rng)
    left = _sides(layout, held, unit, person, rng)
    order = arrange(layout, person, unit, session, rng)
    person = person[order]
    return Assignments(
        person,
        layout.ids[unit[order]],
        first_round,
        session[order] + last[0][person],
        ranks(person) + 1 + last[1][person],
        left[order],
    )


def _sides(
    layout: Layout,
    held: Assignments,
    unit: Ints,
    person: Ints,
    rng: np.random.Generator,
) -> Bools:
    """Return the sides of new slots, which compensate those of held ones."""
    place = layout.places(held.unit)
    shown = (place >= 0) & (held.position > 0)
    sides = HeldSides(place[shown], held.annotator[shown], held.a_is_left[shown])
    return completed_sides(layout, unit, person, sides, rng)
