"""Ranks, and the ranks that methods may have."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import rankdata

from analysis.rankings.standings import rank_intervals, ranks

VALUES = arrays(float, st.integers(1, 8), elements=st.integers(0, 4).map(float))


@given(VALUES)
def test_ranks_are_scipys_of_the_negative(values):
    np.testing.assert_array_equal(ranks(values), rankdata(-values, "min"))
    middle = ranks(values, ties="middle")
    np.testing.assert_array_equal(middle, rankdata(-values, "average"))


@given(VALUES, st.integers(0, 2**32 - 1))
def test_interval_contains_the_rank(values, seed):
    drawn = values + np.random.default_rng(seed).normal(size=(50, len(values)))
    low, high = rank_intervals(values, drawn, 0.9)
    place = ranks(values)
    assert (low <= place).all()
    assert (place <= high).all()
    assert (high <= len(values)).all()


def test_method_without_a_value_has_no_rank_and_takes_none():
    values = np.array([3.0, np.nan, 2.0])
    low, high = rank_intervals(values, np.tile(values, (20, 1)), 0.95)
    np.testing.assert_array_equal(low, [1, np.nan, 2])
    np.testing.assert_array_equal(high, [1, np.nan, 2])
