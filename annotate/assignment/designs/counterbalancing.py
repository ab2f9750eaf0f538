"""Which method of a pair stands left. Pure."""

from dataclasses import dataclass

import numpy as np

from annotate.assignment.designs.planned_slots import Bools, Ints, Layout, ranks, runs
from annotate.assignment.designs.side_trails import SideTrails


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
    """Let sides alternate along trails that pass units, pairs and people's pairs."""
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
    """Match the members of each group two by two; -1 where one is left over."""
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
    """Slots whose sides stay: their units, people, and whether the first is left."""

    unit: Ints
    person: Ints
    left: Bools


def completed_sides(
    layout: Layout,
    unit: Ints,
    person: Ints,
    held: HeldSides,
    rng: np.random.Generator,
) -> Bools:
    """Let the sides of new slots make up for those of held ones."""
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
    layout: Layout,
    unit: Ints,
    person: Ints,
    held: HeldSides,
    rng: np.random.Generator,
) -> Bools:
    """Balance units and pairs; in a unit the left goes to who had it least."""
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
