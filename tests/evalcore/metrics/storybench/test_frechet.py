import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import LinAlgWarning, sqrtm

from evalcore.metrics.storybench import frechet
from evalcore.metrics.storybench.frechet import (
    distance_value,
    frechet_distance,
    moments,
)


def sample(seed, count, dimensions):
    rng = np.random.default_rng(seed)
    mixed = rng.normal(size=(dimensions, dimensions))
    return rng.normal(size=(count, dimensions)) @ mixed + rng.normal(size=dimensions)


def distance(a, b):
    return frechet_distance(*moments(a), *moments(b))


def by_singular_values(a, b):
    """The distance without a root of a matrix.

    With centred features X and Y, divided by the roots of n - 1, A = X'X and B = Y'Y,
    and the trace of the root of A B is the sum of the singular values of X Y'.
    """
    x, y = ((f - f.mean(0)) / np.sqrt(len(f) - 1) for f in (a, b))
    apart = a.mean(0) - b.mean(0)
    roots = np.linalg.svd(x @ y.T, compute_uv=False).sum()
    return apart @ apart + (x**2).sum() + (y**2).sum() - 2 * roots


@pytest.mark.parametrize("block", [1, 3, 4096])
def test_moments_are_those_of_a_sample(monkeypatch, block):
    monkeypatch.setattr(frechet, "BLOCK", block)
    features = sample(0, 7, 4).astype(np.float32)
    mean, covariance = moments(features)
    assert mean == pytest.approx(features.mean(axis=0), rel=1e-6)
    # Divided by n - 1.
    assert covariance == pytest.approx(np.cov(features.astype(float), rowvar=False))
    assert covariance.dtype == np.float64


@given(st.integers(0, 1000), st.integers(2, 12), st.integers(2, 12), st.integers(1, 6))
def test_it_is_the_distance_worked_out_without_a_root(seed, count_a, count_b, size):
    # With fewer items than dimensions the covariances are singular.
    a, b = sample(seed, count_a, size), sample(seed + 1, count_b, size)
    scale = np.trace(moments(a)[1]) + np.trace(moments(b)[1])
    assert distance(a, b) == pytest.approx(by_singular_values(a, b), abs=1e-3 * scale)


@given(st.integers(0, 1000), st.floats(-5, 5))
def test_laws(seed, shift):
    a, b = sample(seed, 20, 3), sample(seed + 1, 25, 3)
    assert distance(a, b) == pytest.approx(distance(b, a), abs=1e-6)
    assert distance(a, a) == pytest.approx(0, abs=1e-6)
    assert distance(a, a) >= 0
    # A shift leaves the covariance: only the means count.
    assert distance(a, a + shift) == pytest.approx(3 * shift**2, abs=1e-6)


def test_a_root_that_is_not_finite_is_taken_again_with_a_ridge():
    a = np.array([[0.0, 0.0, 1.0], [2.0, 1.0, 1.0]])
    b = np.array([[0.0, 0.0, 1.0], [1.0, 1.0, 2.0]])
    (mean_a, cov_a), (mean_b, cov_b) = moments(a), moments(b)
    with pytest.warns(LinAlgWarning):
        plain = sqrtm(cov_a @ cov_b)
    assert not np.isfinite(plain).all()  # else this tests nothing
    ridge = 1e-6 * np.eye(3)
    root = np.trace(sqrtm((cov_a + ridge) @ (cov_b + ridge))).real
    apart = mean_a - mean_b
    wanted = apart @ apart + np.trace(cov_a) + np.trace(cov_b) - 2 * root
    assert distance(a, b) == pytest.approx(wanted, abs=1e-9)
    assert distance(a, b) == pytest.approx(by_singular_values(a, b), abs=0.01)


def test_without_need_there_is_no_ridge():
    # In one dimension with variance 1e-12 the ridge would add visibly to the root.
    tiny = np.array([[1e-12]])
    zero = np.zeros(1)
    assert frechet_distance(zero, tiny, zero, 4 * tiny) == pytest.approx(
        1e-12, rel=1e-6
    )


def test_a_root_that_is_not_real_is_an_error():
    wrong = np.diag([1.0, -4.0])
    with pytest.raises(ValueError, match="imaginary part 2 on its diagonal"):
        frechet_distance(np.zeros(2), wrong, np.zeros(2), np.eye(2))


def test_numbers_too_large_are_an_error():
    large = np.full((1, 1), 1e300)
    with (
        np.errstate(over="ignore"),
        pytest.raises(ValueError, match="numbers are too large"),
    ):
        frechet_distance(np.zeros(1), large, np.zeros(1), large)


@pytest.mark.parametrize(
    ("outputs", "truths", "reason"),
    [
        (1, 5, "a covariance needs two frames; the method's outputs have 1"),
        (5, 0, "a covariance needs two frames; the true ones have 0"),
    ],
)
def test_too_few_items_have_no_distance(outputs, truths, reason):
    features = list(sample(0, 5, 3))
    value = distance_value(features[:outputs], features[:truths], "frames")
    assert value.value is None
    assert value.reason == reason


@pytest.mark.parametrize(("count", "is_deficient"), [(3, True), (4, False)])
def test_a_value_says_whether_a_covariance_is_rank_deficient(count, is_deficient):
    # Three dimensions: three items span a plane at most.
    many, few = list(sample(0, 9, 3)), list(sample(1, count, 3))
    rank = np.linalg.matrix_rank(moments(np.stack(few))[1])
    assert (rank < 3) == is_deficient
    for outputs, truths in ((few, many), (many, few)):
        trace = distance_value(outputs, truths, "frames", ["04"]).trace
        assert trace == {
            "outputs": len(outputs),
            "truths": len(truths),
            "dimensions": 3,
            "rank_deficient": is_deficient,
            "left_out": ["04"],
        }
