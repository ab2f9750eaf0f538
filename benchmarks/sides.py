"""How evenly each annotator sees methods left and right.

    python benchmarks/sides.py [--seeds N]

Prints, for planned studies and for open ones whose slots are taken one by one, the
largest left minus right: of units, of pairs of methods, of one annotator's pairs and of
one annotator's methods.
"""

import argparse
import random
import sys
from collections import Counter
from itertools import combinations
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from annotate.assignment.designs.balanced import plan
from annotate.assignment.designs.planned_slots import LanguageGroup
from annotate.assignment.designs.shown_sides import (
    Candidate,
    SeenSoFar,
    best,
    keeps_even,
)
from benchmarks.design import pairwise

# Methods, stories, answers a unit, annotators.
Design = tuple[int, int, int, int]
PLANNED: list[Design] = [
    (8, 10, 3, 6),
    (8, 10, 3, 7),
    (23, 10, 3, 12),
    (12, 30, 3, 20),
    (3, 20, 3, 5),
    (3, 20, 2, 4),
    (3, 20, 1, 4),
    (8, 10, 1, 6),
    (8, 10, 2, 6),
    (8, 10, 4, 7),
    (8, 10, 6, 6),
    (8, 1, 2, 6),
]
TAKEN: list[Design] = [(8, 10, 3, 6), (8, 10, 3, 7), (12, 10, 3, 10)]
SESSION, WINDOW, WIDE_WINDOW, MEMORY = 7, 40, 1000, 100


def planned(design: Design, seed: int) -> tuple[int, ...]:
    methods, stories, redundancy, people = design
    balance = plan(
        pairwise(methods, stories),
        groups=[LanguageGroup("", people, redundancy)],
        session_size=SESSION,
        seed=seed,
    ).balance
    return (
        balance.left_spread_unit,
        balance.left_spread_pair,
        balance.left_spread_own_pair,
        balance.left_spread_method,
    )


def free_slots(design: Design, dice: random.Random) -> list[tuple[int, Candidate]]:
    """Return units and free slots, sides in turn as `studies.free_slots` lays them."""
    methods, stories, redundancy, _people = design
    lean: Counter[object] = Counter()
    slots = []
    kinds = list(combinations(range(methods), 2))
    for unit, (story, pair) in enumerate((s, k) for s in range(stories) for k in kinds):
        for level in range(1, redundancy + 1):
            first = next((lean[key] for key in (unit, pair) if lean[key]), 0)
            left = first < 0 or (first == 0 and dice.random() < 0.5)
            for key in (unit, pair):
                lean[key] += 1 if left else -1
            slots.append((unit, Candidate(len(slots), story, pair, level, left)))
    dice.shuffle(slots)
    return sorted(slots, key=lambda slot: slot[1].level)


def taken(design: Design, seed: int) -> tuple[int, ...]:
    """Let people take slots in turn, as `next_slot.choosing` hands them out."""
    dice = random.Random(seed)
    free = free_slots(design, dice)
    unit_of = {slot.slot: unit for unit, slot in free}
    had: list[list[Candidate]] = [[] for _person in range(design[3])]
    while free:
        for own in dice.sample(had, len(had)):
            units = {unit_of[slot.slot] for slot in own}
            lowest = min((slot.level for _unit, slot in free), default=0)
            may = [s for u, s in free if u not in units and s.level <= lowest + 1]
            if (chosen := _chosen(may, own, dice)) is not None:
                own.append(chosen)
                free = [(u, slot) for u, slot in free if slot is not chosen]
    leans: list[Counter[object]] = [Counter() for _ in range(4)]
    for person, own in enumerate(had):
        for slot in own:
            step = 1 if slot.a_is_left else -1
            a, b = slot.methods
            keys = unit_of[slot.slot], slot.methods, (person, slot.methods), (person, a)
            for lean, key in zip(leans, keys, strict=True):
                lean[key] += step
            leans[3][person, b] -= step
    return tuple(max(map(abs, lean.values())) for lean in leans)


def _chosen(
    may: list[Candidate], own: list[Candidate], dice: random.Random
) -> Candidate | None:
    seen = SeenSoFar()
    for slot in own[-MEMORY:]:
        seen.add(slot)
    begun = len(own) % SESSION
    seen.stories = {slot.story for slot in own[-begun:]} if begun else set()
    found = best(dice.sample(may[:WINDOW], len(may[:WINDOW])), seen)
    if found is None or len(may) < WINDOW or keeps_even(found, seen):
        return found
    wide = may[:WIDE_WINDOW]
    return best(dice.sample(wide, len(wide)), seen)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=6)
    seeds = range(parser.parse_args().seeds)
    print(f"{'':<52}{'unit':>6}{'pair':>6}{'own pair':>10}{'own method':>12}")
    for how, designs in ((planned, PLANNED), (taken, TAKEN)):
        for design in designs:
            found = [how(design, seed) for seed in seeds]
            unit, pair, own_pair, method = map(max, zip(*found, strict=True))
            m, s, r, p = design
            named = f"{how.__name__}: {m} methods x {s} stories x {r}, {p} annotators"
            print(
                f"{named:<52}{unit:>6}{pair:>6}{own_pair:>10}{method:>12}", flush=True
            )


if __name__ == "__main__":
    main()
