"""Coefficients under weights, against scipy and against laws."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from analysis.correlations import kendall
from analysis.correlations.coefficients import correlate
from analysis.options import COEFFICIENTS
from tests.analysis.inference.test_scaling import exact_pearson
from tests.cases import slow

ALL = (*COEFFICIENTS, "kendall_c")
SCIPY = {
    "kendall_c": lambda x, y: stats.kendalltau(x, y, variant="c").statistic,
    "kendall": lambda x, y: stats.kendalltau(x, y, variant="b").statistic,
    "spearman": lambda x, y: stats.spearmanr(x, y).statistic,
    "pearson": lambda x, y: stats.pearsonr(x, y).statistic,
}


def one(human, scores, weights=None):
    human, scores = np.array(human, float), np.array(scores, float)
    w = np.ones(len(human)) if weights is None else np.array(weights, float)
    found = correlate(human[None], scores[None, None], w[None, None], ALL)
    return {name: float(values[0, 0, 0]) for name, values in found.items()}


@pytest.mark.parametrize(
    ("x", "y", "tau"),
    [
        # scipy/stats/tests/test_stats.py, from R's cor.test(x, y, method="kendall").
        ([5, 2, 1, 3, 6, 4, 7, 8], [5, 2, 6, 3, 1, 8, 7, 4], 0.0),
        ([5, 2, 1, 3, 6, 4, 7], [5, 2, 6, 3, 1, 7, 4], -0.14285714286),
        ([12, 2, 1, 12, 2], [1, 4, 7, 1, 0], -0.47140452079),
    ],
)
def test_kendall_as_r_computes_it(x, y, tau):
    assert one(x, y)["kendall"] == pytest.approx(tau, abs=1e-10)


levels = st.lists(
    st.tuples(st.integers(0, 4), st.integers(0, 6)), min_size=3, max_size=12
)


@given(levels)
def test_all_coefficients_equal_scipy_on_tied_data(points):
    x, y = np.array(points, float).T
    found = one(x, y)
    if len(set(x)) < 2 or len(set(y)) < 2:
        assert all(np.isnan(value) for value in found.values())
        return
    for name, value in found.items():
        assert value == pytest.approx(SCIPY[name](x, y), abs=1e-12)


@given(levels, st.data())
def test_weight_is_that_many_copies(points, data):
    x, y = np.array(points, float).T
    w = data.draw(st.lists(st.integers(0, 3), min_size=len(x), max_size=len(x)))
    found = one(x, y, w)
    cx, cy = np.repeat(x, w), np.repeat(y, w)
    if len(set(cx)) < 2 or len(set(cy)) < 2:
        assert all(np.isnan(value) for value in found.values())
        return
    for name, value in found.items():
        assert value == pytest.approx(SCIPY[name](cx, cy), abs=1e-9)


last_digits = st.lists(
    st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(0, 2)),
    min_size=2,
    max_size=7,
)


@given(last_digits, st.sampled_from((1.0, 2.0, 1000.0, 2.0**900)))
def test_pearson_of_values_that_differ_in_their_last_digits(points, large):
    """The first value is another; resamples with it and without."""
    human, steps, weights = np.array([(2, 0, 1), *points], float).T
    scores = 1 + steps * 2.0**-52
    scores[0] = large
    w = np.array([np.ones(len(human)), weights, weights])
    w[2, 0] = 0
    found = correlate(human[None], scores[None, None], w[None], ["pearson"])
    for counts, value in zip(w.astype(int), found["pearson"][0, 0], strict=True):
        x, y = np.repeat(human, counts), np.repeat(scores, counts)
        expected = exact_pearson(x, y) if len(x) else np.nan
        assert value == pytest.approx(expected, abs=1e-12, nan_ok=True)


@pytest.mark.parametrize("decimals", [0, 1, 8])
@pytest.mark.parametrize("human_decimals", [1, 8])
@pytest.mark.parametrize("drawn_together", [1, 6])
def test_many_points_equal_scipy(monkeypatch, decimals, human_decimals, drawn_together):
    monkeypatch.setattr(kendall, "FEW_POINTS", 8)
    monkeypatch.setattr(kendall, "BLOCK", 700)
    rng = np.random.default_rng(3)
    human = np.round(rng.normal(size=(2, 60)), human_decimals)
    scores = np.round(rng.normal(size=(3, 2, 60)) + human, decimals)
    cluster = rng.permutation(60) // drawn_together
    weights = rng.integers(0, 4, (2, 5, 60))[..., cluster].astype(float)
    found = correlate(human, scores, weights, ALL)
    for k, g, b in np.ndindex(3, 2, 5):
        w = weights[g, b].astype(int)
        x, y = np.repeat(human[g], w), np.repeat(scores[k, g], w)
        for name in ALL:
            assert found[name][k, g, b] == pytest.approx(SCIPY[name](x, y), abs=1e-9)


@pytest.mark.parametrize("most", [1, 40, 4000])
def test_single_precision_is_taken_only_where_it_is_exact(monkeypatch, most):
    rng = np.random.default_rng(0)
    human = rng.integers(0, 300, (1, 3000)).astype(float)
    scores = np.round(rng.normal(size=(1, 1, 3000)) + human / 100, 1)
    weights = rng.integers(0, most + 1, (1, 2, 3000)).astype(float)
    found = correlate(human, scores, weights, ALL)
    monkeypatch.setattr(kendall, "EXACT", 0)
    exact = correlate(human, scores, weights, ALL)
    for name in ("kendall", "kendall_c", "spearman"):
        np.testing.assert_array_equal(found[name], exact[name])


@pytest.mark.parametrize("size", [2.0**-900, *slow(1.0, 2.0**900)])
def test_pearson_equals_that_of_copied_points_of_any_size(size):
    rng = np.random.default_rng(0)
    human = rng.integers(1, 4, (9, 4)) * 1.0
    scores = rng.integers(0, 2, (3, 9, 4)) * size
    weights = rng.multinomial(4, [1 / 4] * 4, size=(9, 50)) * 1.0
    weights[:, 0] = [1, 1, 0, 0]
    found = correlate(human, scores, weights, ["pearson"])["pearson"]
    for k, g, b in np.ndindex(3, 9, 50):
        w = weights[g, b].astype(int)
        expected = exact_pearson(np.repeat(human[g], w), np.repeat(scores[k, g], w))
        assert found[k, g, b] == pytest.approx(expected, abs=1e-12, nan_ok=True)
