"""The Frechet distance between two sets of features: FID and FVD.

Both sets are taken for samples of normal distributions; the distance is that between
the two distributions.
"""

import warnings
from collections.abc import Sequence
from typing import cast

import numpy as np
from scipy.linalg import LinAlgWarning, sqrtm

from evalcore.metrics.base import Feature, Floats, Value

RIDGE = 1e-6
IMAGINARY = 1e-3
BLOCK = 4096
FEWEST = 2  # a covariance needs two


def moments(features: Feature) -> tuple[Floats, Floats]:
    """Return mean and covariance of features.

    `features`: items x dimensions, at least two items. Result: mean, covariance:
    dimensions, and dimensions x dimensions, divided by the number of items less one; in
    64 bits.

    >>> mean, covariance = moments(np.array([[0.0, 1.0], [2.0, 5.0]]))
    >>> mean, covariance.tolist()
    (array([1., 3.]), [[2.0, 4.0], [4.0, 8.0]])
    """
    count, dimensions = features.shape
    if count < FEWEST:
        raise ValueError(f"a covariance needs {FEWEST} items, not {count}")
    mean: Floats = features.mean(axis=0, dtype=np.float64)
    scatter = np.zeros((dimensions, dimensions))
    # In blocks: a benchmark's frames in 64 bits may not fit into memory twice.
    for start in range(0, count, BLOCK):
        centred = features[start : start + BLOCK].astype(np.float64) - mean
        scatter += centred.T @ centred
    return mean, scatter / (count - 1)


def frechet_distance(
    mean_a: Floats, covariance_a: Floats, mean_b: Floats, covariance_b: Floats
) -> float:
    """Return the (squared) Frechet distance between two normal distributions.

    Result: 0 for equal distributions; no upper bound. What rounding brings below 0 is
    0.

    d = |mean_a - mean_b|^2 + Tr(A + B - 2 (A B)^(1/2)). Only where the root is not
    finite, 1e-6 is added to both diagonals and it is taken again; the traces of A and B
    stay as they are. A root with imaginary parts up to 1e-3 on its diagonal counts as
    real.

    Source: Heusel et al. (2017), GANs trained by a two time-scale update rule, eq. 6;
    StoryBench, section 3.4, and its program, metrics/utils.

    Two distributions with deviations 1 and 3, and means 2 apart: 2^2 + (3 - 1)^2.

    >>> one, nine = np.array([[1.0]]), np.array([[9.0]])
    >>> frechet_distance(np.array([0.0]), one, np.array([2.0]), nine)
    8.0
    """
    root = _root(covariance_a @ covariance_b)
    if not np.isfinite(root).all():
        ridge = RIDGE * np.eye(len(mean_a))
        root = _root((covariance_a + ridge) @ (covariance_b + ridge))
    diagonal = np.diagonal(root)
    if not np.isfinite(diagonal).all():
        raise ValueError("the covariances have no finite root: numbers are too large")
    if not np.allclose(diagonal.imag, 0, atol=IMAGINARY):
        raise ValueError(
            f"the root of the covariances has the imaginary part "
            f"{np.abs(diagonal.imag).max():.3g} on its diagonal, more than {IMAGINARY}"
        )
    apart = mean_a - mean_b
    traces = np.trace(covariance_a) + np.trace(covariance_b)
    distance = float(apart @ apart + traces - 2 * diagonal.real.sum())
    return max(distance, 0.0)


def _root(matrix: Floats) -> Feature:
    with warnings.catch_warnings():
        # Few items make a singular product; whether its root is right is looked at.
        warnings.simplefilter("ignore", LinAlgWarning)
        return cast(Feature, sqrtm(matrix))


def distance_value(
    outputs: Sequence[Feature],
    truths: Sequence[Feature],
    what: str,
    left_out: Sequence[str] = (),
) -> Value:
    """Return the distance between the features of outputs and of true outputs.

    `outputs`, `truths`: features of one length; the numbers of items need not be equal.
    `what`: what the items are, in the plural, for the reason. `left_out`: stories whose
    items are not among them, for the trace. Result: undefined, with a reason, where
    either side has fewer than two items. The trace says how many items and dimensions
    there were, which stories were left out, and whether a covariance is rank deficient:
    with no more items than dimensions the distance comes out too large, and distances
    of different numbers of items cannot be compared.
    """
    for items, whose in ((outputs, "the method's outputs"), (truths, "the true ones")):
        if len(items) < FEWEST:
            reason = f"a covariance needs two {what}; {whose} have {len(items)}"
            return Value(None, reason=reason)
    distance = frechet_distance(*moments(np.stack(truths)), *moments(np.stack(outputs)))
    dimensions = len(outputs[0])
    trace = {
        "outputs": len(outputs),
        "truths": len(truths),
        "dimensions": dimensions,
        "rank_deficient": min(len(outputs), len(truths)) <= dimensions,
        "left_out": list(left_out),
    }
    return Value(distance, trace=trace)
