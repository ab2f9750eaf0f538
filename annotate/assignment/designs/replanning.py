"""A plan that goes on: what is held stays, what is missing is distributed anew. Pure.

People drop out; managers add methods, stories or annotators, or raise the redundancy.
`replan` leaves every held slot alone and gives what units still lack to the people who
may work, so that

* nobody judges a unit twice (in a round), nobody gets more than they may;
* as many of the missing slots are filled as can be;
* total loads, held slots included, are as even as the held ones allow;
* no story comes twice in a new session;
* left and right are balanced within one, for units and pairs of methods, as far as the
  held slots allow.

Methods and stories are spread as evenly as was found; the report says how evenly.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from annotate.assignment.designs.balance import BalanceReport, measure
from annotate.assignment.designs.counterbalancing import completed_sides
from annotate.assignment.designs.filling import Filling, Work
from annotate.assignment.designs.ordering import arrange, sessions
from annotate.assignment.designs.planned_slots import (
    Assignment,
    Assignments,
    Bools,
    DesignUnit,
    Ints,
    Layout,
    ranks,
)


@dataclass(frozen=True)
class PlannedPerson:
    """An annotator of a study that is under way.

    Parameters
    ----------
    works
        Whether this person may get new slots.
    group
        The language group, where redundancy is given for groups.
    most
        Most new slots, if there is a limit.
    """

    works: bool = True
    group: str = ""
    most: int | None = None


@dataclass(frozen=True)
class Unassigned:
    """Slots that nobody can take: everybody who may holds the unit, or has enough."""

    unit: int
    round: int
    group: str
    slots: int


@dataclass(frozen=True)
class Replan:
    """The new slots, what nobody can take, and the balance with the held slots."""

    assignments: Assignments
    unassigned: tuple[Unassigned, ...]
    balance: BalanceReport


def replan(
    units: Sequence[DesignUnit],
    held: Iterable[Assignment],
    *,
    annotators: Sequence[PlannedPerson],
    redundancy: int | Mapping[str, int],
    session_size: int,
    seed: int,
    rounds: int = 1,
) -> Replan:
    """Distribute what is still missing.

    Parameters
    ----------
    units
        What is to be judged from now on.
    held
        Slots that were submitted or begun. Those of units that are no longer judged
        count for loads only.
    annotators
        The people; the numbers in `held` are their places in this list.
    redundancy
        Different annotators per unit and round; of each group, if it is a mapping.
    session_size
        Largest number of slots in one sitting.
    seed
        Fixes every random choice.
    rounds
        How often each unit is judged by its annotators. Missing slots of each round
        are distributed on their own.

    Returns
    -------
    Replan
        New slots, sorted by annotator and position. Their sessions and positions are
        counted on from each person's held ones.

    Raises
    ------
    ValueError
        A number is below 1, a unit is given twice, a held slot is of somebody who is
        not listed, or a group has no redundancy.
    """
    rows = Assignments.of(held)
    names = _checked(units, rows, annotators, redundancy, session_size, rounds)
    rng = np.random.default_rng(seed % 2**64)
    layout = Layout(units)
    work = _work(units, layout, rows, annotators, names, redundancy, rounds)
    filling = Filling(work, rng)
    filling.fill()
    filling.even_loads()
    filling.even_methods()
    item, person = filling.slots()
    new = _slots(layout, rows, item, person, rounds, session_size, len(annotators), rng)
    unassigned = tuple(
        Unassigned(
            int(layout.ids[work.item[i] // rounds]),
            int(work.item[i] % rounds) + 1,
            names[work.group[i]],
            int(count),
        )
        for i, count in enumerate(filling.left)
        if count
    )
    both = Assignments(
        *(np.concatenate(pair) for pair in zip(rows.columns, new.columns, strict=True))
    )
    listed = [p.group for p in annotators] if isinstance(redundancy, Mapping) else []
    balance = measure(units, both, annotators=len(annotators), groups=listed)
    return Replan(new, unassigned, balance)


def _checked(
    units: Sequence[DesignUnit],
    held: Assignments,
    annotators: Sequence[PlannedPerson],
    redundancy: int | Mapping[str, int],
    session_size: int,
    rounds: int,
) -> list[str]:
    """Return the names of the groups, or say what is wrong with the arguments."""
    groups = dict(redundancy) if isinstance(redundancy, Mapping) else {"": redundancy}
    own = [unit.redundancy for unit in units if unit.redundancy is not None]
    if min(session_size, rounds, *groups.values(), *own) < 1:
        raise ValueError("Redundancy, session size and rounds must be at least 1.")
    if len({unit.id for unit in units}) != len(units):
        raise ValueError("A unit is given twice.")
    if len(held) and not 0 <= held.annotator.min() <= held.annotator.max() < len(
        annotators
    ):
        raise ValueError("A held slot is of an annotator who is not listed.")
    if isinstance(redundancy, Mapping):
        unknown = sorted({person.group for person in annotators} - set(groups))
        if unknown:
            raise ValueError(f"No redundancy is given for group {', '.join(unknown)}.")
    return list(groups)


def _work(
    units: Sequence[DesignUnit],
    layout: Layout,
    held: Assignments,
    annotators: Sequence[PlannedPerson],
    names: Sequence[str],
    redundancy: int | Mapping[str, int],
    rounds: int,
) -> Work:
    """Return what is missing, who may take it, and what people have already.

    An item is a unit in a round.
    """
    grouped = isinstance(redundancy, Mapping)
    of_group = {name: i for i, name in enumerate(names)}
    group = np.array(
        [of_group[p.group] if grouped else 0 for p in annotators], dtype=np.int64
    )
    place = layout.places(held.unit)
    counts = (place >= 0) & (held.round >= 1) & (held.round <= rounds)
    item = place[counts] * rounds + held.round[counts] - 1
    person = held.annotator[counts]
    holds = np.zeros((len(annotators), len(units) * rounds), dtype=bool)
    holds[person, item] = True
    wanted = np.array(
        [
            [_redundancy(unit, name, redundancy) for name in names]
            for unit in units
            for _ in range(rounds)
        ],
        dtype=np.int64,
    ).reshape(-1, len(names))
    for i in range(len(names)):
        wanted[:, i] -= holds[group == i].sum(axis=0)
    which, whose = np.nonzero(wanted > 0)
    kind, story = np.repeat(layout.kind, rounds), np.repeat(layout.story, rounds)
    met = np.zeros((len(annotators), len(layout.methods)), dtype=np.int64)
    np.add.at(met, person, layout.shown[kind[item]].astype(np.int64))
    seen = np.zeros((len(annotators), layout.stories), dtype=np.int64)
    np.add.at(seen, (person, story[item]), 1)
    most = [len(holds.T) if p.most is None else p.most for p in annotators]
    return Work(
        item=which,
        group=whose,
        missing=wanted[which, whose],
        holds=holds,
        people_group=group,
        room=np.array(most) * [p.works for p in annotators],
        load=np.bincount(held.annotator, minlength=len(annotators)),
        met=met,
        seen=seen,
        shown=layout.shown[kind].astype(np.int64),
        story=story,
    )


def _redundancy(
    unit: DesignUnit, group: str, redundancy: int | Mapping[str, int]
) -> int:
    if unit.redundancy is not None:
        return unit.redundancy
    return redundancy[group] if isinstance(redundancy, Mapping) else redundancy


def _slots(
    layout: Layout,
    held: Assignments,
    item: Ints,
    person: Ints,
    rounds: int,
    size: int,
    people: int,
    rng: np.random.Generator,
) -> Assignments:
    """Return the new slots in sessions, counted on from the held ones."""
    unit, round_ = item // rounds, item % rounds + 1
    last = np.zeros((2, people), dtype=np.int64)
    np.maximum.at(last[0], held.annotator, held.session)
    np.maximum.at(last[1], held.annotator, held.position)
    session = sessions(person, layout.story[unit], round_, size, rng)
    left = _sides(layout, held, unit, person, rng)
    order = arrange(layout, person, unit, session, rng)
    person = person[order]
    return Assignments(
        person,
        layout.ids[unit[order]],
        round_[order],
        session[order] + last[0][person],
        ranks(person) + 1 + last[1][person],
        left[order],
    )


def _sides(
    layout: Layout,
    held: Assignments,
    unit: Ints,
    person: Ints,
    rng: np.random.Generator,
) -> Bools:
    """Return the sides of new slots, which make up for those of held ones."""
    place = layout.places(held.unit)
    known = place >= 0
    lean = np.where(held.a_is_left[known], 1, -1)
    people = int(max(person.max(initial=-1), held.annotator.max(initial=-1))) + 1
    of_unit = np.zeros(len(layout), dtype=np.int64)
    of_kind = np.zeros(len(layout.kinds), dtype=np.int64)
    of_person = np.zeros(people, dtype=np.int64)
    np.add.at(of_unit, place[known], lean)
    np.add.at(of_kind, layout.kind[place[known]], lean)
    np.add.at(of_person, held.annotator[known], lean)
    return completed_sides(unit, layout.kind, person, of_unit, of_kind, of_person, rng)
