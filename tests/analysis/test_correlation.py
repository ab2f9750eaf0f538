"""Coefficients under weights, against scipy and against laws."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from analysis import ranksums
from analysis.correlation import correlate, standardise
from analysis.options import COEFFICIENTS

SCIPY = {
    "kendall": lambda x, y: stats.kendalltau(x, y, variant="b").statistic,
    "spearman": lambda x, y: stats.spearmanr(x, y).statistic,
    "pearson": lambda x, y: stats.pearsonr(x, y).statistic,
}


def one(human, scores, weights=None):
    human, scores = np.array(human, float), np.array(scores, float)
    w = np.ones(len(human)) if weights is None else np.array(weights, float)
    found = correlate(human[None], scores[None, None], w[None, None], COEFFICIENTS)
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
def test_a_weight_is_that_many_copies(points, data):
    x, y = np.array(points, float).T
    w = data.draw(st.lists(st.integers(0, 3), min_size=len(x), max_size=len(x)))
    found = one(x, y, w)
    cx, cy = np.repeat(x, w), np.repeat(y, w)
    if len(set(cx)) < 2 or len(set(cy)) < 2:
        assert all(np.isnan(value) for value in found.values())
        return
    for name, value in found.items():
        assert value == pytest.approx(SCIPY[name](cx, cy), abs=1e-9)


@given(levels, st.randoms(use_true_random=False))
def test_the_order_of_points_does_not_matter(points, random):
    shuffled = list(points)
    random.shuffle(shuffled)
    before = one(*np.array(points, float).T)
    after = one(*np.array(shuffled, float).T)
    assert before["kendall"] == pytest.approx(after["kendall"], abs=0, nan_ok=True)
    assert before["spearman"] == pytest.approx(after["spearman"], abs=0, nan_ok=True)


@given(levels)
def test_ranks_ignore_monotone_transforms_and_turn_with_the_sign(points):
    x, y = np.array(points, float).T
    plain, bent, turned = one(x, y), one(x, np.exp(y)), one(x, -y)
    for name in ("kendall", "spearman"):
        assert plain[name] == pytest.approx(bent[name], abs=0, nan_ok=True)
        assert plain[name] == pytest.approx(-turned[name], abs=0, nan_ok=True)


def test_perfect_and_reversed_orders_are_exactly_one_and_minus_one():
    x = [1, 2, 2, 3, 7]
    assert one(x, x)["kendall"] == one(x, x)["spearman"] == 1.0
    assert one(x, np.negative(x))["kendall"] == -1.0


def test_blocks_bound_memory_without_changing_results(monkeypatch):
    rng = np.random.default_rng(0)
    human = rng.integers(0, 4, (3, 20)).astype(float)
    scores = rng.integers(0, 6, (2, 3, 20)).astype(float)
    weights = rng.integers(0, 3, (3, 5, 20)).astype(float)
    whole = correlate(human, scores, weights, COEFFICIENTS)
    monkeypatch.setattr(ranksums, "BLOCK", 70)
    cut = correlate(human, scores, weights, COEFFICIENTS)
    for name in COEFFICIENTS:
        np.testing.assert_array_equal(whole[name], cut[name])


def test_standardise_keeps_equal_values_at_zero():
    # 0.1 three times does not average to exactly 0.1.
    np.testing.assert_array_equal(
        standardise(np.array([0.1, 0.1, 0.1, 9.0]), np.array([1.0, 1, 1, 0])),
        np.zeros(4),
    )
