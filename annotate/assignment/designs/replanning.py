"""A plan that goes on: what is held stays, what is missing is distributed anew. Pure.

People drop out; managers add methods, stories or annotators, or raise the redundancy.
`replan` leaves every held slot alone and gives what units still lack to the people who
may work, so that

* nobody judges a unit twice, nobody gets more than they may;
* as many of the missing slots are filled as can be;
* total loads, held slots included, are as even as the held ones allow;
* no story comes twice in a new session;
* left and right are balanced within one, for units and pairs of methods, as far as the
  held slots allow.

Methods and stories are spread as evenly as was found.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from annotate.assignment.designs.counterbalancing import HeldSides, completed_sides
from annotate.assignment.designs.filling import Filling
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


def replan(
    units: Sequence[DesignUnit],
    held: Iterable[Assignment],
    *,
    room: Sequence[int | None],
    session_size: int,
    seed: int,
) -> Assignments:
    """Distribute what is still missing; what nobody can take stays missing.

    Parameters
    ----------
    units
        What is to be judged from now on, each with its redundancy.
    held
        Slots that were submitted or begun. Those of units that are no longer judged,
        and those of another round than the first, count for loads only. What stands at
        position 0 was skipped: nobody saw its sides.
    room
        How many new slots each person may get; None: as many as there are. The numbers
        of people in `held` are their places in this list.
    session_size
        Largest number of slots in one sitting.
    seed
        Fixes every random choice.

    Returns
    -------
    Assignments
        New slots of the first round, sorted by annotator and position. Their sessions
        and positions are counted on from each person's held ones.

    Raises
    ------
    ValueError
        A number is below 1, a unit is given twice, or a held slot is of somebody who is
        not listed.
    """
    rows = Assignments.of(held)
    people = len(room)
    wanted = np.array([unit.redundancy or 0 for unit in units], dtype=np.int64)
    if min([session_size, *wanted]) < 1:
        raise ValueError("Redundancy and session size must be at least 1.")
    if len({unit.id for unit in units}) != len(units):
        raise ValueError("A unit is given twice.")
    if len(rows) and not 0 <= rows.annotator.min() <= rows.annotator.max() < people:
        raise ValueError("A held slot is of an annotator who is not listed.")
    rng = np.random.default_rng(seed % 2**64)
    layout = Layout(units)
    place = layout.places(rows.unit)
    counts = (place >= 0) & (rows.round == 1)
    holds = np.zeros((people, len(units)), dtype=bool)
    holds[rows.annotator[counts], place[counts]] = True
    filling = Filling(
        layout,
        np.maximum(wanted - holds.sum(axis=0), 0),
        holds,
        room=np.array([len(units) if most is None else most for most in room]),
        load=np.bincount(rows.annotator, minlength=people),
        held=(rows.annotator[counts], place[counts]),
        rng=rng,
    )
    filling.fill()
    filling.even_loads()
    filling.even_methods()
    return _slots(layout, rows, *filling.slots(), session_size, people, rng)


def _slots(
    layout: Layout,
    held: Assignments,
    unit: Ints,
    person: Ints,
    size: int,
    people: int,
    rng: np.random.Generator,
) -> Assignments:
    """Return the new slots in sessions, counted on from the held ones."""
    last = np.zeros((2, people), dtype=np.int64)
    np.maximum.at(last[0], held.annotator, held.session)
    np.maximum.at(last[1], held.annotator, held.position)
    first_round = np.ones_like(unit)
    session = sessions(person, layout.story[unit], first_round, size, rng)
    left = _sides(layout, held, unit, person, rng)
    order = arrange(layout, person, unit, session, rng)
    person = person[order]
    return Assignments(
        person,
        layout.ids[unit[order]],
        first_round,
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
    shown = (place >= 0) & (held.position > 0)
    sides = HeldSides(place[shown], held.annotator[shown], held.a_is_left[shown])
    return completed_sides(layout, unit, person, sides, rng)
