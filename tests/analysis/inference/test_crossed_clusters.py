"""Variances by two kinds of clusters, against statsmodels and by hand."""

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import t as student
from scipy.stats import ttest_ind, zscore
from statsmodels.stats.proportion import proportion_confint

from analysis.inference.crossed_clusters import (
    MOST_FREEDOM,
    NOTHING,
    ClusterSizes,
    Errors,
    crossed_covariance,
    share_intervals,
)

STORIES, PEOPLE = 30, 6


def answers(seed=0, of_story=0.6, of_person=0.6):
    """A mean of answers that stories and people move, one a story and person."""
    rng = np.random.default_rng(seed)
    story, person = (x.ravel() for x in np.indices((STORIES, PEOPLE)))
    y = rng.normal(0, of_story, STORIES)[story] + rng.normal(size=len(story))
    return story, person, y + rng.normal(0, of_person, PEOPLE)[person]


def added(y):
    """Return the contribution of each answer to the mean, and its cell."""
    return ((y - y.mean()) / len(y))[:, None], np.arange(len(y))


def statsmodels_variance(y, groups):
    """Return the variance of the mean, without correction."""
    model = sm.OLS(y, np.ones(len(y)))
    kwds = {"groups": groups, "use_correction": False}
    return model.fit(cov_type="cluster", cov_kwds=kwds).cov_params()[0, 0]


def test_variance_of_single_clusters_equals_statsmodels_sandwich():
    story, person, y = answers()
    for codes, n in ((story, STORIES), (person, PEOPLE)):
        found = crossed_covariance(*added(y), [(codes, n)], rank=1).of(np.eye(1))
        expected = statsmodels_variance(y, codes) * n / (n - 1)
        assert found.variance[0] == pytest.approx(expected)
        assert found.freedom[0] == pytest.approx(n - 1)


def test_uneven_clusters_are_held_against_the_others():
    """Means of annotators with half, a quarter and a quarter of the answers.

    With `d` how far each one's mean lies from that of the two others, weighted alike,
    the jackknife's variance is 2/3 of the sum of (share d)^2.
    """
    y = np.array([3.0, 1.0, 1.0, 3.0, 5.0, 6.0, 2.0, 2.0])
    person = np.array([0, 0, 0, 0, 1, 1, 2, 2])
    found = crossed_covariance(*added(y), [(person, 3)], rank=1).of(np.eye(1))
    means, share = np.array([2.0, 5.5, 2.0]), np.array([0.5, 0.25, 0.25])
    rest = (y.mean() - share * means) / (1 - share)
    expected = 2 / 3 * ((share * (means - rest)) ** 2).sum()
    assert found.variance[0] == pytest.approx(expected)
    assert found.freedom[0] == pytest.approx(1 / (share**2).sum() - 1)


def test_two_kinds_take_off_what_is_in_both():
    """Cameron, Gelbach and Miller by statsmodels: V_s + V_a - V_b, each corrected."""
    story, person, y = answers()
    kinds = [(story, STORIES), (person, PEOPLE)]
    found = crossed_covariance(*added(y), kinds, rank=1).of(np.eye(1))
    v = {
        name: statsmodels_variance(y, codes) * n / (n - 1)
        for name, codes, n in (
            ("s", story, STORIES),
            ("a", person, PEOPLE),
            ("b", np.arange(len(y)), len(y)),
        )
    }
    assert v["s"] > v["b"]
    assert v["a"] > v["b"]
    total = v["s"] + v["a"] - v["b"]
    assert found.variance[0] == pytest.approx(total)
    # Satterthwaite: what each kind adds to both.
    below = (
        (v["s"] ** 2 - v["b"] ** 2) / (STORIES - 1)
        + (v["a"] ** 2 - v["b"] ** 2) / (PEOPLE - 1)
        + v["b"] ** 2 / (len(y) - 1)
    )
    assert found.freedom[0] == pytest.approx(total**2 / below)


def test_estimates_of_separate_answers_are_held_against_their_own_clusters():
    """Each has the variance and the clusters that it has alone."""
    story, person, y = answers()
    few = (story < 5) & (person < 4)
    groups = few, ~few
    adds, weights = np.zeros((2, len(y), 2))
    for k, own in enumerate(groups):
        adds[own, k], weights[own, k] = added(y[own])[0][:, 0], 1
    kinds = [(story, STORIES), (person, PEOPLE)]
    both = crossed_covariance(adds, np.arange(len(y)), kinds, rank=1, weights=weights)
    found = both.of(np.eye(2))
    for k, own in enumerate(groups):
        alone = [(story[own], STORIES), (person[own], PEOPLE)]
        expected = crossed_covariance(*added(y[own]), alone, rank=1).of(np.eye(1))
        assert found.variance[k] == pytest.approx(expected.variance[0])
        assert found.freedom[k] == pytest.approx(expected.freedom[0])


def test_freedom_is_that_of_the_few_annotators_when_they_are_alike_by_chance():
    """Without effects of three people, stories alone would give 29."""
    story, person, y = answers(of_person=0)
    some = person < 3
    kinds = [(story[some], STORIES), (person[some], PEOPLE)]
    found = crossed_covariance(*added(y[some]), kinds, rank=1).of(np.eye(1))
    assert 2 <= found.freedom[0] <= 3 * 2


def test_estimate_in_one_of_many_stories_has_a_degree_of_freedom():
    """Far fewer would make its interval endless."""
    story, person, y = answers()
    story, person, y = (np.append(x, x[:PEOPLE]) for x in (story, person, y))
    own = np.arange(len(y)) >= STORIES * PEOPLE
    weights = np.column_stack([~own, own, person % 2]).astype(float)
    shares = weights / weights.sum(axis=0)
    adds = shares * (y[:, None] - y @ shares)
    kinds = [(story, STORIES), (person, PEOPLE)]
    for clusters in (kinds, kinds[:1]):
        given = crossed_covariance(
            adds, np.arange(len(y)), clusters, rank=3, weights=weights
        )
        assert given.of(np.eye(3)).freedom.min() >= 1


def test_clusters_of_a_difference_count_as_in_welchs_test():
    """Two independent means of 5 and 40 values with equal variances."""
    n = np.array([5, 40])
    total, squares = 1 / n, np.diag(1 / n**3)
    sizes = ClusterSizes(total, squares, total)
    found = sizes.number(np.array([[1.0, -1.0], [1.0, 0.0], [0.0, 1.0]]))
    assert found[1:] == pytest.approx([5, 40])
    few, many = np.random.default_rng(0).normal(size=(2, 40))
    few, many = zscore(few[:5], ddof=1), zscore(many, ddof=1)
    welch = ttest_ind(few, many, equal_var=False).df
    assert found[0] - 1 == pytest.approx(welch, rel=0.1)


def test_intervals_and_p_values_are_students():
    errors = Errors(np.array([4.0, NOTHING / 10]), np.array([5.0, 5.0]))
    values = np.array([5.0, 0.5])
    low, high = errors.intervals(values, 0.9)
    far = student.ppf(0.95, 5) * 2
    np.testing.assert_allclose([low[0], high[0]], [5 - far, 5 + far])
    assert np.isnan([low[1], high[1]]).all()
    p_value = errors.p_values(values)
    assert p_value[0] == pytest.approx(2 * student.sf(2.5, 5))
    assert np.isnan(p_value[1])


@given(st.integers(0, 1000))
def test_estimate_that_nothing_moves_has_no_interval_beside_others_that_vary(seed):
    """Wins among the three others cancel only up to rounding."""
    gains = np.random.default_rng(seed).normal(size=4)
    influence = np.outer(gains, [0.7, -0.4, -0.3, 0.0])
    clusters = [(np.array([0, 0, 1, 1]), 2), (np.array([0, 1, 0, 1]), 2)]
    found = crossed_covariance(influence, np.arange(4), clusters, rank=3)
    low, high = found.of(np.eye(4) - 1 / 4).intervals(np.zeros(4), 0.95)
    assert (high[:3] > low[:3]).all()
    assert np.isnan([low[3], high[3]]).all()


@given(st.integers(0, 50), st.integers(1, 50))
def test_shares_have_wilsons_interval(won, more):
    n = won + more
    (low,), (high,) = share_intervals(
        np.array([won / n]), np.array([float(n)]), np.array([1.959963984540054])
    )
    expected = proportion_confint(won, n, method="wilson")
    assert (low, high) == pytest.approx(expected)


def test_two_clusters_of_one_kind_count_no_more_than_crossed_ones():
    """Eight estimates know the common factor, which is no knowledge of stories."""
    story, _person, y = answers()
    some = story < 2
    y = y[some][:, None] + np.random.default_rng(1).normal(size=(some.sum(), 8))
    adds = (y - y.mean(axis=0)) / len(y)
    found = crossed_covariance(adds, np.arange(len(y)), [(story[some], 2)], rank=8)
    assert found.of(np.eye(8)).freedom.max() <= MOST_FREEDOM
