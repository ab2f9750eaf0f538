"""Guarantees of balanced assignment for designs of many sizes."""

from collections import Counter

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from annotate.assignment.designs.balance import DesignUnit, measure
from annotate.assignment.designs.balanced import ImpossibleDesignError
from tests.annotate.assignment.plans import plan


def likert(methods: int, stories: int) -> list[DesignUnit]:
    return [
        DesignUnit(m * stories + s, f"s{s}", (f"m{m}",))
        for m in range(methods)
        for s in range(stories)
    ]


def pairwise(methods: int, stories: int) -> list[DesignUnit]:
    pairs = [(a, b) for a in range(methods) for b in range(a + 1, methods)]
    return [
        DesignUnit(s * len(pairs) + i, f"s{s}", (f"m{a}", f"m{b}"))
        for s in range(stories)
        for i, (a, b) in enumerate(pairs)
    ]


@given(
    methods=st.integers(1, 7),
    stories=st.integers(1, 9),
    annotators=st.integers(1, 12),
    redundancy=st.integers(1, 6),
    size=st.integers(1, 8),
    seed=st.integers(0, 5),
)
def test_likert_plan_is_balanced(methods, stories, annotators, redundancy, size, seed):
    units = likert(methods, stories)
    if redundancy > annotators or len(units) * redundancy < annotators:
        with pytest.raises(ImpossibleDesignError):
            plan(
                units,
                annotators=annotators,
                redundancy=redundancy,
                session_size=size,
                seed=seed,
            )
        return
    result = plan(
        units,
        annotators=annotators,
        redundancy=redundancy,
        session_size=size,
        seed=seed,
    )
    balance = result.balance
    assert balance.redundancy == (redundancy, redundancy)
    assert balance.load[1] - balance.load[0] <= 1
    assert balance.method_spread <= 1
    assert balance.repeated_units == 0
    assert balance.stories_twice_in_session == 0
    assert balance.session_size[1] <= size


@pytest.mark.slow
@given(
    methods=st.integers(2, 6),
    stories=st.integers(1, 6),
    annotators=st.integers(2, 9),
    redundancy=st.integers(1, 4),
    seed=st.integers(0, 5),
)
def test_sides_are_counterbalanced(methods, stories, annotators, redundancy, seed):
    redundancy = min(redundancy, annotators)
    units = pairwise(methods, stories)
    assume(len(units) * redundancy >= annotators)
    balance = plan(
        units, annotators=annotators, redundancy=redundancy, session_size=6, seed=seed
    ).balance
    assert balance.left_spread_unit <= 1
    assert balance.left_spread_pair <= 1
    assert balance.load[1] - balance.load[0] <= 1
    assert balance.method_spread <= 1
    assert balance.redundancy == (redundancy, redundancy)
    assert balance.stories_twice_in_session == 0


@given(
    outputs=st.sets(
        st.tuples(st.integers(0, 4), st.integers(0, 5)), min_size=1, max_size=30
    ),
    annotators=st.integers(1, 9),
    redundancy=st.integers(1, 5),
)
def test_shares_are_even_when_outputs_are_missing(outputs, annotators, redundancy):
    redundancy = min(redundancy, annotators)
    assume(len(outputs) * redundancy >= annotators)
    units = [
        DesignUnit(i, f"s{story}", (f"m{method}",))
        for i, (method, story) in enumerate(sorted(outputs))
    ]
    result = plan(
        units, annotators=annotators, redundancy=redundancy, session_size=4, seed=0
    )
    method_of = {unit.id: unit.methods[0] for unit in units}
    met = Counter((a.annotator, method_of[a.unit]) for a in result.assignments)
    for method, count in Counter(method_of.values()).items():
        share = count * redundancy / annotators
        for person in range(annotators):
            assert abs(met[person, method] - share) < 1
    assert result.balance.load[1] - result.balance.load[0] <= 1
    assert result.balance.redundancy == (redundancy, redundancy)


def test_uneven_share_is_not_repeated_in_rounds():
    with pytest.raises(ImpossibleDesignError, match="Nearest possible: 5 annotators"):
        plan(likert(4, 4), annotators=6, redundancy=5, session_size=8, seed=1, rounds=5)


@pytest.mark.parametrize(
    ("units", "annotators", "redundancy"),
    [(pairwise(2, 9), 8, 1), (likert(1, 4), 8, 7), (pairwise(2, 6), 5, 1)],
)
def test_rounds_do_not_multiply_uneven_loads(units, annotators, redundancy):
    with pytest.raises(ImpossibleDesignError, match="rounds"):
        plan(
            units,
            annotators=annotators,
            redundancy=redundancy,
            session_size=4,
            seed=0,
            rounds=5,
        )


@pytest.mark.slow
def test_vistorybench_user_study_is_balanced_exactly():
    balance = plan(
        likert(26, 20), annotators=20, redundancy=10, session_size=7, seed=1
    ).balance
    assert balance.slots == 5200
    assert balance.load == (260, 260)
    assert balance.method_spread == 0
    assert 6 <= balance.session_size[0] <= balance.session_size[1] <= 7


def test_plan_depends_on_its_seed():
    def run(seed):
        return list(
            plan(
                pairwise(4, 5), annotators=6, redundancy=3, session_size=5, seed=seed
            ).assignments
        )

    assert run(3) == run(3)
    assert run(3) != run(4)


def test_ten_ratings_by_seven_annotators_are_refused_with_the_nearest_design():
    with pytest.raises(ImpossibleDesignError, match="redundancy 7, or 10 annotators"):
        plan(likert(2, 2), annotators=7, redundancy=10, session_size=5, seed=0)


def test_measure_finds_imbalance():
    units = pairwise(2, 1)
    good = plan(units, annotators=2, redundancy=2, session_size=1, seed=0)
    doubled = [*good.assignments, next(iter(good.assignments))]
    balance = measure(units, doubled, annotators=2)
    assert balance.repeated_units == 1
    assert balance.stories_twice_in_session == 1
    assert balance.redundancy == (3, 3)
