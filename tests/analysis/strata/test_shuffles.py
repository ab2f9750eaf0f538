"""Tests of two groups of stories that differ in size and spread, not in their mean."""

import numpy as np
import pytest
from scipy.stats import permutation_test, ttest_ind

from analysis.strata.shuffles import shuffled_p


def means(values):
    """Statistics that are means over stories; values have shape (stories, L)."""
    return lambda weights, _methods: (
        weights @ values / weights.sum(axis=1, keepdims=True)
    )


def p_of(values, n_first, resamples=300, seed=0):
    first = np.arange(len(values)) < n_first
    groups = first, ~first
    rng = np.random.default_rng(seed)
    return shuffled_p(means(values), 1, groups, resamples, rng)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sizes", "spreads"), [((10, 40), (3, 1)), ((10, 40), (1, 3)), ((20, 20), (3, 1))]
)
def test_equal_means_are_told_apart_as_often_as_promised(sizes, spreads):
    """In .03 to .07 of 500 studies, but for two standard errors of .01.

    Without a standard error, .16 where the ten stories are those that spread more.
    """
    rng = np.random.default_rng(1)
    told = []
    for _ in range(100):
        values = np.concatenate(
            [
                spread * rng.normal(size=(n, 5))
                for n, spread in zip(sizes, spreads, strict=True)
            ]
        )
        told.append(p_of(values, sizes[0]) <= 0.05)
    assert 0.02 <= np.mean(told) <= 0.08


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


def test_a_group_of_one_story_is_compared_as_it_is():
    """The odd one of ten stories: one shuffle of ten has it in the first group."""
    values = np.array([9.0, *range(1, 10)])[:, None] * np.array([[1.0, 1.0]])
    values[0] = 50.0
    assert p_of(values, 1, resamples=2000) == pytest.approx([0.1, 0.1], abs=0.03)


def test_equal_stories_do_not_differ():
    assert p_of(np.full((12, 1), 0.1), 5) == pytest.approx(1.0)


def test_shuffles_without_a_value_count_on_neither_side():
    """Twelve of the twenty shuffles part the first two; two of them are as extreme."""
    y = np.array([10.0, 0.0, 9.0, 8.0, 1.0, 2.0])

    def values(weights, _methods):
        together = (weights[:, :2] > 0).all(axis=1) & (weights.sum(axis=1) == 3)
        return np.where(together, np.nan, weights @ y / weights.sum(axis=1))[:, None]

    first = np.array([True, False, True, True, False, False])
    groups = first, ~first
    (p,) = shuffled_p(values, 1, groups, 3000, np.random.default_rng(0))
    assert p == pytest.approx(2 / 12, abs=0.03)
