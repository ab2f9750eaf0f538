"""Standard errors for new stories and new methods."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.formula.api import ols
from statsmodels.stats.anova import anova_lm

from analysis.inference.cluster_variance import (
    ClusterVariances,
    leave_outs,
    pair_values,
    pair_variance,
    variance_of_methods,
    variances_of_pairs,
    variances_of_stories,
)
from analysis.inference.differences import compared

BOTH = ("stories", "methods")
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
    found = ClusterVariances(of_methods, 0, 0, n, 1, ("methods",))
    test = stats.ttest_1samp(values, 0)
    half = stats.t((n - 1) / 2)
    p_value = 2 * half.sf(abs(test.statistic))
    assert found.p_value(values.mean()) == pytest.approx(p_value)
    low, high, reason = found.interval(values.mean(), 0.9)
    far = half.ppf(0.95) * stats.sem(values)
    expected = values.mean() - far, values.mean() + far
    assert (low, high) == pytest.approx(expected)
    assert reason == ""


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
    found = variances_of_stories(means_left(table), M)
    by_story, by_method, rest = squares / (S * M)
    assert found.methods == pytest.approx(by_method)
    assert found.stories == pytest.approx(by_story)
    assert found.outputs == pytest.approx(rest)
    expected = max(by_method, rest) + max(by_story - rest, 0)
    assert found.variance == pytest.approx(expected)


def test_stories_by_pairs_are_stories_by_leave_outs():
    S, M = 7, 5
    kernel = np.random.default_rng(2).normal(size=(S, M * (M - 1) // 2))
    by_pairs = variances_of_pairs(kernel, M)
    by_leave_outs = variances_of_stories(pair_means_left(kernel, M), M)
    for part in ("methods", "stories", "outputs"):
        assert getattr(by_pairs, part) == pytest.approx(getattr(by_leave_outs, part))


def test_stories_without_the_statistic_do_not_count():
    values = means_left(np.random.default_rng(3).normal(size=(8, 5)))
    more = np.vstack([values, np.full(values.shape[1], np.nan)])
    assert variances_of_stories(more, 5) == variances_of_stories(values, 5)


def test_degrees_of_freedom_are_joined_from_those_of_the_parts():
    """Satterthwaite's: (a + b)^2 over the sum of squares by degrees of freedom."""
    of_methods = ClusterVariances(2.0, 0.0, 0.0, 8, 40)
    assert of_methods.freedom == pytest.approx(7 / 2)
    both = ClusterVariances(2.0, 2.0, 0.0, 8, 40)
    assert both.freedom == pytest.approx(16 / (8 / 7 + 8 / 39))
    # Where clusters scatter no more than their outputs, these are counted.
    assert ClusterVariances(1.0, 1.0, 1.0, 8, 40).freedom == pytest.approx(7 * 39)


def test_degrees_of_freedom_do_not_jump():
    below, above = (
        ClusterVariances(methods, 1.0, 1.0, 8, 40).freedom for methods in (0.999, 1.001)
    )
    assert below == pytest.approx(above, rel=0.2)


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
    found = ClusterVariances(2.0, 3.0, 1.0, 8, 40, parts)
    assert found.variance == variance
    assert found.freedom == pytest.approx(freedom)


@given(st.tuples(*[st.floats(0, 9)] * 3))
def test_new_methods_and_stories_are_never_surer_than_either(parts):
    found = ClusterVariances(*parts, 8, 40)
    assert found.variance >= max(parts[0], parts[1]) - 1e-12


@pytest.mark.parametrize("rounding", [0.0, 1e-17])
@pytest.mark.parametrize(
    ("parts", "clusters"), [(BOTH, 6), (("stories",), 40), (("methods",), 6)]
)
def test_what_is_the_same_without_any_part_is_tested_by_signs(
    parts, clusters, rounding
):
    same = ClusterVariances(rounding, rounding, rounding, 6, 40, parts)
    assert same.p_value(0.0) == 1
    assert same.p_value(0.3) == 2.0 ** (1 - clusters)
    low, high, reason = same.interval(0.3, 0.95)
    assert np.isnan([low, high]).all()
    assert "the same whatever" in reason


def test_no_p_value_is_zero():
    assert ClusterVariances(1e-12, 0, 0, 50, 400).p_value(1.9) > 0


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
        lambda a, b: ClusterVariances(1, 0, 0, n_methods, 9),
        DRAWN | options,
    )
    assert row["reason"] == reason
    assert np.isnan(
        [row[key] for key in ("low", "high", "p_value", "p_adjusted")]
    ).all()


def test_a_family_is_adjusted_together():
    values = np.array([0.0, 1.0, 3.0])
    rows = compared(
        values, "abc", lambda a, b: ClusterVariances(0.5, 0, 0, 9, 9), DRAWN
    )
    p_values = [row["p_value"] for row in rows]
    expected = [
        2 * stats.t.sf(abs(row["difference"]) / np.sqrt(0.5), 4) for row in rows
    ]
    assert p_values == pytest.approx(expected)
    assert rows[1]["p_adjusted"] == pytest.approx(3 * expected[1])


def test_variance_of_methods_takes_no_less_than_what_pairs_scatter():
    n = 5
    i, j = np.triu_indices(n, 1)
    # Each method's mean is the same: by methods alone nothing would vary.
    ring = np.where((j - i == 1) | (j - i == n - 1), 1.0, -1.0)
    variance, least = pair_variance(ring, n)
    assert variance < least
    assert variance_of_methods(ring, n) == least
