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


def test_variance_of_a_mean_over_pairs_has_no_bias():
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


def test_family_is_adjusted_together():
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
