"""Guarantees of plans, measured by the report and by hand."""

from collections import Counter, defaultdict
from dataclasses import replace
from itertools import combinations, groupby

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from annotate.assignment.designs.balance import (
    Assignment,
    DesignUnit,
    measure,
)
from annotate.assignment.designs.balanced import ImpossibleDesignError, LanguageGroup
from tests.annotate.assignment.plans import plan
from tests.annotate.assignment.test_balanced import likert, pairwise


@st.composite
def designs(draw):
    """Draw units with missing outputs and own redundancies, and annotator groups."""
    pairs = draw(st.booleans())
    whole = pairwise(draw(st.integers(2, 4)), 4) if pairs else likert(4, 5)
    if not pairs:
        keep = draw(st.sets(st.integers(0, len(whole) - 1), min_size=2))
        whole = [whole[i] for i in sorted(keep)]
    groups = []
    for name in draw(st.sampled_from([("en",), ("en", "zh")])):
        people = draw(st.integers(1, 6))
        groups.append(LanguageGroup(name, people, draw(st.integers(1, people))))
    most = min(group.annotators for group in groups)
    if not pairs:
        own = st.none() | st.integers(1, most)
        whole = [replace(unit, redundancy=draw(own)) for unit in whole]
    return whole, groups


def people_of(groups):
    return [i for i, group in enumerate(groups) for _ in range(group.annotators)]


def components(assignments, people):
    """Return the components of the graph of shared units, by merging sets."""
    parts = [{person} for person in range(people)]
    holders = defaultdict(set)
    for a in assignments:
        holders[a.unit].add(a.annotator)
    for together in holders.values():
        touched = [part for part in parts if part & together]
        parts = [part for part in parts if not part & together]
        parts.append(set().union(*touched))
    return parts


@given(designs(), st.integers(1, 6), st.integers(0, 3))
def test_plan_keeps_all_guarantees(design, size, seed):
    units, groups = design
    for group in groups:
        slots = sum(unit.redundancy or group.redundancy for unit in units)
        assume(slots >= group.annotators)
    result = plan(units, groups=groups, session_size=size, seed=seed)
    group_of = people_of(groups)
    count = Counter((a.unit, group_of[a.annotator]) for a in result.assignments)
    for unit in units:
        for i, group in enumerate(groups):
            assert count[unit.id, i] == (unit.redundancy or group.redundancy)
    assert max(Counter((a.annotator, a.unit) for a in result.assignments).values()) == 1
    load = Counter(a.annotator for a in result.assignments)
    for i in range(len(groups)):
        own = [load[p] for p, group in enumerate(group_of) if group == i]
        assert max(own) - min(own) <= 1
    balance = result.balance
    assert balance.stories_twice_in_session == 0
    assert balance.session_size[1] <= size
    if units[0].methods[1:]:
        assert balance.left_spread_unit <= 1
        assert balance.left_spread_pair <= 1
    else:
        shares_are_even(result.assignments, units, groups)


def shares_are_even(assignments, units, groups):
    method = {unit.id: unit.methods[0] for unit in units}
    met = Counter((a.annotator, method[a.unit]) for a in assignments)
    for name in set(method.values()):
        for i, group in enumerate(groups):
            own = [met[p, name] for p, of in enumerate(people_of(groups)) if of == i]
            assert max(own) - min(own) <= 1
            assert len(own) == group.annotators


@pytest.mark.slow
@given(
    st.integers(1, 5),
    st.integers(1, 8),
    st.integers(2, 14),
    st.integers(2, 4),
    st.booleans(),
    st.integers(0, 5),
)
def test_shared_units_connect_annotators_when_possible(
    methods, stories, people, redundancy, pairs, seed
):
    """A unit makes at most one connection fewer than it has annotators.

    With two pairs per person, balanced methods can make it impossible (see below).
    """
    units = pairwise(methods + 1, stories) if pairs else likert(methods, stories)
    redundancy = min(redundancy, people)
    assume(len(units) * (redundancy - 1) >= people - 1)
    assume(not pairs or len(units) * redundancy >= 3 * people)
    result = plan(
        units, annotators=people, redundancy=redundancy, session_size=5, seed=seed
    )
    assert len(components(result.assignments, people)) == 1
    assert result.balance.connected


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("units", [likert(26, 20), likert(5, 12), pairwise(5, 12)])
def test_methods_have_balanced_positions(units, seed):
    balance = plan(
        units, annotators=20, redundancy=10, session_size=7, seed=seed
    ).balance
    assert 0 <= balance.position_spread <= 0.05


def by_hand(units, rows, people):
    """Compute the report's newer measures row by row."""
    story = {unit.id: unit for unit in units}
    holders = defaultdict(set)
    for a in rows:
        holders[a.unit].add(a.annotator)
    shared = Counter()
    for together in holders.values():
        shared.update(frozenset(pair) for pair in combinations(sorted(together), 2))
    overlap = {pair: shared[frozenset(pair)] for pair in combinations(range(people), 2)}
    means = [
        sum(value for pair, value in overlap.items() if p in pair) / (people - 1)
        for p in range(people)
    ]
    positions = defaultdict(list)
    ordered = sorted(rows, key=lambda a: (a.annotator, a.session, a.position))
    for _key, sitting in groupby(ordered, key=lambda a: (a.annotator, a.session)):
        shown = [story[a.unit].methods for a in sitting]
        for i, methods in enumerate(shown):
            for method in methods:
                positions[method].append((i + 0.5) / len(shown))
    every = [p for values in positions.values() for p in values]
    mean = sum(every) / len(every)
    spread = max(abs(sum(v) / len(v) / mean - 1) for v in positions.values())
    return overlap, min(means), spread


@given(
    st.lists(
        st.tuples(
            st.integers(0, 3),
            st.integers(0, 11),
            st.just(1),
            st.integers(1, 2),
            st.integers(1, 9),
            st.booleans(),
        ),
        min_size=1,
        max_size=30,
    ),
    st.booleans(),
)
def test_measure_agrees_with_a_count_by_hand(rows, pairs):
    units = pairwise(3, 4) if pairs else likert(3, 4)
    rows = [Assignment(*row) for row in {(r[0], r[3], r[4]): r for r in rows}.values()]
    overlap, mean, spread = by_hand(units, rows, 4)
    balance = measure(units, rows, annotators=4)
    assert balance.overlap == (min(overlap.values()), max(overlap.values()))
    assert balance.overlap_mean == pytest.approx(mean)
    assert balance.overlap_ideal == pytest.approx(sum(overlap.values()) / 6)
    assert balance.connected == (len(components(rows, 4)) == 1)
    assert balance.position_spread == pytest.approx(spread)
    seen = Counter((a.annotator, a.unit) for a in rows)
    assert balance.repeated_units == sum(n - 1 for n in seen.values())
    load = Counter(a.annotator for a in rows)
    assert balance.load == (min(load[p] for p in range(4)), max(load.values()))
    left = Counter()
    for a in rows:
        left[a.unit] += 1 if a.a_is_left else -1
    expected = max(abs(value) for value in left.values()) if pairs else -1
    assert balance.left_spread_unit == expected


def test_groups_are_reported_in_order():
    groups = [LanguageGroup("en", 12, 5), LanguageGroup("zh", 8, 5)]
    balance = plan(likert(6, 10), groups=groups, session_size=7, seed=0).balance
    assert balance.redundancy == (10, 10)
    assert balance.group_loads == (("en", 25, 25), ("zh", 37, 38))
    assert "ratings per annotator of group zh: 37 to 38" in balance.lines()


def test_subset_is_rated_more_often():
    units = likert(3, 6)
    units = [replace(u, redundancy=5) if u.story == "s0" else u for u in units]
    result = plan(units, annotators=6, redundancy=2, session_size=4, seed=0)
    count = Counter(a.unit for a in result.assignments)
    assert {count[u.id] for u in units if u.story == "s0"} == {5}
    assert {count[u.id] for u in units if u.story != "s0"} == {2}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"groups": [LanguageGroup("en", 3, 2), LanguageGroup("zh", 2, 3)]},
            "in group zh.* redundancy 2",
        ),
        ({"annotators": 3, "redundancy": 0}, "at least 1"),
        ({"annotators": 0, "redundancy": 1}, "at least 1"),
    ],
)
def test_contradictory_groups_are_refused(arguments, message):
    with pytest.raises(ImpossibleDesignError, match=message):
        plan(likert(2, 2), session_size=2, seed=0, **arguments)


def test_own_redundancy_beyond_the_annotators_is_refused():
    unit = DesignUnit(0, "s", ("m",), redundancy=4)
    with pytest.raises(ImpossibleDesignError, match="4 annotators"):
        plan([unit], annotators=3, redundancy=2, session_size=2, seed=0)
