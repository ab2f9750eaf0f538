"""What a plan of the rest keeps: held slots, nobody twice, loads as even as can be."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from annotate.assignment.designs.balance import Assignment, DesignUnit
from annotate.assignment.designs.balanced import plan
from annotate.assignment.designs.replanning import PlannedPerson, replan
from tests.annotate.assignment.test_balanced import likert, pairwise


def missing(units, held, people, redundancy, result):
    """Return what each unit still lacks when new slots are counted, and is listed."""
    count = Counter(a.unit for a in held) + Counter(a.unit for a in result.assignments)
    listed = {one.unit: one.slots for one in result.unassigned}
    lacks = {u.id: max(0, (u.redundancy or redundancy) - count[u.id]) for u in units}
    return {unit: lack for unit, lack in lacks.items() if lack}, listed


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
    crew = [
        PlannedPerson(draw(st.booleans()), most=draw(st.none() | st.integers(0, 6)))
        for _ in range(people)
    ]
    crew += [PlannedPerson()] * draw(st.integers(0, 2))
    own = draw(st.none() | st.integers(1, 5))
    units[0] = replace(units[0], redundancy=own)
    return units, held, crew, draw(st.integers(1, 4))


@settings(max_examples=120, deadline=None)
@given(interrupted(), st.integers(0, 3))
def test_what_is_missing_is_filled_or_listed(case, seed):
    units, held, crew, redundancy = case
    result = replan(
        units, held, annotators=crew, redundancy=redundancy, session_size=3, seed=seed
    )
    new = list(result.assignments)
    lacks, listed = missing(units, held, crew, redundancy, result)
    assert lacks == listed
    before = Counter(a.unit for a in held)
    for unit, count in Counter(a.unit for a in new).items():
        own = next(u.redundancy for u in units if u.id == unit) or redundancy
        assert count + before[unit] <= own
    both = [*held, *new]
    assert len({(a.annotator, a.unit) for a in both}) == len(both)
    taken = Counter(a.annotator for a in new)
    for person, count in taken.items():
        assert crew[person].works
        assert crew[person].most is None or count <= crew[person].most
    for unit in listed:
        for person, one in enumerate(crew):
            holds = any((a.annotator, a.unit) == (person, unit) for a in both)
            full = one.most is not None and taken[person] >= one.most
            assert holds or full or not one.works
    # New sessions and positions go on from the held ones; no story twice in a session.
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


@settings(max_examples=80, deadline=None)
@given(interrupted(), st.integers(0, 3))
def test_sides_make_up_for_held_ones(case, seed):
    units, held, crew, redundancy = case
    new = list(
        replan(
            units,
            held,
            annotators=crew,
            redundancy=redundancy,
            session_size=3,
            seed=seed,
        ).assignments
    )
    for unit in units:
        before = sum(1 if a.a_is_left else -1 for a in held if a.unit == unit.id)
        sides = [1 if a.a_is_left else -1 for a in new if a.unit == unit.id]
        least = max(abs(before) - len(sides), (before + len(sides)) % 2)
        assert abs(before + sum(sides)) == least


@settings(max_examples=100, deadline=None)
@given(
    st.integers(2, 6),
    st.integers(1, 14),
    st.integers(0, 40),
    st.integers(0, 10_000),
)
def test_loads_are_as_even_as_the_held_slots_allow(people, number, extra, seed):
    """One slot a unit is missing: the optimum is an assignment problem."""
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
    result = replan(
        units,
        held,
        annotators=[PlannedPerson()] * people,
        redundancy=1,
        session_size=4,
        seed=seed,
    )
    total = load + np.bincount(
        [a.annotator for a in result.assignments], minlength=people
    )
    assert len(result.assignments) == possible.sum()
    assert (total**2).sum() == optimum


def test_a_limit_of_one_person_is_passed_on_to_another():
    """A can take one slot: it must be the one that B cannot take."""
    units = [DesignUnit(i, f"s{i}", ("m",)) for i in range(2)]
    held = [Assignment(1, 1, 1, 1, 1, True)]
    units[1] = replace(units[1], redundancy=2)
    for seed in range(10):
        result = replan(
            units,
            held,
            annotators=[PlannedPerson(most=1), PlannedPerson(most=1)],
            redundancy=1,
            session_size=2,
            seed=seed,
        )
        assert not result.unassigned
        assert {(a.annotator, a.unit) for a in result.assignments} == {(0, 1), (1, 0)}


def test_a_chain_leads_from_a_full_person_to_a_free_one():
    """A and B hold most of it; C may take only what A took first."""
    units = [DesignUnit(i, f"s{i}", ("m",), redundancy=1) for i in range(3)]
    crew = [PlannedPerson(most=2), PlannedPerson(most=1)]
    for seed in range(10):
        result = replan(
            units, [], annotators=crew, redundancy=1, session_size=3, seed=seed
        )
        assert not result.unassigned


def test_groups_fill_their_own_share_and_who_left_gets_nothing():
    units = likert(3, 4)
    crew = (
        [PlannedPerson(group="en")] * 3
        + [PlannedPerson(group="zh")] * 2
        + [PlannedPerson(False, "zh")]
    )
    held = [
        Assignment(5, unit.id, 1, 1, i + 1, True) for i, unit in enumerate(units[:4])
    ]
    result = replan(
        units,
        held,
        annotators=crew,
        redundancy={"en": 2, "zh": 2},
        session_size=4,
        seed=1,
    )
    count = Counter((a.unit, crew[a.annotator].group) for a in result.assignments)
    assert not result.unassigned
    assert all(count[unit.id, "en"] == 2 for unit in units)
    assert [count[unit.id, "zh"] for unit in units] == [1] * 4 + [2] * 8
    assert all(a.annotator != 5 for a in result.assignments)
    assert [name for name, _low, _high in result.balance.group_loads] == ["en", "zh"]


def test_what_nobody_can_take_is_listed():
    result = replan(
        likert(1, 2),
        [],
        annotators=[PlannedPerson(), PlannedPerson(False)],
        redundancy=3,
        session_size=2,
        seed=0,
    )
    assert [(one.unit, one.slots) for one in result.unassigned] == [(0, 2), (1, 2)]


def test_rounds_are_completed_each_on_its_own():
    units = likert(2, 2)
    whole = plan(units, annotators=2, redundancy=2, session_size=2, seed=0, rounds=3)
    held = [a for a in whole.assignments if a.round != 2 or a.annotator == 0]
    result = replan(
        units,
        held,
        annotators=[PlannedPerson()] * 2,
        redundancy=2,
        session_size=2,
        seed=0,
        rounds=3,
    )
    assert {(a.annotator, a.round) for a in result.assignments} == {(1, 2)}
    assert sorted(a.unit for a in result.assignments) == [0, 1, 2, 3]


def test_methods_are_met_evenly_by_newcomers():
    units = likert(6, 20)
    whole = plan(units, annotators=8, redundancy=4, session_size=5, seed=0)
    held = [a for a in whole.assignments if a.annotator < 4]
    crew = [PlannedPerson()] * 4 + [PlannedPerson(False)] * 4 + [PlannedPerson()] * 4
    result = replan(units, held, annotators=crew, redundancy=4, session_size=5, seed=0)
    assert not result.unassigned
    assert result.balance.redundancy == (4, 4)
    assert result.balance.method_spread <= 2


def test_the_same_seed_gives_the_same_plan():
    def run(seed):
        return replan(
            likert(3, 4),
            [],
            annotators=[PlannedPerson()] * 4,
            redundancy=2,
            session_size=3,
            seed=seed,
        ).assignments

    assert run(1) == run(1)
    assert run(1) != run(2)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"redundancy": 0}, "at least 1"),
        ({"redundancy": {"en": 2}}, "No redundancy is given for group zh"),
        ({"annotators": []}, "not listed"),
    ],
)
def test_contradictions_are_named(change, message):
    arguments = {
        "annotators": [PlannedPerson(group="zh")],
        "redundancy": 1,
        "session_size": 2,
        "seed": 0,
    } | change
    with pytest.raises(ValueError, match=message):
        replan(likert(1, 1), [Assignment(0, 0, 1, 1, 1, True)], **arguments)
