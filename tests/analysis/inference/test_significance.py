"""Exact permutation tests, intervals that follow a test, Holm's adjustment."""

import gc
import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.multitest import multipletests

from analysis.inference.resampling import follow_test, holm, permutation_p
from analysis.options import COEFFICIENTS

COEFFICIENT = {
    "kendall": lambda x, y: stats.kendalltau(x, y).statistic,
    "spearman": lambda x, y: stats.spearmanr(x, y).statistic,
    "pearson": lambda x, y: stats.pearsonr(x, y).statistic,
}


@pytest.mark.parametrize("name", COEFFICIENTS)
def test_exact_p_equals_enumeration_with_scipy(name):
    human, score = np.array([1.0, 2, 2, 4, 5]), np.array([2.0, 1, 3, 3, 9])
    function = COEFFICIENT[name]
    observed = abs(function(human, score))
    orders = list(itertools.permutations(range(5)))
    count = sum(abs(function(human[list(o)], score)) >= observed - 1e-9 for o in orders)
    found = permutation_p(human, score[None], [name])[name][0]
    assert found == count / len(orders)


def test_kendall_without_ties_equals_scipys_exact_distribution():
    human, score = np.arange(7.0), np.array([0.0, 2, 1, 3, 5, 6, 4])
    expected = stats.kendalltau(human, score, method="exact").pvalue
    found = permutation_p(human, score[None], ["kendall"])["kendall"][0]
    assert found == pytest.approx(expected)


@given(*[st.floats(0, 1)] * 4, st.booleans())
def test_bounds_hold_chance_where_it_is_not_rejected(a, b, value, chance, rejected):
    if value == chance:
        rejected = False
    low, high = follow_test(min(a, b), max(a, b), value, chance, rejected)
    assert (low <= chance <= high) != rejected
    assert low <= high


@pytest.fixture(scope="module")
def nothing_to_collect():
    """Spare what is loaded: statsmodels collects garbage in every call."""
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.mark.usefixtures("nothing_to_collect")
@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_equals_statsmodels(p_values):
    expected = multipletests(p_values, method="holm")[1]
    np.testing.assert_allclose(holm(np.array(p_values)), expected)
