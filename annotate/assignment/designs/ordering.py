"""Sessions, and the order of slots within sessions. Pure."""

from functools import partial

import numpy as np

from annotate.assignment.designs.planned_slots import (
    Ints,
    Layout,
    ranks,
    run_numbers,
    runs,
)

# The deviation of a method's mean position from the overall mean that is acceptable, as
# a share of the latter, and the number of swaps tried for each method.
GOOD_ENOUGH = 0.01
SWAPS = 200
# The number of slots of a method that are tried before giving up.
TRIES = 8


def sessions(
    person: Ints, story: Ints, round_: Ints, size: int, rng: np.random.Generator
) -> Ints:
    """Divide each person's slots of a round into sessions without repeated stories."""
    order = np.lexsort((round_, person))
    block = np.empty(len(person), dtype=np.int64)
    rounds = int(round_.max(initial=0)) + 1
    block[order] = run_numbers((person * rounds + round_)[order])
    # The stories of a block, and the units of a story, are in random order.
    _names, view = np.unique(
        block * (story.max(initial=0) + 1) + story, return_inverse=True
    )
    order = np.lexsort((rng.random(len(person)), rng.random(len(_names))[view], block))
    starts, slots = runs(block[order])
    commonest = np.zeros(len(starts), dtype=np.int64)
    np.maximum.at(commonest, block, np.bincount(view)[view])
    number = np.maximum(-(-slots // size), commonest)
    first = np.cumsum(number) - number
    dealt = np.empty_like(block)
    dealt[order] = first[block[order]] + ranks(block[order]) % number[block[order]]
    # Sessions of a block are shuffled, then numbered again for each person.
    of_block = np.repeat(np.arange(len(number)), number)
    shuffled = np.empty(len(of_block), dtype=np.int64)
    shuffled[np.lexsort((rng.random(len(of_block)), of_block))] = np.arange(
        len(of_block)
    )
    owner = person[order][starts]
    person_starts, blocks = runs(owner)
    base = np.repeat(first[person_starts], blocks)
    result: Ints = shuffled[dealt] - base[block] + 1
    return result


def arrange(
    layout: Layout, person: Ints, unit: Ints, session: Ints, rng: np.random.Generator
) -> Ints:
    """Order the slots at random, with every method equally early in sessions."""
    order = np.lexsort((rng.random(len(person)), session, person))
    key = run_numbers((person * (session.max(initial=0) + 1) + session)[order])
    if len(order):
        _Positions(layout.ends[layout.kind[unit]], order, key).even_out(rng)
    return order


class _Positions:
    """The methods' positions within sessions, balanced by swaps within a session."""

    def __init__(self, shown: Ints, order: Ints, session: Ints) -> None:
        self.shown, self.order = shown, order
        starts, sizes = runs(session)
        self.first, self.size = np.repeat(starts, sizes), np.repeat(sizes, sizes)
        self.scaled = (np.arange(len(order)) - self.first + 0.5) / self.size - 0.5
        self.place = np.empty_like(order)
        self.place[order] = np.arange(len(order))
        pair = np.flatnonzero(shown[:, 0] != shown[:, 1])
        method = np.r_[shown[:, 0], shown[pair, 1]]
        slot = np.r_[np.arange(len(shown)), pair]
        count = np.bincount(method)
        by_method = np.argsort(method, kind="stable")
        self.slots = np.split(slot[by_method], np.cumsum(count)[:-1])
        self.total = np.bincount(method, weights=self.scaled[self.place[slot]])
        self.weight = 1.0 / np.maximum(count, 1)

    def even_out(self, rng: np.random.Generator) -> None:
        """Swap slots of the method that deviates most, until none deviates much."""
        methods = len(self.weight)
        stuck = np.zeros(methods, dtype=bool)
        for _ in range(SWAPS * methods):
            deviation = 2 * np.abs(self.total * self.weight) * ~stuck
            worst = int(deviation.argmax())
            if deviation[worst] <= GOOD_ENOUGH:
                return
            if self._improve(worst, rng):
                stuck[:] = False
            else:
                stuck[worst] = True

    def _improve(self, method: int, rng: np.random.Generator) -> bool:
        """Make one swap that improves a method; return whether one exists."""
        for slot in rng.choice(self.slots[method], size=TRIES):
            at = int(self.place[slot])
            places = range(self.first[at], self.first[at] + self.size[at])
            other = min(places, key=partial(self._change, at))
            if self._change(at, other) < -1e-12:
                self._swap(at, other)
                return True
        return False

    def _change(self, one: int, other: int) -> float:
        """Return the change of the sum of squared mean deviations by a swap."""
        step = self.scaled[other] - self.scaled[one]
        moves: dict[int, float] = {}
        for place, move in ((one, step), (other, -step)):
            for method in set(self.shown[self.order[place]].tolist()):
                moves[method] = moves.get(method, 0.0) + move
        return float(
            sum(
                self.weight[method] ** 2 * move * (2 * self.total[method] + move)
                for method, move in moves.items()
            )
        )

    def _swap(self, one: int, other: int) -> None:
        step = self.scaled[other] - self.scaled[one]
        for place, move in ((one, step), (other, -step)):
            for method in set(self.shown[self.order[place]].tolist()):
                self.total[method] += move
        order = self.order
        order[one], order[other] = order[other], order[one]
        self.place[order[[one, other]]] = one, other
