"""Replanning: held slots, distinct units per person, even loads."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from annotate.assignment.designs.balance import Assignment, DesignUnit, measure
from annotate.assignment.designs.replanning import replan
from tests.annotate.assignment.plans import plan
from tests.annotate.assignment.test_balanced import likert, pairwise


def each(units, redundancy):
    """Return the units with a redundancy, unless it is set already."""
    return [replace(u, redundancy=u.redundancy or redundancy) for u in units]


def missing(units, held, new):
    """Return the ratings that each unit lacks after new slots."""
    count = Counter(a.unit for a in held) + Counter(a.unit for a in new)
    lacks = {u.id: max(0, u.redundancy - count[u.id]) for u in units}
    return {unit: lack for unit, lack in lacks.items() if lack}


@st.composite
def interrupted(draw):
    methods, stories = draw(st.integers(2, 4)), draw(st.integers(1, 5))
    pairs = draw(st.booleans())
    units = (pairwise if pairs else likert)(methods, stories)
    people = draw(st.integers(2, 7))
    redundancy = draw(st.integers(1, min(3, people)))
    if len(units) * redundancy < people:
        people = redundancy
    whole = plan(
        units,
        annotators=people,
        redundancy=redundancy,
        session_size=3,
        seed=draw(st.integers(0, 3)),
    )
    kept = draw(
        st.lists(
            st.booleans(),
            min_size=len(whole.assignments),
            max_size=len(whole.assignments),
        )
    )
    held = [a for a, keep in zip(whole.assignments, kept, strict=True) if keep]
    room = [
        draw(st.none() | st.integers(0, 6)) if draw(st.booleans()) else 0
        for _ in range(people)
    ]
    room += [None] * draw(st.integers(0, 2))
    own = draw(st.none() | st.integers(1, 5))
    units[0] = replace(units[0], redundancy=own)
    return each(units, draw(st.integers(1, 4))), held, room


@pytest.mark.slow
@given(interrupted(), st.integers(0, 3))
def test_replan_fills_all_gaps_that_people_can_take(case, seed):
    units, held, room = case
    new = list(replan(units, held, room=room, session_size=3, seed=seed))
    before = Counter(a.unit for a in held)
    for unit, count in Counter(a.unit for a in new).items():
        own = next(u.redundancy for u in units if u.id == unit)
        assert count + before[unit] <= own
    both = [*held, *new]
    assert len({(a.annotator, a.unit) for a in both}) == len(both)
    taken = Counter(a.annotator for a in new)
    for person, count in taken.items():
        assert room[person] is None or count <= room[person]
    for unit in missing(units, held, new):
        for person, most in enumerate(room):
            holds = any((a.annotator, a.unit) == (person, unit) for a in both)
            assert holds or (most is not None and taken[person] >= most)
    # Sessions and positions continue from the held ones, without repeated stories.
    story = {unit.id: unit.story for unit in units}
    sittings = Counter((a.annotator, a.session, story[a.unit]) for a in new)
    assert max(sittings.values(), default=1) == 1
    assert max(Counter((a.annotator, a.session) for a in new).values(), default=0) <= 3
    for person in taken:
        old = [a for a in held if a.annotator == person]
        own = [a for a in new if a.annotator == person]
        last = max((a.position for a in old), default=0)
        assert [a.position for a in own] == list(range(last + 1, last + 1 + len(own)))
        assert (
            min(a.session for a in own) == max((a.session for a in old), default=0) + 1
        )
        assert [a.session for a in own] == sorted(a.session for a in own)


@given(interrupted(), st.integers(0, 3))
def test_replan_sides_compensate_held_ones(case, seed):
    units, held, room = case
    new = list(replan(units, held, room=room, session_size=3, seed=seed))
    for unit in units:
        before = sum(1 if a.a_is_left else -1 for a in held if a.unit == unit.id)
        sides = [1 if a.a_is_left else -1 for a in new if a.unit == unit.id]
        least = max(abs(before) - len(sides), (before + len(sides)) % 2)
        assert abs(before + sum(sides)) == least


@given(
    st.integers(2, 6), st.integers(1, 14), st.integers(0, 40), st.integers(0, 10_000)
)
def test_replan_loads_are_as_even_as_possible(people, number, extra, seed):
    """One slot per unit is missing; the optimum is an assignment problem."""
    rng = np.random.default_rng(seed)
    units = [DesignUnit(i, f"s{i}", ("m",), redundancy=1) for i in range(number)]
    held, cost = [], np.full((number, people * number), 1e6)
    others = [DesignUnit(100 + i, "other", ("m",)) for i in range(extra)]
    for i in range(extra):
        person = int(rng.integers(people) * rng.integers(2))
        held.append(Assignment(person, others[i].id, 1, 1, len(held) + 1, True))
    barred = rng.random((number, people)) < 0.5
    for i in range(number):
        for person in np.flatnonzero(barred[i]).tolist():
            held.append(Assignment(person, i, 1, 1, len(held) + 1, True))
        units[i] = replace(units[i], redundancy=int(barred[i].sum()) + 1)
    load = np.bincount([a.annotator for a in held], minlength=people)
    for person in range(people):
        for k in range(number):
            cost[~barred[:, person], person * number + k] = 2 * (load[person] + k) + 1
    rows, columns = linear_sum_assignment(cost)
    possible = cost[rows, columns] < 1e6
    optimum = cost[rows, columns][possible].sum() + (load**2).sum()
    new = replan(units, held, room=[None] * people, session_size=4, seed=seed)
    total = load + np.bincount([a.annotator for a in new], minlength=people)
    assert len(new) == possible.sum()
    assert (total**2).sum() == optimum


def test_slots_of_another_round_count_only_as_load():
    """A rated everything in another round, so B and C get the new slots."""
    units = each(likert(2, 2), 1)
    held = [Assignment(0, unit.id, 2, 1, i, True) for i, unit in enumerate(units)]
    new = list(replan(units, held, room=[None] * 3, session_size=2, seed=0))
    assert Counter(a.annotator for a in new) == {1: 2, 2: 2}
    assert sorted(a.unit for a in new) == [0, 1, 2, 3]
    assert {a.round for a in new} == {1}


def test_newcomers_get_methods_evenly():
    units = each(likert(6, 20), 4)
    whole = plan(units, annotators=8, redundancy=4, session_size=5, seed=0)
    held = [a for a in whole.assignments if a.annotator < 4]
    room = [None] * 4 + [0] * 4 + [None] * 4
    new = replan(units, held, room=room, session_size=5, seed=0)
    balance = measure(units, [*held, *new], annotators=len(room))
    assert balance.redundancy == (4, 4)
    assert balance.method_spread <= 2


def test_replan_depends_on_its_seed_only():
    def run(seed):
        units = each(likert(3, 4), 2)
        return list(replan(units, [], room=[None] * 4, session_size=3, seed=seed))

    assert run(1) == run(1)
    assert run(1) != run(2)
