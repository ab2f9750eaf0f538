"""Which method of a pair stands left. Pure."""

import numpy as np

from annotate.assignments import Bools, Ints, ranks, runs


def balanced_sides(
    unit: Ints, kind: Ints, person: Ints, rng: np.random.Generator
) -> Bools:
    """Let sides alternate along trails that pass each unit, pair and annotator.

    Slots of a unit are matched two by two, the odd ones out of a method pair are
    matched two by two as well, and each couple gets opposite sides. Coupling slots
    also two by two within an annotator makes a graph whose vertices have at most two
    edges of two kinds, that is paths and even cycles: it can be coloured alternately.

    Parameters
    ----------
    unit, kind, person
        Of each slot.

    Returns
    -------
    Bools
        Whether the first method of the unit stands left.
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
