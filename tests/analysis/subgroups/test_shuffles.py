"""Tests of two groups of stories that differ in size and spread, not in their mean."""

import numpy as np
import pytest
from scipy.stats import permutation_test, ttest_ind

from analysis.subgroups.differences import shuffled_test


def means(values):
    """Statistics that are means over stories; values have shape (stories, L)."""
    return lambda weights: weights @ values / weights.sum(axis=1, keepdims=True)


def compared(values, n_first, resamples=300, seed=0, confidence=0.95):
    first = np.arange(len(values)) < n_first
    groups = first, ~first
    rng = np.random.default_rng(seed)
    return shuffled_test(means(values), groups, resamples, confidence, rng)


def p_of(*args, **options):
    return compared(*args, **options).p_values


@pytest.mark.slow
def test_p_is_that_of_scipy_s_permutations_of_welch_s_t():
    rng = np.random.default_rng(2)
    a, b = rng.normal(0.5, 2, 9), rng.normal(0, 1, 15)
    expected = permutation_test(
        (a, b),
        lambda x, y: abs(ttest_ind(x, y, equal_var=False).statistic),
        vectorized=False,
        n_resamples=2000,
        alternative="greater",
        rng=np.random.default_rng(3),
    ).pvalue
    (found,) = p_of(np.concatenate([a, b])[:, None], 9, resamples=4000)
    assert found == pytest.approx(expected, abs=0.03)


@pytest.mark.parametrize("resamples", [19, 20, 99, 400])
@pytest.mark.parametrize("confidence", [0.95, 0.9])
def test_interval_is_without_0_exactly_where_p_is_small(resamples, confidence):
    rng = np.random.default_rng(4)
    shift = np.linspace(0, 2, 60)
    values = rng.integers(0, 4, size=(16, 60)) + np.outer(np.arange(16) < 7, shift)
    test = compared(values, 7, resamples, confidence=confidence)
    apart = np.abs(np.subtract(*test.values)) > test.margins()
    assert 0 < apart.sum() < 60
    assert (apart == (test.p_values <= 1 - confidence + 1e-9)).all()


def test_fieller_s_interval_of_a_ratio_is_where_the_test_of_it_does_not_reject():
    rng = np.random.default_rng(5)
    values = rng.normal(5, 2, size=(15, 1))
    test = compared(values, 6)
    low, high = test.ratio(0)
    (a, b), (v_a, v_b) = test.values[:, 0], test.variances[:, 0]
    assert low < b / a < high
    for ratio in (low, high):
        t = (ratio * a - b) / np.sqrt(ratio**2 * v_a + v_b)
        assert abs(t) == pytest.approx(test.critical[0])
    away = compared(np.array([[-1.0, 1.0] * 7]).T, 6)
    assert np.isnan(away.ratio(0)).all()
