"""Balanced partial assignment of units to annotators.

Pure: ids and a seed in, a plan and its balance report out. `plan` keeps, for every
design that it accepts,

* each unit exactly `redundancy` slots in each round, all of different annotators;
* loads of annotators within one slot of each other;
* each annotator meets methods with equally many outputs equally often, within one;
* no story twice in a session, sessions of at most `session_size` slots;
* left and right balanced within one for every unit and every pair of methods;
* an order drawn anew for each annotator.

A design that cannot keep them is refused with the reason and the nearest one that can.
`annotate.balance` measures them on the finished plan.
"""

import math
import random
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from annotate.balance import (
    Assignment,
    BalanceReport,
    DesignUnit,
    measure,
    method_spread,
)
from annotate.sides import balanced_sides

# How often a distribution is started anew, and the swaps tried in each.
ATTEMPTS = 10
SWAPS = 30_000


class ImpossibleDesignError(ValueError):
    """The numbers contradict each other; the message names the nearest design."""


@dataclass(frozen=True)
class Plan:
    """A complete plan and its measured balance."""

    assignments: tuple[Assignment, ...]
    balance: BalanceReport


@dataclass
class _State:
    """Who has which unit while the plan grows."""

    units: Sequence[DesignUnit]
    annotators: int
    holders: list[set[int]] = field(default_factory=list)
    load: list[int] = field(default_factory=list)
    met: list[Counter[str]] = field(default_factory=list)
    stories: list[Counter[str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.holders = [set() for _ in self.units]
        self.load = [0] * self.annotators
        self.met = [Counter() for _ in range(self.annotators)]
        self.stories = [Counter() for _ in range(self.annotators)]

    def give(self, unit: int, annotator: int, sign: int = 1) -> None:
        """Add (or with sign -1 remove) a unit to an annotator."""
        if sign > 0:
            self.holders[unit].add(annotator)
        else:
            self.holders[unit].discard(annotator)
        self.load[annotator] += sign
        self.stories[annotator][self.units[unit].story] += sign
        for method in self.units[unit].methods:
            self.met[annotator][method] += sign


def plan(
    units: Sequence[DesignUnit],
    *,
    annotators: int,
    redundancy: int,
    session_size: int,
    seed: int,
    rounds: int = 1,
) -> Plan:
    """Distribute the units over the annotators.

    Parameters
    ----------
    units
        What is to be judged.
    annotators
        Number of people.
    redundancy
        Different annotators per unit (and round).
    session_size
        Largest number of slots in one sitting.
    seed
        Fixes every random choice.
    rounds
        How often the whole assignment is repeated by the same people.

    Returns
    -------
    Plan
        All slots, sorted by annotator and position, and the balance report.

    Raises
    ------
    ImpossibleDesignError
        The numbers contradict each other.
    """
    _check_sizes(units, annotators, redundancy, session_size, rounds)
    dice = random.Random(seed)
    state = _balanced(units, annotators, redundancy, dice)
    _check_rounds(state, redundancy, rounds)
    _spread_stories(state, dice)
    sessions = _sessions(state, session_size, rounds, dice)
    sides = balanced_sides(units, sessions, dice)
    assignments = []
    for annotator, own in enumerate(sessions):
        position = 0
        for number, (round_, session) in enumerate(own, start=1):
            for unit in session:
                position += 1
                assignments.append(
                    Assignment(
                        annotator, units[unit].id, round_, number, position,
                        sides[annotator, unit, round_],
                    )
                )  # fmt: skip
    result = tuple(assignments)
    return Plan(result, measure(units, result, annotators=annotators))


def _check_sizes(
    units: Sequence[DesignUnit],
    annotators: int,
    redundancy: int,
    session_size: int,
    rounds: int,
) -> None:
    if not units:
        raise ImpossibleDesignError("There is nothing to judge: no unit was given.")
    if min(annotators, redundancy, session_size, rounds) < 1:
        raise ImpossibleDesignError(
            "Annotators, redundancy, session size and rounds must be at least 1."
        )
    if redundancy > annotators:
        raise ImpossibleDesignError(
            f"{redundancy} ratings per unit need at least {redundancy} annotators, "
            f"because nobody judges a unit twice; there are {annotators}. "
            f"Nearest possible: redundancy {annotators}, or {redundancy} annotators."
        )
    if len(units) * redundancy < annotators:
        raise ImpossibleDesignError(
            f"{len(units)} units with {redundancy} ratings each leave some of "
            f"{annotators} annotators without anything to judge. "
            f"Nearest possible: {len(units) * redundancy} annotators."
        )
    if any(len(set(unit.methods)) != len(unit.methods) for unit in units):
        raise ImpossibleDesignError("A pair needs two different methods.")
    if len({unit.id for unit in units}) != len(units):
        raise ImpossibleDesignError("A unit is given twice.")


def _balanced(
    units: Sequence[DesignUnit], annotators: int, redundancy: int, dice: random.Random
) -> _State:
    """Distribute the units, starting anew where the balance is not reached."""
    for _attempt in range(ATTEMPTS):
        state = _distribute(units, annotators, redundancy, dice)
        if _even_out(state, dice):
            return state
    raise ImpossibleDesignError(
        f"In {ATTEMPTS} attempts no plan was found that gives everybody an even share "
        "of every method. Another seed may find one. Nearest design that always works: "
        f"{redundancy} annotators who judge everything."
    )


def _check_rounds(state: _State, redundancy: int, rounds: int) -> None:
    """Refuse rounds that repeat an uneven share: the differences would add up."""
    uneven = (
        max(state.load) > min(state.load)
        or method_spread(state.met) > 0
        or any(low != high for low, high in _shares(state).values())
    )
    if rounds > 1 and uneven:
        raise ImpossibleDesignError(
            f"The {rounds} rounds are done by the same people, so that a difference of "
            f"one slot between people or methods becomes {rounds}. Nearest possible: "
            f"{redundancy} annotators, who judge everything."
        )


def _distribute(
    units: Sequence[DesignUnit], annotators: int, redundancy: int, dice: random.Random
) -> _State:
    """Give each unit its annotators, the neediest first.

    Units come story by story with the methods rotated; an annotator is the better a
    candidate the fewer slots, encounters with the unit's methods, and outputs of the
    story this person has.
    """
    state = _State(units, annotators)
    by_methods: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for index, unit in enumerate(units):
        by_methods[unit.methods].append(index)
    groups = list(by_methods.values())
    dice.shuffle(groups)
    for group in groups:
        dice.shuffle(group)
        for index in group:
            for _ in range(redundancy):
                state.give(index, _neediest(state, index, dice))
    return state


def _neediest(state: _State, index: int, dice: random.Random) -> int:
    unit = state.units[index]
    return min(
        (a for a in range(state.annotators) if a not in state.holders[index]),
        key=lambda a: (
            sum(state.met[a][method] for method in unit.methods),
            state.stories[a][unit.story],
            state.load[a],
            dice.random(),
        ),
    )


def _even_out(state: _State, dice: random.Random) -> bool:
    """Move and swap units until loads and shares are even; say whether they are."""
    shares = _shares(state)
    excess = _excess(state, shares)
    while excess:
        _improve(state, dice)
        before, excess = excess, _excess(state, shares)
        if excess >= before:
            return _swap(state, shares, dice)
    return True


def _shares(state: _State) -> dict[str, tuple[int, int]]:
    """Return the smallest and largest even share of each method's slots.

    Pairs have none: sharing one method evenly can rule out sharing the others so.
    """
    if any(len(unit.methods) > 1 for unit in state.units):
        return {}
    slots: Counter[str] = Counter()
    for index, unit in enumerate(state.units):
        slots[unit.methods[0]] += len(state.holders[index])
    people = state.annotators
    return {m: (count // people, -(-count // people)) for m, count in slots.items()}


def _excess(state: _State, shares: dict[str, tuple[int, int]]) -> int:
    """Return by how much loads, shares and spread over methods miss their limits."""
    total = max(0, max(state.load) - min(state.load) - 1)
    total += max(0, method_spread(state.met) - 1)
    for met in state.met:
        for method, (low, high) in shares.items():
            total += max(0, met[method] - high, low - met[method])
    return total


def _improve(state: _State, dice: random.Random) -> None:
    """Make each single move that lowers the sum of squared counts."""
    order = list(range(len(state.units)))
    dice.shuffle(order)
    for index in order:
        for giver in sorted(state.holders[index]):
            gains = {
                taker: _gain(state, index, giver, taker)
                for taker in range(state.annotators)
                if taker not in state.holders[index]
            }
            taker = min(gains, key=gains.__getitem__, default=None)
            if taker is not None and gains[taker] < 0:
                state.give(index, giver, -1)
                state.give(index, taker)


def _gain(state: _State, index: int, giver: int, taker: int) -> int:
    """Return the change of the sum of squares if the unit moves; negative is better."""
    change = 2 * (state.load[taker] - state.load[giver] + 1)
    for method in state.units[index].methods:
        change += 2 * (state.met[taker][method] - state.met[giver][method] + 1)
    return change


def _swap(
    state: _State, shares: dict[str, tuple[int, int]], dice: random.Random
) -> bool:
    """Swap units between two annotators at random, keeping what does not hurt."""
    held: list[list[int]] = [[] for _ in range(state.annotators)]
    for index, holders in enumerate(state.holders):
        for annotator in sorted(holders):
            held[annotator].append(index)
    for attempt in range(SWAPS):
        if attempt % 50 == 0 and not _excess(state, shares):
            return True
        giver, taker = dice.sample(range(state.annotators), 2)
        ones = [i for i, u in enumerate(held[giver]) if taker not in state.holders[u]]
        others = [j for j, u in enumerate(held[taker]) if giver not in state.holders[u]]
        if not ones or not others:
            continue
        i, j = dice.choice(ones), dice.choice(others)
        one, other = held[giver][i], held[taker][j]
        before = _squares(state, giver) + _squares(state, taker)
        for unit, source, target in ((one, giver, taker), (other, taker, giver)):
            state.give(unit, source, -1)
            state.give(unit, target)
        if _squares(state, giver) + _squares(state, taker) > before:
            for unit, source, target in ((one, taker, giver), (other, giver, taker)):
                state.give(unit, source, -1)
                state.give(unit, target)
            continue
        held[giver][i], held[taker][j] = other, one
    return not _excess(state, shares)


def _spread_stories(state: _State, dice: random.Random) -> None:
    """Let nobody see one story much more often than another.

    Two annotators trade units of the same methods, which changes neither loads nor
    method counts; a trade is made when it evens out how often they see the stories.
    An annotator who sees a story k times needs k sessions.
    """
    by_methods: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for index, unit in enumerate(state.units):
        by_methods[unit.methods].append(index)
    order = list(range(len(state.units)))
    dice.shuffle(order)
    for _sweep in range(4):
        traded = 0
        for one in order:
            for giver in sorted(state.holders[one]):
                traded += _trade(state, one, giver, by_methods)
        if not traded:
            return


def _trade(
    state: _State,
    one: int,
    giver: int,
    by_methods: dict[tuple[str, ...], list[int]],
) -> bool:
    """Trade a unit of a story that its annotator sees too often; say whether."""
    seen = state.stories[giver]
    story = state.units[one].story
    for other in by_methods[state.units[one].methods]:
        new = state.units[other].story
        if giver in state.holders[other] or seen[new] >= seen[story] - 1:
            continue
        for taker in sorted(state.holders[other] - state.holders[one]):
            theirs = state.stories[taker]
            before = seen[story] ** 2 + seen[new] ** 2
            before += theirs[story] ** 2 + theirs[new] ** 2
            after = (seen[story] - 1) ** 2 + (seen[new] + 1) ** 2
            after += (theirs[story] + 1) ** 2 + (theirs[new] - 1) ** 2
            if after < before:
                state.give(one, giver, -1)
                state.give(one, taker)
                state.give(other, taker, -1)
                state.give(other, giver)
                return True
    return False


def _squares(state: _State, annotator: int) -> int:
    return sum(count * count for count in state.met[annotator].values())


def _sessions(
    state: _State, session_size: int, rounds: int, dice: random.Random
) -> list[list[tuple[int, list[int]]]]:
    """Cut each annotator's units into sessions without a story twice."""
    result = []
    for annotator in range(state.annotators):
        own = [i for i, holders in enumerate(state.holders) if annotator in holders]
        cut: list[tuple[int, list[int]]] = []
        for round_ in range(1, rounds + 1):
            cut += [(round_, s) for s in _cut(state, own, session_size, dice)]
        result.append(cut)
    return result


def _cut(
    state: _State, own: Sequence[int], session_size: int, dice: random.Random
) -> list[list[int]]:
    """Deal units story by story over the sessions, the commonest story first."""
    if not own:
        return []
    by_story: dict[str, list[int]] = defaultdict(list)
    for index in own:
        by_story[state.units[index].story].append(index)
    count = max(
        math.ceil(len(own) / session_size), max(len(s) for s in by_story.values())
    )
    sessions: list[list[int]] = [[] for _ in range(count)]
    groups = list(by_story.values())
    dice.shuffle(groups)
    for group in sorted(groups, key=len, reverse=True):
        dice.shuffle(group)
        shortest = sorted(range(count), key=lambda s: (len(sessions[s]), dice.random()))
        for index, place in zip(group, shortest, strict=False):
            sessions[place].append(index)
    for session in sessions:
        dice.shuffle(session)
    dice.shuffle(sessions)
    return sessions
