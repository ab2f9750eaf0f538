"""Counterbalancing of left and right within each person. Pure."""

import random
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from annotate.assignment.designs.planned_slots import Bools, Ints, Layout, ranks, runs

# A trail is given up after this many steps.
LONGEST = 16
# The imbalance of a pair allowed within a person while methods are balanced, and the
# number of trails tried for each method or pair beyond it.
PATIENCE = ((1, 10), (2, 100))
# The minimum, for small designs, and the maximum number of trails.
LEAST_TRIES, MOST_TRIES = 20_000, 100_000
# The cost allowed for a trail falls from about this to 0.
HEAT = 2.0


class SideTrails:
    """Sides of slots while they are balanced."""

    def __init__(
        self,
        layout: Layout,
        unit: Ints,
        person: Ints,
        left: Bools,
        free: Bools,
        rng: np.random.Generator,
    ) -> None:
        self.dice = random.Random(int(rng.integers(2**32)))
        self.slack, self.heat = 1, 0.0
        side = np.where(left, 1, -1)
        self.side: list[int] = side.tolist()
        kinds, able = len(layout.kinds), np.flatnonzero(free)
        of_unit = _sums(unit, side, len(layout))
        self.unit: list[int] = unit.tolist()
        self.unit_lean: list[int] = of_unit.tolist()
        self.in_unit = _members(unit[able], able, len(layout))
        self.kind: list[int] = layout.kind.tolist()
        self.kind_lean: list[int] = _sums(layout.kind, of_unit, kinds).tolist()
        self.in_kind = _members(layout.kind, np.arange(len(layout)), kinds)
        cells, cell = np.unique(person * kinds + layout.kind[unit], return_inverse=True)
        lean = _sums(cell, side, len(cells))
        self.cell: list[int] = cell.tolist()
        self.cell_lean: list[int] = lean.tolist()
        self.in_cell = _members(cell[able], able, len(cells))
        holder, kind = np.divmod(cells, kinds)
        ends = holder[:, None] * len(layout.methods) + layout.ends[kind]
        spots, spot = np.unique(ends, return_inverse=True)
        spot = spot.ravel()
        self.spots: list[list[int]] = spot.reshape(-1, 2).tolist()
        of_spot = _sums(spot, np.c_[lean, -lean].ravel(), len(spots))
        self.spot_lean: list[int] = of_spot.tolist()
        self.in_spot = _members(spot, np.arange(len(spot)) // 2, len(spots))

    def even_out(self) -> Bools:
        """Flip trails until no method is off balance by over one; return the sides."""
        for self.slack, tries in PATIENCE:
            self._search(tries)
        return np.array(self.side) > 0

    def _search(self, tries: int) -> None:
        """Lower the imbalance of spots and cells in random order."""
        cells = [cell for cell, slots in enumerate(self.in_cell) if slots]
        spots = {spot for cell in cells for spot in self.spots[cell]}
        uneven = [at for at in sorted(spots) if self._is_uneven(at)]
        uneven += [~cell for cell in cells if self._is_uneven(~cell)]
        most = left = min(max(LEAST_TRIES, tries * len(uneven)), MOST_TRIES)
        while uneven and left:
            left -= 1
            self.heat = HEAT * left / most
            at = self.dice.randrange(len(uneven))
            if self._is_uneven(uneven[at]):
                uneven += filter(self._is_uneven, self._lower(uneven[at]))
            if not self._is_uneven(uneven[at]):
                uneven[at] = uneven[-1]
                uneven.pop()

    def _is_uneven(self, at: int) -> bool:
        if at < 0:
            return abs(self.cell_lean[~at]) > self.slack
        return abs(self.spot_lean[at]) > 1

    def _lower(self, at: int) -> list[int]:
        """Lower the imbalance of a spot or cell if possible; return the changes."""
        if at < 0:
            return self._turn(~at, 1 if self.cell_lean[~at] > 0 else -1)
        up = 1 if self.spot_lean[at] > 0 else -1
        ways = (
            (cell, up if self.spots[cell][0] == at else -up)
            for cell in self.in_spot[at]
        )
        suits = [(cell, way) for cell, way in ways if self._may_lean(cell, -2 * way)]
        return self._turn(*self.dice.choice(suits)) if suits else []

    def _may_lean(self, cell: int, change: int) -> bool:
        lean = self.cell_lean[cell]
        return abs(lean + change) <= max(self.slack, abs(lean))

    def _cost(self, cell: int, change: int) -> int:
        """Return the growth of squared imbalances, with half weight for the cell."""
        one, other = self.spots[cell]
        apart = self.spot_lean[one] - self.spot_lean[other]
        return change * (2 * (apart + change) + self.cell_lean[cell] + change // 2)

    def _shift(self, cell: int, change: int) -> list[int]:
        """Change the imbalance of a cell; return its spots."""
        one, other = self.spots[cell]
        self.cell_lean[cell] += change
        self.spot_lean[one] += change
        self.spot_lean[other] -= change
        return [one, other]

    def _turn(self, cell: int, way: int) -> list[int]:
        budget = self.dice.expovariate(1) * self.heat - self._cost(cell, -2 * way)
        trail: list[int] = []
        swaps: list[tuple[int, int]] = []
        slot = self._find(self.in_cell[cell], way)
        while slot >= 0 and len(trail) < 2 * LONGEST:
            self.side[slot] = -way
            trail.append(slot)
            if budget >= 0 and self._ends_in(self.unit[slot], way):
                return self._shift(cell, -2 * way)
            slot = self._opposite(slot, way, swaps)
            if slot < 0:
                break
            self.side[slot] = way
            trail.append(slot)
            last = self.cell[slot]
            may_end = last != cell and self._may_lean(last, 2 * way)
            if may_end and self._cost(last, 2 * way) <= budget:
                return self._shift(cell, -2 * way) + self._shift(last, 2 * way)
            slot = self._find(self.in_cell[last], way, slot)
        self._undo(trail, swaps, way)
        return []

    def _undo(self, trail: list[int], swaps: list[tuple[int, int]], way: int) -> None:
        for slot in trail:
            self.side[slot] = -self.side[slot]
        for unit, other in swaps:
            self._swap(unit, other, -way)

    def _swap(self, unit: int, other: int, way: int) -> None:
        self.unit_lean[unit] -= 2 * way
        self.unit_lean[other] += 2 * way

    def _ends_in(self, unit: int, way: int) -> bool:
        kind = self.kind[unit]
        if way * self.unit_lean[unit] <= 0 or way * self.kind_lean[kind] <= 0:
            return False
        self.unit_lean[unit] -= 2 * way
        self.kind_lean[kind] -= 2 * way
        return True

    def _opposite(self, slot: int, way: int, swaps: list[tuple[int, int]]) -> int:
        """Return a slot that compensates a flipped one; -1 if none exists."""
        unit = self.unit[slot]
        if way * self.unit_lean[unit] > 0 and self.dice.random() < 0.5:
            units = self.in_kind[self.kind[unit]]
            start = self.dice.randrange(len(units))
            for at in range(start - len(units), start):
                other = units[at]
                if way * self.unit_lean[other] < 0:
                    opposite = self._find(self.in_unit[other], -way)
                    if opposite >= 0:
                        self._swap(unit, other, way)
                        swaps.append((unit, other))
                        return opposite
        return self._find(self.in_unit[unit], -way, slot)

    def _find(self, slots: list[int], way: int, but: int = -1) -> int:
        """Return a random slot of that side; -1 if none exists."""
        side, start = self.side, int(self.dice.random() * len(slots))
        for at in range(start - len(slots), start):
            slot = slots[at]
            if side[slot] == way and slot != but:
                return slot
        return -1


def _sums(key: Ints, value: Ints, size: int) -> Ints:
    return np.bincount(key, weights=value, minlength=size).astype(np.int64)


def _members(key: Ints, member: Ints, size: int) -> list[list[int]]:
    bounds = np.r_[0, np.cumsum(np.bincount(key, minlength=size))].tolist()
    listed = member[np.argsort(key, kind="stable")].tolist()
    return [listed[a:b] for a, b in pairwise(bounds)]


def balanced_sides(
    layout: Layout, unit: Ints, person: Ints, rng: np.random.Generator
) -> Bools:
    """Balance left and right for units and pairs of methods, and within each person."""
    kind = layout.kind[unit]
    cell = person * len(layout.kinds) + kind
    left = _alternating(unit, kind, cell, rng)
    if not layout.sided:
        return left
    free = np.ones(len(unit), dtype=bool)
    return SideTrails(layout, unit, person, left, free, rng).even_out()


def _alternating(unit: Ints, kind: Ints, cell: Ints, rng: np.random.Generator) -> Bools:
    """Alternate sides along trails through units, pairs and people's pairs."""
    within = _couple(unit, rng)
    odd = np.flatnonzero(within < 0)
    met = _couple(kind[odd], rng)
    within[odd] = np.where(met >= 0, odd[met], -1)
    partner = (within.tolist(), _couple(cell, rng).tolist())
    side = (rng.random(len(unit)) < 0.5).tolist()
    done = bytearray(len(side))
    for start in range(len(side)):
        if done[start]:
            continue
        done[start] = 1
        for edge in (0, 1):
            current, value = start, side[start]
            while (following := partner[edge][current]) >= 0 and not done[following]:
                value = not value
                side[following] = value
                done[following] = 1
                current, edge = following, 1 - edge
    return np.array(side, dtype=bool)


def _couple(group: Ints, rng: np.random.Generator) -> Ints:
    """Match the members of each group in twos; -1 for an odd one."""
    order = np.lexsort((rng.random(len(group)), group))
    _starts, sizes = runs(group[order])
    rank, size = ranks(group[order]), np.repeat(sizes, sizes)
    mate = rank ^ 1
    result: Ints = np.full(len(group), -1, dtype=np.int64)
    coupled = mate < size
    at = np.flatnonzero(coupled)
    result[order[at]] = order[at + (mate - rank)[at]]
    return result


@dataclass(frozen=True)
class HeldSides:
    """Slots with fixed sides: units, people, and whether the first is left."""

    unit: Ints
    person: Ints
    left: Bools


def completed_sides(
    layout: Layout, unit: Ints, person: Ints, held: HeldSides, rng: np.random.Generator
) -> Bools:
    """Choose sides of new slots that compensate those of held ones."""
    left = _making_up(layout, unit, person, held, rng)
    if not layout.sided:
        return left
    free = np.arange(len(held.unit) + len(unit)) >= len(held.unit)
    trails = SideTrails(
        layout,
        np.r_[held.unit, unit],
        np.r_[held.person, person],
        np.r_[held.left, left],
        free,
        rng,
    )
    return trails.even_out()[free]


def _making_up(
    layout: Layout, unit: Ints, person: Ints, held: HeldSides, rng: np.random.Generator
) -> Bools:
    """Balance units and pairs; within a unit, left goes to the person with fewest."""
    kinds, kind = len(layout.kinds), layout.kind
    lean = np.where(held.left, 1, -1)
    of_unit, of_kind = (np.zeros(n, dtype=np.int64) for n in (len(layout), kinds))
    np.add.at(of_unit, held.unit, lean)
    np.add.at(of_kind, kind[held.unit], lean)
    slots = np.bincount(unit, minlength=len(layout))
    low = np.clip((slots - of_unit) // 2, 0, slots)
    high = np.clip(-((of_unit - slots) // 2), 0, slots)
    np.add.at(of_kind, kind, 2 * low - slots)
    for free in rng.permutation(np.flatnonzero(high > low)):
        if of_kind[kind[free]] < 0:
            low[free] += 1
            of_kind[kind[free]] += 2
    cells = np.r_[held.person, person] * kinds + kind[np.r_[held.unit, unit]]
    _names, cell = np.unique(cells, return_inverse=True)
    of_cell = np.bincount(cell[: len(lean)], lean, minlength=cell.max(initial=0) + 1)
    cell = cell[len(lean) :]
    order = np.lexsort((rng.random(len(unit)), unit))
    result = np.zeros(len(unit), dtype=bool)
    starts, sizes = runs(unit[order])
    for start, size in zip(starts.tolist(), sizes.tolist(), strict=True):
        own = order[start : start + size]
        own = own[np.argsort(of_cell[cell[own]], kind="stable")]
        lefts = low[unit[own[0]]]
        result[own[:lefts]] = True
        of_cell[cell[own[:lefts]]] += 1
        of_cell[cell[own[lefts:]]] -= 1
    return result
