"""Who takes the slots that a running study still lacks. Pure."""

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from annotate.assignment.designs.planned_slots import Bools, Ints

# Exchanges between two people that are tried to even out the methods, for each new
# slot and at most.
EXCHANGES = 20
MOST_EXCHANGES = 40_000


@dataclass
class Work:
    """What is missing, who may take it, and what people have already.

    Parameters
    ----------
    item, group, missing
        Of each gap: the item (a unit in a round), the group whose ratings it lacks, and
        how many.
    holds
        Whether a person (row) holds an item (column).
    people_group, room, load
        Of each person: the group, how many new slots are possible, all slots so far.
    met, seen
        How often each person (row) meets each method, and sees each story.
    shown, story
        Of each item: the methods shown (0 or 1), and the story.
    """

    item: Ints
    group: Ints
    missing: Ints
    holds: Bools
    people_group: Ints
    room: Ints
    load: Ints
    met: Ints
    seen: Ints
    shown: Ints
    story: Ints


class Filling:
    """New slots while they are distributed; `left` is what each gap still lacks."""

    def __init__(self, work: Work, rng: np.random.Generator) -> None:
        self.work, self.rng = work, rng
        self.left = work.missing.copy()
        self.new: dict[int, list[int]] = defaultdict(list)
        self.taken: Ints = np.zeros(len(work.room), dtype=np.int64)

    def slots(self) -> tuple[Ints, Ints]:
        """Return item and person of every new slot."""
        pairs = [(i, p) for p in sorted(self.new) for i in self.new[p]]
        item, person = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
        return item, person

    def fill(self) -> None:
        """Fill the gaps, those with the fewest candidates first.

        A slot goes to the candidate with the smallest load; of these, to the one who
        has met its methods, then its story, least. Where all candidates have enough,
        one of them passes other slots on to people who have room.
        """
        for gap in self._tightest_first():
            item, group = int(self.work.item[gap]), int(self.work.group[gap])
            while self.left[gap]:
                able = self._able(item, group)
                free = np.flatnonzero(able & (self.work.room > 0))
                if len(free):
                    person = self._neediest(item, free)
                else:
                    path = self._path(np.flatnonzero(able), self.work.room > 0)
                    if not path:
                        break
                    person = path[0][0]
                    self._pass_on(path)
                self._give(item, person)
                self.left[gap] -= 1

    def even_loads(self) -> None:
        """Pass slots on until no chain of people leads to a load lower by two.

        That makes loads as even as they can be.
        """
        while self._lower_loads():
            pass

    def _lower_loads(self) -> bool:
        """Shorten the largest loads as far as chains lead from them; say if any did.

        People from whom no chain leads lower, and whom they reach, are not looked at
        again before the next pass.
        """
        load, settled = self.work.load, self.taken < 0
        passed = False
        while ((self.taken > 0) & ~settled).any():
            givers = np.flatnonzero((self.taken > 0) & ~settled)
            top = load[givers].max()
            goal = (load <= top - 2) & (self.work.room > 0)
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
        work = self.work
        item, person = self.slots()
        if not len(item):
            return
        tries = min(EXCHANGES * len(item), MOST_EXCHANGES)
        for one, other in self.rng.integers(len(item), size=(tries, 2)).tolist():
            i, j, p, q = item[one], item[other], person[one], person[other]
            if work.people_group[p] != work.people_group[q]:
                continue
            if work.holds[p, j] or work.holds[q, i]:
                continue
            step = work.shown[j] - work.shown[i]
            if (step * (work.met[p] - work.met[q] + step)).sum() < 0:
                for person_, old, new in ((p, i, j), (q, j, i)):
                    self._take(int(old), int(person_))
                    self._give(int(new), int(person_))
                item[one], item[other] = j, i

    def _tightest_first(self) -> Ints:
        spare = np.empty(len(self.left), dtype=np.int64)
        for group in np.unique(self.work.group):
            own = self.work.group == group
            may = (self.work.people_group == group) & (self.work.room > 0)
            holders = self.work.holds[may].sum(axis=0)[self.work.item[own]]
            spare[own] = may.sum() - holders - self.left[own]
        return np.lexsort((self.rng.random(len(spare)), spare))

    def _able(self, item: int, group: int) -> Bools:
        """Say who may judge an item: people at work, of the group, without the item."""
        work = self.work
        able: Bools = (work.people_group == group) & ~work.holds[:, item]
        return able & ((work.room > 0) | (self.taken > 0))

    def _neediest(self, item: int, people: Ints) -> int:
        work = self.work
        met = work.met[people] @ work.shown[item]
        seen = work.seen[people, work.story[item]]
        order = np.lexsort((self.rng.random(len(people)), seen, met, work.load[people]))
        return int(people[order[0]])

    def _path(
        self, sources: Ints, goal: Bools, reached: Bools | None = None
    ) -> list[tuple[int, int, int]]:
        """Return (giver, item, taker) steps from a source to somebody in the goal."""
        reached = np.zeros(len(goal), dtype=bool) if reached is None else reached
        reached[sources] = True
        came: dict[int, tuple[int, int]] = {}
        queue = [int(person) for person in sources]
        for giver in queue:
            items = self.new[giver]
            for item in items:
                takers = self._able(item, int(self.work.people_group[giver])) & ~reached
                for taker in np.flatnonzero(takers).tolist():
                    came[taker] = giver, item
                    if goal[taker]:
                        return _steps(came, taker)
                    queue.append(taker)
                reached |= takers
        return []

    def _pass_on(self, path: list[tuple[int, int, int]]) -> None:
        for giver, item, taker in path:
            self._take(item, giver)
            self._give(item, taker)

    def _give(self, item: int, person: int) -> None:
        self.new[person].append(item)
        self._count(item, person, 1)

    def _take(self, item: int, person: int) -> None:
        self.new[person].remove(item)
        self._count(item, person, -1)

    def _count(self, item: int, person: int, sign: int) -> None:
        work = self.work
        work.holds[person, item] = sign > 0
        work.room[person] -= sign
        self.taken[person] += sign
        work.load[person] += sign
        work.met[person] += sign * work.shown[item]
        work.seen[person, work.story[item]] += sign


def _steps(came: dict[int, tuple[int, int]], last: int) -> list[tuple[int, int, int]]:
    """Return the steps that lead to the last person, the first step first."""
    steps = []
    while last in came:
        giver, item = came[last]
        steps.append((giver, item, last))
        last = giver
    return steps[::-1]
