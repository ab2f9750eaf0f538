"""Samples: exact size, proportional to groups, determined by the seed."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotate.assignment.designs.sampling import (
    FLOOR,
    cell_pairs,
    inclusion_probabilities,
    method_sets,
    sample,
)


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


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=30), st.data())
def test_probabilities_sum_to_the_number_and_none_is_tiny(sizes, data):
    n = data.draw(st.integers(1, len(sizes)))
    own = dict(enumerate(sizes))
    chances = inclusion_probabilities(range(len(sizes)), n, own)
    assert sum(chances.values()) == pytest.approx(n)
    equal = n / len(sizes)
    assert all(FLOOR * equal * (1 - 1e-9) <= p <= 1 for p in chances.values())
    order = sorted(own, key=own.__getitem__)
    assert [chances[i] for i in order] == sorted(chances.values())
    drawn = sample(range(len(sizes)), n, data.draw(st.integers(0, 99)), sizes=own)
    assert len(drawn) == n == len(set(drawn))
    assert {i for i in own if chances[i] == 1} <= set(drawn)


@pytest.mark.parametrize("strata", [None, {i: i % 3 for i in range(12)}])
@pytest.mark.parametrize("sizes", [None, {i: (i + 1) ** 2 for i in range(12)}])
def test_stories_are_drawn_as_often_as_their_probabilities_say(strata, sizes):
    n, times = 5, 1000
    chances = inclusion_probabilities(range(12), n, sizes)
    draws = [sample(range(12), n, seed, strata, sizes) for seed in range(times)]
    count = Counter(key for drawn in draws for key in drawn)
    for key, p in chances.items():
        # Fixed seeds: five standard errors.
        error = np.sqrt(p * (1 - p) / times)
        assert abs(count[key] / times - p) <= 5 * error


def test_probabilities_follow_sizes_above_the_floor():
    # 0.2 of the mean size 4 and 0.8 of each own size; 9 would exceed 1.
    chances = inclusion_probabilities("abc", 2, {"a": 1, "b": 2, "c": 9})
    assert chances == pytest.approx({"a": 1.6 / 4, "b": 2.4 / 4, "c": 1})
    assert inclusion_probabilities("ab", 1, {"a": 0, "b": 0}) == {"a": 0.5, "b": 0.5}


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
        lambda: sample("ab", 3, 0),
        lambda: sample("ab", 1, 0, sizes={"a": 1, "b": float("nan")}),
        lambda: sample("ab", 1, 0, sizes={"a": 1, "b": -1}),
    ],
)
def test_impossible_sample_is_refused(call):
    with pytest.raises(ValueError, match=r"."):
        call()
