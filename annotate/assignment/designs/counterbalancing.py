"""Which method of a pair stands left. Pure."""

import numpy as np

from annotate.assignment.designs.planned_slots import Bools, Ints, ranks, runs


def balanced_sides(
    unit: Ints, kind: Ints, person: Ints, rng: np.random.Generator
) -> Bools:
    """Let sides alternate along trails that pass each unit, pair and annotator.

    Slots of a unit are matched two by two, the odd ones out of a method pair are
    matched two by two as well, and each couple gets opposite sides. Coupling slots
    also two by two within an annotator makes a graph whose vertices have at most two
    edges of two kinds, that is paths and even cycles: it can be coloured alternately.

    `unit`, `kind` and `person` are of each slot. Return whether the first method of the
    unit stands left.
    """
    within = _couple(unit, rng)
    odd = np.flatnonzero(within < 0)
    met = _couple(kind[odd], rng)
    within[odd] = np.where(met >= 0, odd[met], -1)
    partner = (within.tolist(), _couple(person, rng).tolist())
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


def completed_sides(
    unit: Ints,
    kind: Ints,
    person: Ints,
    of_unit: Ints,
    of_kind: Ints,
    of_person: Ints,
    rng: np.random.Generator,
) -> Bools:
    """Let the sides of new slots make up for those of held ones.

    Each unit gets as many slots on the left as balance it; where two numbers do equally
    well, the one that balances the pair of methods, after all units that leave no
    choice. In a unit the left goes to those who had it least.

    `unit` and `person` are of each new slot, `kind` of each unit; `of_unit`, `of_kind`
    and `of_person` are left minus right in the held slots of each. Return whether the
    first method of the unit stands left.
    """
    slots = np.bincount(unit, minlength=len(kind))
    low = np.clip((slots - of_unit) // 2, 0, slots)
    high = np.clip(-((of_unit - slots) // 2), 0, slots)
    of_kind, of_person = of_kind.copy(), of_person.copy()
    np.add.at(of_kind, kind, 2 * low - slots)
    for free in rng.permutation(np.flatnonzero(high > low)):
        if of_kind[kind[free]] < 0:
            low[free] += 1
            of_kind[kind[free]] += 2
    order = np.lexsort((rng.random(len(unit)), unit))
    result = np.zeros(len(unit), dtype=bool)
    starts, sizes = runs(unit[order])
    for start, size in zip(starts.tolist(), sizes.tolist(), strict=True):
        own = order[start : start + size]
        own = own[np.argsort(of_person[person[own]], kind="stable")]
        lefts = low[unit[own[0]]]
        result[own[:lefts]] = True
        of_person[person[own[:lefts]]] += 1
        of_person[person[own[lefts:]]] -= 1
    return result
