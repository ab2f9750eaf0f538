"""Which method of a pair stands left. Pure."""

import random
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence

from annotate.balance import DesignUnit

# An annotator's place in a unit's round: (annotator, unit, round), by position.
Place = tuple[int, int, int]


def balanced_sides(
    units: Sequence[DesignUnit],
    sessions: Sequence[Sequence[tuple[int, Sequence[int]]]],
    dice: random.Random,
) -> dict[Place, bool]:
    """Let sides alternate along trails that pass each unit, pair and annotator.

    Slots of a unit are matched two by two, the odd ones out of a method pair are
    matched two by two as well, and each couple gets opposite sides. Coupling slots
    also two by two within an annotator makes a graph whose vertices have at most two
    edges of two kinds, that is paths and even cycles: it can be coloured alternately.
    """
    slots = [
        (annotator, unit, round_)
        for annotator, own in enumerate(sessions)
        for round_, session in own
        for unit in session
    ]
    partner: list[dict[Place, Place]] = [{}, {}]
    loose: dict[object, list[Place]] = defaultdict(list)
    for group in _grouped(slots, key=lambda s: s[1]):
        dice.shuffle(group)
        odd = _couple(group, partner[0])
        if odd is not None:
            loose[units[odd[1]].methods].append(odd)
    for group in loose.values():
        dice.shuffle(group)
        _couple(group, partner[0])
    for group in _grouped(slots, key=lambda s: s[0]):
        dice.shuffle(group)
        _couple(group, partner[1])
    side: dict[Place, bool] = {}
    for start in slots:
        if start in side:
            continue
        first = dice.random() < 0.5
        side[start] = first
        for kind in (0, 1):
            current, value, edge = start, first, kind
            while (following := partner[edge].get(current)) is not None:
                if following in side:
                    break
                value = not value
                side[following] = value
                current, edge = following, 1 - edge
    return side


def _grouped(
    slots: Iterable[Place], key: Callable[[Place], Hashable]
) -> list[list[Place]]:
    groups: dict[Hashable, list[Place]] = defaultdict(list)
    for slot in slots:
        groups[key(slot)].append(slot)
    return list(groups.values())


def _couple(
    group: list[Place],
    partner: dict[Place, Place],
) -> Place | None:
    """Match a group two by two and return the one left over, if any."""
    for one, other in zip(group[::2], group[1::2], strict=False):
        partner[one], partner[other] = other, one
    return group[-1] if len(group) % 2 else None
