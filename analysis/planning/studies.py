"""Studies that were not made: a model of a pilot, and studies drawn from it.

A pilot's people and metrics are described by variance and covariance components of
methods, stories, and both together, and by the noise of ratings. From these, studies of
any size are drawn, and correlated as real ones are.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from analysis.planning.components import (
    Components,
    Design,
    estimate_components,
    rating_design,
)
from analysis.planning.variance import Size
from analysis.reading.cells import Grid
from analysis.results import Array, Counts

# Up to this many points all pairs are compared; above, inversions are counted.
FEW = 12
METHOD, STORY, ANNOTATOR = "method", "story", "annotator"
ALL = (METHOD, STORY, ANNOTATOR)


def grown(size: Size, grows: str, multiple: float) -> Size:
    """Return a study that has more or fewer annotators, stories or methods.

    Parameters
    ----------
    size
        The pilot, with whole `per_output`.
    grows
        ``"annotators"`` (of each output; the pool grows alike), ``"stories"`` or
        ``"methods"``.
    multiple
        How often as many. At least one annotator, two stories, three methods.

    Examples
    --------
    >>> grown(Size(10, 20, 5, 2, 4), "annotators", 2)
    Size(annotators=20.0, stories=20, methods=5, per_output=4, per_story=8.0)
    """
    if grows == "stories":
        return replace(size, stories=max(2, round(size.stories * multiple)))
    if grows == "methods":
        return replace(size, methods=max(3, round(size.methods * multiple)))
    k = max(1, round(size.per_output * multiple))
    ratio = k / size.per_output
    return replace(
        size,
        annotators=max(k, size.annotators * ratio),
        per_output=k,
        per_story=max(k, size.per_story * ratio),
    )


@dataclass(frozen=True)
class Noise:
    """Variance components of annotators; what they add to means of ratings.

    Attributes
    ----------
    annotator, of_method, of_story, rest
        Components of annotator, method x annotator, story x annotator and the rest;
        never negative.
    """

    annotator: float = 0.0
    of_method: float = 0.0
    of_story: float = 0.0
    rest: float = 0.0

    def at(self, size: Size) -> tuple[float, float, float]:
        """Return the variance that annotators add to methods, stories, and cells.

        Annotators whom all outputs share move none against another. With k of A
        annotators an output, ``1/k - 1/A`` of a component differs between outputs.
        """
        k, A, B = size.per_output, size.annotators, size.per_story
        pool, of_story = max(0.0, 1 / k - 1 / A), max(0.0, 1 / k - 1 / B)
        cell = (self.annotator + self.of_method) * pool
        cell += self.of_story * of_story + self.rest / k
        return self.of_method / A, self.of_story / B, cell


def rating_noise(by_annotator: pd.DataFrame) -> tuple[Noise, Components]:
    """Estimate the noise of one question's ratings, rows of `annotator_cells`."""
    y = by_annotator["rating"].to_numpy(float)
    fit = estimate_components(rating_design(by_annotator), y[:, None])
    noise = Noise(
        fit.variance(ANNOTATOR),
        fit.variance(METHOD, ANNOTATOR),
        fit.variance(STORY, ANNOTATOR),
        fit.variance(*ALL),
    )
    return noise, fit


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

    def study(
        self, size: Size, studies: int, rng: np.random.Generator
    ) -> tuple[Array, Array]:
        """Draw studies with new stories, methods and annotators.

        Returns
        -------
        human
            Shape (R, S, M): means over annotators.
        scores
            Shape (K, R, S, M).
        """
        R, S, M = studies, int(size.stories), int(size.methods)
        shapes = {"method": (R, 1, M), "story": (R, S, 1), "cell": (R, S, M)}
        P = len(self.parts["cell"])
        values = np.zeros((P, R, S, M))
        added = dict(zip(shapes, self.noise.at(size), strict=True))
        for name, shape in shapes.items():
            drawn = rng.standard_normal((P, *shape))
            values += np.tensordot(self.parts[name], drawn, axes=1)
            values[0] += np.sqrt(added[name]) * rng.standard_normal(shape)
        return values[0], values[1:]


def fit_model(grid: Grid, noise: Noise, size: Size) -> Model:
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
    Components are moment estimates (`variance`), made positive semidefinite
    by leaving out negative eigenvalues of the matrix in units of standard deviations.
    """
    s, m = np.nonzero(grid.cells)
    values = np.stack([grid.human[s, m], *grid.scores[:, s, m]], axis=1)
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
        Some of ``kendall``, ``spearman``, ``pearson``.

    Returns
    -------
    dict
        Coefficient to an array of shape (R,).
    """
    found = {}
    order = np.argsort(human, axis=-1)
    there = np.argsort(np.argsort(np.take_along_axis(scores, order, -1), axis=-1), -1)
    n = human.shape[-1]
    if "kendall" in coefficients:
        pairs = n * (n - 1) / 2
        found["kendall"] = 1 - 2 * inversions(there) / pairs
    if "spearman" in coefficients:
        squares = ((there - np.arange(n)) ** 2).sum(axis=-1)
        found["spearman"] = 1 - 6 * squares / (n * (n**2 - 1))
    if "pearson" in coefficients:
        h = human - human.mean(axis=-1, keepdims=True)
        x = scores - scores.mean(axis=-1, keepdims=True)
        product = np.sqrt((h * h).sum(axis=-1) * (x * x).sum(axis=-1))
        with np.errstate(invalid="ignore", divide="ignore"):
            found["pearson"] = (h * x).sum(axis=-1) / product
    return {name: found[name].mean(axis=-1) for name in coefficients}


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


@dataclass(frozen=True)
class Ratings:
    """Normal model of single ratings, for how well annotators agree.

    Attributes
    ----------
    parts
        Source to its standard deviation.
    """

    parts: Mapping[tuple[str, ...], float]

    def alphas(
        self, size: Size, studies: int, rng: np.random.Generator
    ) -> tuple[Array, Array]:
        """Draw pairs of studies with other stories, but methods and people the same.

        Returns
        -------
        tuple of array
            Interval alpha of the first and of the second of each pair, shape (R,).
        """
        R, S = studies, 2 * int(size.stories)
        M, A = int(size.methods), int(size.per_output)
        x = np.zeros((R, S, M, A))
        for source, deviation in self.parts.items():
            shape = (
                R, S if STORY in source else 1, M if METHOD in source else 1,
                A if ANNOTATOR in source else 1,
            )  # fmt: skip
            x += deviation * rng.standard_normal(shape)
        half = S // 2
        return _alpha(x[:, :half]), _alpha(x[:, half:])


def _alpha(x: Array) -> Array:
    """Return interval alpha of complete ratings, one value a study."""
    inside = x.var(axis=-1, ddof=1).mean(axis=(1, 2))
    return np.asarray(1 - inside / x.reshape(len(x), -1).var(axis=1, ddof=1))


def rating_model(by_annotator: pd.DataFrame) -> Ratings:
    """Fit the model of single ratings to their mid-ranks.

    Mid-ranks, since ordinal alpha is interval alpha of them.
    """
    ranked = by_annotator.assign(rating=by_annotator["rating"].rank())
    _, fit = rating_noise(ranked)
    return Ratings({s: float(np.sqrt(fit.variance(*s))) for s in fit.values})
