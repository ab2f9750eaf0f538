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
def test_an_interval_contains_the_rank(values, seed):
    drawn = values + np.random.default_rng(seed).normal(size=(50, len(values)))
    low, high = rank_intervals(values, drawn, 0.9)
    place = ranks(values)
    assert (low <= place).all()
    assert (place <= high).all()
    assert (high <= len(values)).all()


def test_a_method_without_a_value_has_no_rank_and_takes_none():
    values = np.array([3.0, np.nan, 2.0])
    low, high = rank_intervals(values, np.tile(values, (20, 1)), 0.95)
    np.testing.assert_array_equal(low, [1, np.nan, 2])
    np.testing.assert_array_equal(high, [1, np.nan, 2])


def test_what_methods_share_does_not_blur_their_ranks():
    # Stories move all methods alike: only differences between methods count.
    rng = np.random.default_rng(0)
    values = np.array([2.0, 1.0, 0.0])
    drawn = values + rng.normal(0, 5, (200, 1)) + rng.normal(0, 0.1, (200, 3))
    low, high = rank_intervals(values, drawn, 0.95)
    np.testing.assert_array_equal(low, [1, 2, 3])
    np.testing.assert_array_equal(high, [1, 2, 3])


def test_a_noisy_method_does_not_blur_the_ranks_of_the_others():
    """Gaps are measured in their own spreads."""
    rng = np.random.default_rng(0)
    values = np.array([1.0, 0.0, 0.5])
    drawn = values + rng.normal(size=(400, 3)) * [0.05, 0.05, 5.0]
    low, high = rank_intervals(values, drawn, 0.95)
    np.testing.assert_array_equal(low, [1, 2, 1])
    np.testing.assert_array_equal(high, [2, 3, 3])
