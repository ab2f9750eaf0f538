"""Standard errors for new stories and new methods."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.formula.api import ols
from statsmodels.stats.anova import anova_lm
from statsmodels.stats.proportion import proportion_confint

from analysis.inference.cluster_variance import (
    ClusterVariances,
    compared,
    leave_outs,
    pair_values,
    pair_variance,
    variance_of_methods,
    variances_of_pairs,
    variances_of_stories,
)

BOTH = ("stories", "methods")
# One pair of outputs otherwise: so little that it decides nothing.
STEP = 1e-9
DRAWN = {"resamples": 1000, "confidence": 0.95, "seed": 0}


def means_left(values):
    """Return the mean over methods, the last axis, by `leave_outs`."""
    without = leave_outs(values.shape[-1])
    return values @ without.T / without.sum(axis=1)


def pair_means_left(kernel, n):
    """Return the mean over pairs of methods, the last axis, by `leave_outs`."""
    i, j = np.triu_indices(n, 1)
    both = leave_outs(n)[:, i] * leave_outs(n)[:, j]
    return kernel @ both.T / both.sum(axis=1)


@given(st.integers(4, 9), st.integers(0, 2**32 - 1))
def test_a_mean_over_pairs_is_taken_apart_exactly(n, seed):
    kernel = np.random.default_rng(seed).normal(size=(2, n * (n - 1) // 2))
    np.testing.assert_allclose(
        pair_values(pair_means_left(kernel, n), n), kernel, atol=1e-9
    )


@given(st.integers(5, 9), st.integers(0, 2**32 - 1))
def test_of_a_mean_over_methods_it_is_the_t_test_with_half_the_freedom(n, seed):
    values = np.random.default_rng(seed).normal(size=n)
    of_methods = variance_of_methods(pair_values(means_left(values), n), n)
    found = ClusterVariances(of_methods, 0, 0, n, 1, STEP, ("methods",))
    test = stats.ttest_1samp(values, 0)
    half = stats.t((n - 1) / 2)
    p_value = 2 * half.sf(abs(test.statistic))
    assert found.p_value(values.mean()) == pytest.approx(p_value)
    low, high = found.interval(values.mean(), 0.9, np.inf)
    far = half.ppf(0.95) * stats.sem(values)
    expected = values.mean() - far, values.mean() + far
    assert (low, high) == pytest.approx(expected)


def test_the_variance_of_a_mean_over_pairs_has_no_bias():
    """Effects of methods and of pairs, each alone and both: expected is drawn."""
    rng = np.random.default_rng(0)
    n, studies = 6, 40_000
    i, j = np.triu_indices(n, 1)
    for of_method, of_pair in ((1.0, 0.0), (0.0, 1.0), (0.5, 1.0)):
        effects = rng.normal(size=(studies, n)) * of_method
        rest = rng.normal(size=(studies, len(i))) * of_pair
        kernel = effects[:, i] + effects[:, j] + rest
        variance, least = pair_variance(kernel, n)
        expected = 4 * of_method**2 / n + 2 * of_pair**2 / (n * (n - 1))
        assert variance.mean() == pytest.approx(expected, rel=0.03)
        assert kernel.mean(axis=1).var() == pytest.approx(expected, rel=0.03)
        assert least.mean() == pytest.approx(2 * of_pair**2 / (n * (n - 1)), rel=0.03)


@pytest.mark.parametrize(("seed", "of_story"), [(1, 2.0), (2, 0.0), (3, 0.0)])
def test_stories_add_what_an_analysis_of_variance_finds(seed, of_story):
    rng = np.random.default_rng(seed)
    S, M = 9, 6
    table = rng.normal(size=(S, M)) + rng.normal(size=(S, 1)) * of_story
    rows = pd.DataFrame(
        [(s, m, table[s, m]) for s in range(S) for m in range(M)],
        columns=["story", "method", "value"],
    )
    fit = ols("value ~ C(story) + C(method)", rows).fit()
    squares = anova_lm(fit)["mean_sq"]
    found = variances_of_stories(means_left(table), M, STEP, BOTH)
    by_story, by_method, rest = squares / (S * M)
    assert found.methods == pytest.approx(by_method)
    assert found.stories == pytest.approx(by_story)
    assert found.outputs == pytest.approx(rest)
    expected = max(by_method, rest) + max(by_story - rest, 0)
    assert found.variance == pytest.approx(expected)


def test_stories_by_pairs_are_stories_by_leave_outs():
    S, M = 7, 5
    kernel = np.random.default_rng(2).normal(size=(S, M * (M - 1) // 2))
    by_pairs = variances_of_pairs(kernel, M, STEP, BOTH)
    left_out = pair_means_left(kernel, M)
    by_leave_outs = variances_of_stories(left_out, M, STEP, BOTH)
    for part in ("methods", "stories", "outputs"):
        assert getattr(by_pairs, part) == pytest.approx(getattr(by_leave_outs, part))


def test_degrees_of_freedom_are_joined_from_those_of_the_parts():
    """Satterthwaite's: (a + b)^2 over the sum of squares by degrees of freedom."""
    of_methods = ClusterVariances(2.0, 0.0, 0.0, 8, 40, STEP)
    assert of_methods.freedom == pytest.approx(7 / 2)
    both = ClusterVariances(2.0, 2.0, 0.0, 8, 40, STEP)
    assert both.freedom == pytest.approx(16 / (8 / 7 + 8 / 39))
    # Where clusters scatter no more than their outputs, these are counted.
    assert ClusterVariances(1.0, 1.0, 1.0, 8, 40, STEP).freedom == pytest.approx(7 * 39)


@pytest.mark.parametrize(
    ("parts", "variance", "freedom"),
    [
        (("stories",), 3.0, 9 / (16 / 39 + 1 / 273)),
        (("methods",), 2.0, 4 / (6 / 7 + 1 / 273)),
        (("units",), 1.0, 7 * 39),
        (("methods", "stories"), 4.0, 16 / (6 / 7 + 16 / 39 + 1 / 273)),
    ],
)
def test_only_what_is_drawn_is_in_the_error(parts, variance, freedom):
    found = ClusterVariances(2.0, 3.0, 1.0, 8, 40, STEP, parts)
    assert found.variance == variance
    assert found.freedom == pytest.approx(freedom)


@given(
    st.tuples(*[st.floats(0, 0.1)] * 3),
    st.sampled_from([0.0, 0.01, 0.3, 0.5, 0.9, 1.0]),
)
def test_share_interval_is_wilsons_of_the_effective_number(parts, value):
    """The method of statsmodels, with the quantile of Student's t."""
    found = ClusterVariances(*parts, 8, 40, 0.005)
    low, high = found.share_interval(value, 0.9, 0.0)
    near = min(max(value, 0.005), 0.995)
    n = near * (1 - near) / found.variance
    alpha = 2 * stats.norm.sf(stats.t.ppf(0.95, found.freedom))
    expected = proportion_confint(near * n, n, alpha=alpha, method="wilson")
    assert low == pytest.approx(min(expected[0], value), abs=1e-9)
    assert high == pytest.approx(max(expected[1], value), abs=1e-9)
    assert 0 <= low <= value <= high <= 1
    assert high - low > 0.001
    # A coefficient is the share of both orders.
    bounds = ClusterVariances(*(4 * x for x in parts), 8, 40, 0.01).share_interval(
        2 * value - 1, 0.9, -1.0
    )
    assert bounds == pytest.approx((2 * low - 1, 2 * high - 1), abs=1e-9)


@given(
    st.tuples(*[st.floats(0, 0.1)] * 3),
    st.floats(-1, 1),
    st.booleans(),
    st.sampled_from([0.9, 0.95, 0.99]),
)
def test_interval_of_a_coefficient_holds_zero_where_the_test_does_not_reject(
    parts, value, of_pairs, confidence
):
    known = ClusterVariances(*parts, 8, 40, 0.001)
    found = known.coefficient(value, confidence, of_pairs=of_pairs)
    assert (found.p_value > 1 - confidence) == (found.low <= 0 <= found.high)
    assert -1 <= found.low <= found.value <= found.high <= 1


def test_kendalls_is_tested_as_it_is_and_pearsons_as_students_t_test_does():
    """Of normal variables V is (1 - r^2)^2 / n, so that t is r sqrt(n / (1 - r^2))."""
    r, n = 0.6, 30
    known = ClusterVariances((1 - r**2) ** 2 / n, 0, 0, 31, 40, STEP, ("methods",))
    t, raw = r * np.sqrt(n / (1 - r**2)), r / (1 - r**2) * np.sqrt(n)
    for of_pairs, expected in ((False, t), (True, raw)):
        found = known.coefficient(r, 0.95, of_pairs=of_pairs)
        assert found.p_value == pytest.approx(2 * stats.t.sf(expected, 15))


@given(st.floats(-1, 1), st.floats(1e-6, 9))
def test_interval_of_a_difference_stays_inside_and_follows_its_test(value, variance):
    known = ClusterVariances(variance, 0, 0, 8, 40, STEP)
    low, high = known.interval(value, 0.95, 1.0)
    assert -1 <= low <= value <= high <= 1
    p_value = known.p_value(value)
    assert (low <= 0 <= high) == (p_value > 0.05) or p_value == pytest.approx(0.05)


@pytest.mark.parametrize(
    ("values", "n_methods", "options", "reason"),
    [
        ([0.2, np.nan], 8, {}, "one of the two is undefined"),
        ([0.2, 0.1], 4, {}, "4 methods are too few"),
        ([0.2, 0.1], 1, {}, "1 method is too few"),
        ([0.2, 0.1], 8, {"resamples": 0}, ""),
    ],
)
def test_what_cannot_be_tested_says_why(values, n_methods, options, reason):
    (row,) = compared(
        np.array(values),
        "ab",
        lambda a, b: ClusterVariances(1, 0, 0, n_methods, 9, STEP),
        DRAWN | options,
    )
    assert row["reason"] == reason
    assert np.isnan(
        [row[key] for key in ("low", "high", "p_value", "p_adjusted")]
    ).all()


def test_a_family_is_adjusted_together():
    values = np.array([0.0, 1.0, 3.0])
    rows = compared(
        values, "abc", lambda a, b: ClusterVariances(0.5, 0, 0, 9, 9, STEP), DRAWN
    )
    p_values = [row["p_value"] for row in rows]
    expected = [
        2 * stats.t.sf(abs(row["difference"]) / np.sqrt(0.5), 4) for row in rows
    ]
    assert p_values == pytest.approx(expected)
    assert rows[1]["p_adjusted"] == pytest.approx(3 * expected[1])
