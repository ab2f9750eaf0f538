"""Studies that were not made: a model of a pilot, and studies drawn from it.

A pilot's people and metrics are described by variance and covariance components of
methods, stories, and both together, and by the noise of ratings. From these, studies of
any size are drawn, and correlated as real ones are.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from analysis.inference.scaling import divided, near_one
from analysis.planning.pilots import Noise
from analysis.planning.sums_of_squares import (
    METHOD,
    STORY,
    Design,
    estimate_components,
)
from analysis.planning.variance_components import StudySize
from analysis.reading.cells import CellGrid
from analysis.results import Array, Counts
from analysis.statistics import coefficient

# Up to this many points all pairs are compared; above, inversions are counted.
FEW = 12


@dataclass(frozen=True)
class Model:
    """Normal model of people's true values and K metrics.

    Attributes
    ----------
    parts
        ``"method"``, ``"story"``, ``"cell"`` to a factor of the covariance matrix,
        shape (1 + K, 1 + K), people first.
    noise
        Of the ratings.
    """

    parts: Mapping[str, Array]
    noise: Noise

    def blocks(
        self,
        size: StudySize,
        *,
        stories: int,
        each: float = 1,
        studies: int,
        rng: np.random.Generator,
    ) -> tuple[Array, Array]:
        """Draw four studies at a time: two sets of stories, by two of methods.

        Parameters
        ----------
        size
            Methods and annotators of one study.
        stories, each
            How many are drawn, and of how many stories each is the mean.
        studies
            How many times, R.

        Returns
        -------
        human
            Shape (2, 2, R, S, M), means over annotators: the first axis has other
            stories, the second other methods.
        scores
            Shape (K, 2, 2, R, S, M).
        """
        R, S, M = studies, 2 * stories, 2 * int(size.methods)
        shapes = {"method": (R, 1, M), "story": (R, S, 1), "cell": (R, S, M)}
        P = len(self.parts["cell"])
        values = np.zeros((P, R, S, M))
        added = dict(zip(shapes, self.noise.at(size), strict=True))
        for name, shape in shapes.items():
            drawn = rng.standard_normal((P, *shape))
            shrunk = 1.0 if name == "method" else 1 / np.sqrt(each)
            values += np.tensordot(shrunk * self.parts[name], drawn, axes=1)
            extra = shrunk * np.sqrt(added[name])
            values[0] += extra * rng.standard_normal(shape)
        apart = values.reshape(P, R, 2, stories, 2, M // 2).transpose(0, 2, 4, 1, 3, 5)
        return apart[0], apart[1:]


def fit_model(grid: CellGrid, noise: Noise, size: StudySize) -> Model:
    """Fit the model to a pilot's common subset of cells.

    Parameters
    ----------
    grid
        People and metrics, on the same cells.
    noise, size
        Of the pilot. The noise is taken out of people's variances; covariances with
        metrics do not hold any.

    Notes
    -----
    Metrics are taken near 1, whatever their unit: no coefficient depends on it.
    Components are moment estimates (`variance_components`), made positive semidefinite
    by leaving out negative eigenvalues of the matrix in units of standard deviations.
    """
    s, m = np.nonzero(grid.cells)
    values = np.stack([grid.human[s, m], *near_one(grid.scores[:, s, m])], axis=1)
    spread = values.std(axis=0)
    scale = np.where(spread > 0, spread, 1.0)
    design = Design({METHOD: _dense(m), STORY: _dense(s)})
    fit = estimate_components(design, values / scale)
    sources = {"method": (METHOD,), "story": (STORY,), "cell": (METHOD, STORY)}
    parts = {}
    for (name, source), added in zip(sources.items(), noise.at(size), strict=True):
        matrix = fit.matrix(*source).copy()
        matrix[0, 0] -= added / scale[0] ** 2
        parts[name] = scale[:, None] * _root(matrix)
    return Model(parts, noise)


def _dense(codes: Counts) -> Counts:
    return np.asarray(np.unique(codes, return_inverse=True)[1])


def _root(matrix: Array) -> Array:
    """Return a factor F of the nearest covariance matrix F F'."""
    variances = np.clip(np.diag(matrix), 0, None)
    deviations = np.sqrt(variances)
    safe = np.where(deviations > 0, deviations, 1.0)
    known = deviations > 0
    correlations = np.where(known[:, None] & known, matrix / np.outer(safe, safe), 0.0)
    np.fill_diagonal(correlations, 1.0)
    values, vectors = np.linalg.eigh(correlations)
    root = vectors * np.sqrt(np.clip(values, 0, None))
    root /= np.linalg.norm(root, axis=1, keepdims=True)
    return np.asarray(deviations[:, None] * root)


def level_points(values: Array, level: str) -> Array:
    """Arrange values (..., S, M) as (..., groups, points) of a level."""
    if level == "method":
        return np.asarray(values.mean(axis=-2)[..., None, :])
    if level == "story":
        return values
    if level == "within_method":
        return np.swapaxes(values, -2, -1)
    return values.reshape(*values.shape[:-2], 1, -1)


def correlated(
    human: Array, scores: Array, coefficients: Sequence[str]
) -> dict[str, Array]:
    """Correlate values without ties, and average over groups.

    Parameters
    ----------
    human
        Shape (R, G, N).
    scores
        Shape (R, G, N), one metric.
    coefficients
        Some of ``kendall``, ``kendall_c`` (the same without ties), ``spearman``,
        ``pearson``.

    Returns
    -------
    dict
        Coefficient to an array of shape (R,).
    """
    counted = {name: coefficient(name).counts for name in coefficients}
    found: dict[str, Array] = {}
    order = np.argsort(human, axis=-1)
    there = np.argsort(np.argsort(np.take_along_axis(scores, order, -1), axis=-1), -1)
    n = human.shape[-1]
    if "pairs" in counted.values():
        found["pairs"] = 1 - 2 * inversions(there) / (n * (n - 1) / 2)
    if "ranks" in counted.values():
        squares = ((there - np.arange(n)) ** 2).sum(axis=-1)
        found["ranks"] = 1 - 6 * squares / (n * (n**2 - 1))
    if "values" in counted.values():
        h = human - human.mean(axis=-1, keepdims=True)
        x = scores - scores.mean(axis=-1, keepdims=True)
        product = np.sqrt((h * h).sum(axis=-1) * (x * x).sum(axis=-1))
        found["values"] = divided((h * x).sum(axis=-1), product)
    return {name: found[counts].mean(axis=-1) for name, counts in counted.items()}


def inversions(ranks: Counts) -> Array:
    """Count the pairs that stand in the wrong order.

    Parameters
    ----------
    ranks
        Shape (..., N): a permutation of 0 to N - 1 in each row.

    Notes
    -----
    By the bits of the ranks from the highest on: where two ranks first differ, the
    larger one has a 1. N log N steps for all rows at once.

    Examples
    --------
    >>> inversions(np.array([[0, 1, 2], [2, 1, 0], [0, 2, 1]]))
    array([0., 3., 1.])
    """
    n = ranks.shape[-1]
    if n <= FEW:
        steps = range(1, n)
        each = [(ranks[..., :-k] > ranks[..., k:]).sum(axis=-1) for k in steps]
        return np.asarray(sum(each), float)
    rows = ranks.reshape(-1, n).astype(np.int32)
    wrong = np.zeros(len(rows), float)
    place = np.arange(n, dtype=np.int32)
    for bit in range(int(n - 1).bit_length() - 1, -1, -1):
        one = (rows >> bit) & 1
        start = (rows >> (bit + 1)) << (bit + 1)
        before = np.zeros((len(rows), n + 1), np.int32)
        np.cumsum(one, axis=1, out=before[:, 1:])
        ones = before[:, :-1] - np.take_along_axis(before, start, 1)
        wrong += (ones * (1 - one)).sum(axis=1)
        goal = np.where(one, start + (1 << bit) + ones, place - ones)
        np.put_along_axis(arranged := np.empty_like(rows), goal, rows, 1)
        rows = arranged
    return wrong.reshape(ranks.shape[:-1])
