"""Go on with a plan after people, methods or stories came or went."""

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
    """Distribute what is still missing; what nobody can take stays missing."""
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
