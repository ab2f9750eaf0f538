"""Balanced partial assignment of units to annotators."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from analysis.options import Progress, silent
from annotate.assignment.designs.balance import (
    BalanceReport,
    measure,
    method_spread,
    spreads,
)
from annotate.assignment.designs.counterbalancing import balanced_sides
from annotate.assignment.designs.ordering import arrange, sessions
from annotate.assignment.designs.planned_slots import (
    Assignments,
    DesignUnit,
    Ints,
    LanguageGroup,
    Layout,
    ranks,
)
from annotate.assignment.designs.spreading import HolderTable, deal, join, spread

# The number of exchange rounds that balance methods, and of those without gain once
# everybody rates equally frequent methods equally often.
EXCHANGES = 5_000
PATIENCE = 400


def even_shares(
    layout: Layout, redundancy: Ints, annotators: int, rng: np.random.Generator
) -> Ints | None:
    """Distribute the kinds; None if methods cannot be rated equally often."""
    slots = np.bincount(
        layout.kind, weights=redundancy, minlength=len(layout.kinds)
    ).astype(np.int64)
    base, rest = np.divmod(slots, annotators)
    shown = layout.shown.astype(np.int64)
    count = np.repeat(base[:, None], annotators, axis=1)
    load = np.zeros(annotators, dtype=np.int64)
    met = np.zeros((annotators, shown.shape[1]), dtype=np.int64)
    for kind in rng.permutation(np.flatnonzero(rest)):
        methods = np.flatnonzero(shown[kind])
        # Shares of single methods are balanced, regardless of who gets the remainder.
        need = met[:, methods].sum(axis=1) * int(layout.pairwise)
        order = np.lexsort((rng.random(annotators), need, load))
        chosen = order[: rest[kind]]
        count[kind, chosen] += 1
        load[chosen] += 1
        met[np.ix_(chosen, methods)] += 1
    if not layout.pairwise:
        return count
    limits = base[:, None], (base + (rest > 0))[:, None]
    return _exchange(count, limits, shown, rng)


def _exchange(
    count: Ints, limits: tuple[Ints, Ints], shown: Ints, rng: np.random.Generator
) -> Ints | None:
    """Exchange kinds until methods are rated equally often; None if that fails."""
    met = count.T @ shown
    mean = met.sum(axis=0) / max(len(met), 1)
    low, high = np.floor(mean), np.ceil(mean)
    best, fewest, since = count.copy(), _Misses.of(met, low, high), 0
    for _ in range(EXCHANGES):
        if fewest.beyond == 0 or (fewest.spread == 0 and since > PATIENCE):
            break
        uneven = ((met < low) | (met > high)).any(axis=1) | (spreads(met) > 1)
        _exchange_once(count, limits, shown, met, uneven, rng)
        misses, since = _Misses.of(met, low, high), since + 1
        if misses < fewest:
            best, fewest, since = count.copy(), misses, 0
    return best if fewest.spread == 0 else None


@dataclass(frozen=True, order=True)
class _Misses:
    """People who rate some methods too often, and the number of excess ratings."""

    spread: int
    beyond: float

    @classmethod
    def of(cls, met: Ints, low: np.ndarray, high: np.ndarray) -> "_Misses":
        beyond = np.maximum(met - high, 0) + np.maximum(low - met, 0)
        return cls(int((spreads(met) > 1).sum()), float(beyond.sum()))


def _exchange_once(
    count: Ints,
    limits: tuple[Ints, Ints],
    shown: Ints,
    met: Ints,
    uneven: np.ndarray,
    rng: np.random.Generator,
) -> None:
    """Exchange one kind of each person with uneven counts with somebody else's."""
    # Every other time, only people with uneven counts trade, so that counts cancel out.
    people = np.flatnonzero(uneven) if rng.random() < 0.5 else np.arange(len(met))
    half = len(people) // 2
    one, other = rng.permutation(people)[: 2 * half].reshape(2, half)
    apart = uneven[one] | uneven[other]
    one, other = one[apart], other[apart]
    if not len(one):
        return
    more = shown @ (met[one] - met[other]).T
    gives = (count[:, one] > limits[0]) & (count[:, other] < limits[1])
    takes = (count[:, other] > limits[0]) & (count[:, one] < limits[1])
    noise = rng.random((2, *more.shape)) * rng.choice([0.5, 2.0, 6.0])
    given = np.where(gives, more + noise[0], -np.inf).argmax(axis=0)
    taken = np.where(takes, more - noise[1], np.inf).argmin(axis=0)
    at = np.arange(len(one))
    change = shown[taken] - shown[given]
    gain = more[taken, at] - more[given, at] + (change * change).sum(axis=1)
    keep = gives[given, at] & takes[taken, at] & (gain <= 0)
    one, other, given, taken = one[keep], other[keep], given[keep], taken[keep]
    count[given, one] -= 1
    count[given, other] += 1
    count[taken, one] += 1
    count[taken, other] -= 1
    met[one] += change[keep]
    met[other] -= change[keep]


# The number of restarts of a distribution.
ATTEMPTS = 10


class ImpossibleDesignError(ValueError):
    """The numbers contradict each other; the message names the nearest design."""


@dataclass(frozen=True)
class Plan:
    """A complete plan with its measured balance."""

    assignments: Assignments
    balance: BalanceReport


def plan(
    units: Sequence[DesignUnit],
    *,
    groups: Sequence[LanguageGroup],
    session_size: int,
    seed: int,
    rounds: int = 1,
    progress: Progress = silent,
) -> Plan:
    """Distribute the units over the annotators."""
    names = [group.name for group in groups for _ in range(group.annotators)]
    _check_units(units, session_size, rounds)
    for group in groups:
        _check_group(units, group)
    rng = np.random.default_rng(seed % 2**64)
    layout = Layout(units)
    table = _joined(units, layout, groups, rng, progress)
    _check_rounds(table, layout, groups, rounds)
    progress("ordering sessions")
    slots = _slots(table, layout, session_size, rounds, rng)
    progress("measuring the balance")
    people = sum(group.annotators for group in groups)
    return Plan(slots, measure(units, slots, annotators=people, groups=names))


def _check_units(units: Sequence[DesignUnit], session_size: int, rounds: int) -> None:
    if not units:
        raise ImpossibleDesignError("There is nothing to judge: no unit was given.")
    if min(session_size, rounds) < 1:
        raise ImpossibleDesignError("Session size and rounds must be at least 1.")
    if any(len(set(unit.methods)) != len(unit.methods) for unit in units):
        raise ImpossibleDesignError("A pair needs two different methods.")
    if len({unit.id for unit in units}) != len(units):
        raise ImpossibleDesignError("A unit is given twice.")


def _check_group(units: Sequence[DesignUnit], group: LanguageGroup) -> None:
    own = [_redundancy(unit, group) for unit in units]
    if min(group.annotators, group.redundancy, *own) < 1:
        raise ImpossibleDesignError("Annotators and redundancy must be at least 1.")
    whose = f" in group {group.name}" if group.name else ""
    most, people = max(own), group.annotators
    if most > people:
        raise ImpossibleDesignError(
            f"{most} ratings per unit need at least {most} annotators{whose}, "
            f"because nobody judges a unit twice; there are {people}. "
            f"Nearest possible: redundancy {people}, or {most} annotators."
        )
    if sum(own) < people:
        raise ImpossibleDesignError(
            f"{len(units)} units with {sum(own)} ratings in all leave some of "
            f"{people} annotators{whose} without anything to judge. "
            f"Nearest possible: {sum(own)} annotators."
        )


def _redundancy(unit: DesignUnit, group: LanguageGroup) -> int:
    return group.redundancy if unit.redundancy is None else unit.redundancy


def _joined(
    units: Sequence[DesignUnit],
    layout: Layout,
    groups: Sequence[LanguageGroup],
    rng: np.random.Generator,
    progress: Progress,
) -> HolderTable:
    """Distribute and spread the units; restart if people are not connected."""
    for _attempt in range(ATTEMPTS):
        progress("giving each unit its annotators")
        table = _distribute(units, layout, groups, rng)
        spread(table, rng, progress)
        if join(table, rng):
            break
    return table


def _distribute(
    units: Sequence[DesignUnit],
    layout: Layout,
    groups: Sequence[LanguageGroup],
    rng: np.random.Generator,
) -> HolderTable:
    parts, number, first = [], [], 0
    for i, group in enumerate(groups):
        own = np.array([_redundancy(unit, group) for unit in units], dtype=np.int64)
        holders = _deal_evenly(layout, own, group, rng)
        parts.append(np.where(holders >= 0, holders + first, -1))
        number += [i] * holders.shape[1]
        first += group.annotators
    return HolderTable(
        layout, np.hstack(parts), np.array(number, dtype=np.int64), first
    )


def _deal_evenly(
    layout: Layout, redundancy: Ints, group: LanguageGroup, rng: np.random.Generator
) -> Ints:
    """Distribute the units of one group; restart if methods are uneven."""
    for _attempt in range(ATTEMPTS):
        count = even_shares(layout, redundancy, group.annotators, rng)
        if count is not None:
            holders = deal(layout, redundancy, count, rng)
            if holders is not None:
                return holders
    raise ImpossibleDesignError(
        f"In {ATTEMPTS} attempts no plan was found that gives everybody an even share "
        "of every method. Another seed may find one. Nearest design that always works: "
        f"{redundancy.max()} annotators who judge everything."
    )


def _check_rounds(
    table: HolderTable, layout: Layout, groups: Sequence[LanguageGroup], rounds: int
) -> None:
    """Refuse rounds that repeat an uneven share, since the differences add up."""
    if rounds == 1:
        return
    unit, person = table.slots()
    kinds = len(layout.kinds)
    key = person * kinds + layout.kind[unit]
    count = np.bincount(key, minlength=table.people * kinds).reshape(-1, kinds)
    first = 0
    for group in groups:
        own = count[first : first + group.annotators]
        first += group.annotators
        met = own @ layout.shown.astype(np.int64)
        uneven = np.ptp(own.sum(axis=1)) > 0 or method_spread(met) > 0
        if uneven or (not layout.pairwise and np.ptp(own, axis=0).any()):
            raise ImpossibleDesignError(
                f"The {rounds} rounds are done by the same people, so that a "
                f"difference of one slot between people or methods becomes {rounds}. "
                f"Nearest possible: {group.redundancy} annotators, who judge "
                "everything."
            )


def _slots(
    table: HolderTable,
    layout: Layout,
    session_size: int,
    rounds: int,
    rng: np.random.Generator,
) -> Assignments:
    unit, person = (np.tile(column, rounds) for column in table.slots())
    round_ = np.repeat(np.arange(1, rounds + 1), len(unit) // rounds)
    session = sessions(person, layout.story[unit], round_, session_size, rng)
    left = balanced_sides(layout, unit, person, rng)
    order = arrange(layout, person, unit, session, rng)
    person, unit = person[order], unit[order]
    return Assignments(
        person,
        layout.ids[unit],
        round_[order],
        session[order],
        ranks(person) + 1,
        left[order],
    )
