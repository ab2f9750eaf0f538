"""Samples: exact size, proportional to groups, determined by the seed."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotate.assignment.designs.sampling import cell_pairs, method_sets, sample, subset


@given(st.lists(st.integers(0, 3), max_size=40), st.data())
def test_sample_is_proportional_to_groups(labels, data):
    n = data.draw(st.integers(0, len(labels)))
    strata = dict(enumerate(labels))
    drawn = sample(range(len(labels)), n, 3, strata)
    assert len(drawn) == n
    assert drawn == sorted(set(drawn))
    count = Counter(strata[key] for key in drawn)
    for label, size in Counter(labels).items():
        assert abs(count[label] - size * n / len(labels)) < 1


def test_subset_is_a_share_or_a_number():
    assert len(subset(range(20), 0.25, 0)) == 5
    assert len(subset(range(20), 1.0, 0)) == 20
    assert len(subset(range(20), 1, 0)) == 1
    strata = {key: key % 2 for key in range(20)}
    assert Counter(key % 2 for key in subset(range(20), 0.5, 0, strata)) == {0: 5, 1: 5}


def test_method_sets_are_all_pairs():
    assert method_sets("bca") == [("a", "b"), ("a", "c"), ("b", "c")]
    ring = [("a", "b"), ("b", "c"), ("c", "d"), ("a", "d")]
    assert method_sets("dbca", "ring") == ring
    assert method_sets("ba", "ring") == [("a", "b")]
    assert method_sets("abc", [("c", "a")]) == [("a", "c")]


def test_method_sets_can_be_larger():
    assert method_sets("dbca", "all", 3) == [
        tuple(s) for s in ("abc", "abd", "acd", "bcd")
    ]
    ring = method_sets("abcdefg", "ring", 3)
    assert len(ring) == len(set(ring)) == 7
    assert set(Counter(name for names in ring for name in names).values()) == {3}
    assert method_sets("abc", "ring", 3) == [("a", "b", "c")]
    with pytest.raises(ValueError, match="name 3 methods"):
        method_sets("abcd", [("a", "b")], 3)


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("star", "all, ring"),
        ([("a", "x")], "Unknown method x"),
        ([("a", "a")], "a and a: no method"),
        ([("a", "b"), ("b", "a")], "compared twice"),
    ],
)
def test_invalid_pairs_are_named(kind, message):
    with pytest.raises(ValueError, match=message):
        method_sets("abc", kind)


@given(st.integers(1, 20), st.integers(2, 6), st.data())
def test_cells_get_distinct_pairs_equally_often(cells, methods, data):
    pairs = method_sets([f"m{i}" for i in range(methods)])
    n = data.draw(st.integers(0, len(pairs)))
    names = [("role", i) for i in range(cells)]
    drawn = cell_pairs(names, pairs, n, 5)
    assert list(drawn) == names
    assert all(len(set(own)) == len(own) == n for own in drawn.values())
    count = Counter(pair for own in drawn.values() for pair in own)
    assert max(count[p] for p in pairs) - min(count[p] for p in pairs) <= 1


@pytest.mark.parametrize(
    "call",
    [
        lambda: sample("aa", 1, 0),
        lambda: sample("ab", 3, 0),
        lambda: sample("ab", 1, 0, {"a": 1}),
        lambda: subset("ab", 1.5, 0),
        lambda: method_sets("aa"),
        lambda: cell_pairs("aa", [("a", "b")], 1, 0),
        lambda: cell_pairs("a", [("a", "b")], 2, 0),
    ],
)
def test_impossible_sample_is_refused(call):
    with pytest.raises(ValueError, match=r"."):
        call()
