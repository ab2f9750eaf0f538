import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import LinAlgWarning, sqrtm

from evalcore.metrics.storybench.frechet import (
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
    """Return the distance without the root of a matrix.

    With centred features X and Y, divided by the roots of n - 1, A = X'X and B = Y'Y,
    and the trace of the root of A B is the sum of the singular values of X Y'.
    """
    x, y = ((f - f.mean(0)) / np.sqrt(len(f) - 1) for f in (a, b))
    apart = a.mean(0) - b.mean(0)
    roots = np.linalg.svd(x @ y.T, compute_uv=False).sum()
    return apart @ apart + (x**2).sum() + (y**2).sum() - 2 * roots


@given(st.integers(0, 1000), st.integers(2, 12), st.integers(2, 12), st.integers(1, 6))
def test_distance_matches_formula_without_matrix_root(seed, count_a, count_b, size):
    # With fewer items than dimensions the covariances are singular.
    a, b = sample(seed, count_a, size), sample(seed + 1, count_b, size)
    scale = np.trace(moments(a)[1]) + np.trace(moments(b)[1])
    assert distance(a, b) == pytest.approx(by_singular_values(a, b), abs=1e-3 * scale)


@given(st.integers(0, 1000), st.floats(-5, 5))
def test_distance_obeys_laws(seed, shift):
    a, b = sample(seed, 20, 3), sample(seed + 1, 25, 3)
    assert distance(a, b) == pytest.approx(distance(b, a), abs=1e-6)
    assert distance(a, a) == pytest.approx(0, abs=1e-6)
    assert distance(a, a) >= 0
    # A shift leaves the covariance: only the means count.
    assert distance(a, a + shift) == pytest.approx(3 * shift**2, abs=1e-6)


def test_non_finite_root_is_computed_again_with_ridge():
    a = np.array([[0.0, 0.0, 1.0], [2.0, 1.0, 1.0]])
    b = np.array([[0.0, 0.0, 1.0], [1.0, 1.0, 2.0]])
    (mean_a, cov_a), (mean_b, cov_b) = moments(a), moments(b)
    with pytest.warns(LinAlgWarning):
        plain = sqrtm(cov_a @ cov_b)
    assert not np.isfinite(plain).all()  # otherwise this tests nothing
    ridge = 1e-6 * np.eye(3)
    root = np.trace(sqrtm((cov_a + ridge) @ (cov_b + ridge))).real
    apart = mean_a - mean_b
    wanted = apart @ apart + np.trace(cov_a) + np.trace(cov_b) - 2 * root
    assert distance(a, b) == pytest.approx(wanted, abs=1e-9)
    assert distance(a, b) == pytest.approx(by_singular_values(a, b), abs=0.01)
