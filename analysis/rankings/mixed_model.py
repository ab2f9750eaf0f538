"""A mixed model of ratings: methods fixed; annotators, stories, outputs random."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.linalg import cho_solve, cholesky, solve_triangular
from scipy.optimize import minimize

from analysis.results import Array, Counts
from analysis.sentences import sentence

# Methods and annotators together: one step of the search factors a square of that
# size, about 0.1 s at the limit.
LARGEST_BLOCK = 1500
# Roots of variance ratios, where the search begins, and its tolerances.
START, X_TOLERANCE, F_TOLERANCE = 0.5, 1e-6, 1e-12
# An effect with so many times the spread of the residual leaves none.
LARGEST_ROOT = 1000.0


@dataclass(frozen=True)
class MixedModel:
    """A fitted model."""

    means: Array
    errors: Array
    freedom: Array
    annotator: float = np.nan
    story: float = np.nan
    output: float = np.nan
    residual: float = np.nan
    log_likelihood: float = np.nan
    reason: str = ""


@dataclass(frozen=True)
class _CrossProducts:
    """Cross-products of all ratings, and of the sums of outputs with k ratings."""

    n: int
    times: Array
    outputs: Array
    fixed: Array
    across: Array
    story: Array
    fixed_y: Array
    story_y: Array
    y_y: Array


def fit_mixed(
    rating: Array, method: Counts, story: Counts, annotator: Counts
) -> MixedModel:
    r"""Fit methods as fixed, annotators, stories and outputs as random effects.

    :math:`y = \mu_m + a_u + s_t + o_{tm} + e`, all but :math:`\mu` normal, estimated by
    REML; :math:`o` is left out where no output has two ratings. Outputs leave the
    equations of Henderson by sums over outputs with the same number n of ratings, since
    :math:`(I + \gamma_o 11')^{-1} = I - \gamma_o / (1 + n \gamma_o) 11'`; stories by a
    Schur complement. Means have t intervals with Satterthwaite's degrees of freedom,
    :math:`(\sum_k v_k)^2 / \sum_k (v_k^2 / f_k)`, where v are the variances of the mean
    of annotators, of stories with their outputs, and of single ratings.

    Source: Searle, Casella and McCulloch (1992), Variance Components, sections 6.6 and
    7.6; Bates et al. (2015), Journal of Statistical Software 67(1), section 3.
    """
    M, S, A = (int(codes.max()) + 1 for codes in (method, story, annotator))
    none = np.full(M, np.nan)
    reason = _why_none(rating, M, S, A)
    if reason:
        return MixedModel(none, none, none, reason=reason)
    centre = rating.mean()
    scale = rating.std()
    y = (rating - centre) / scale
    sums = _sums(y, method, story, annotator)
    several = bool((sums.times > 1).any())
    roots = np.full(3 if several else 2, START)
    begin = _deviance(roots, sums, M)
    found = minimize(  # type: ignore[call-overload]
        lambda x: _deviance(_bounded(x), sums, M),
        roots,
        method="Nelder-Mead",
        options={
            "xatol": X_TOLERANCE,
            "fatol": F_TOLERANCE * (1000 + abs(begin)),
            "maxfev": 1000,
        },
    )
    best = _bounded(found.x)
    means, errors, residual = _effects(best, sums, M)
    if best.max() > LARGEST_ROOT / 2:
        why = sentence("the ratings leave no rest beside the effects of the model")
        return MixedModel(none, none, none, reason=why)
    variances = best**2 * residual * scale**2
    likelihood = -_deviance(best, sums, M) / 2 - (sums.n - M) * np.log(scale)
    freedom = _freedom(best, method, story, annotator)
    return MixedModel(
        means * scale + centre,
        errors * scale,
        freedom,
        float(variances[0]),
        float(variances[1]),
        float(variances[2]) if several else np.nan,
        float(residual * scale**2),
        float(likelihood),
    )


def _freedom(roots: Array, method: Counts, story: Counts, annotator: Counts) -> Array:
    """Return Satterthwaite's degrees of freedom of every method's mean."""
    M = int(method.max()) + 1

    def behind(codes: Counts) -> Array:
        pairs = np.unique(method.astype(np.int64) * (codes.max() + 1) + codes)
        return np.bincount(pairs // (codes.max() + 1), minlength=M).astype(float)

    people, stories = behind(annotator), behind(story)
    ratings = np.bincount(method, minlength=M)
    parts = np.stack(
        [roots[0] ** 2 / people, (roots[1:] ** 2).sum() / stories, 1 / ratings]
    )
    freedom = np.array([annotator.max(), story.max(), len(method) - M], float)
    return np.asarray(parts.sum(axis=0) ** 2 / (parts.T**2 / freedom).sum(axis=1))


def _bounded(roots: Array) -> Array:
    return np.asarray(np.minimum(np.abs(roots), LARGEST_ROOT))


def _why_none(rating: Array, M: int, S: int, A: int) -> str:
    if A < 2:
        return sentence("the mixed model needs two annotators")
    if S < 2:
        return sentence("the mixed model needs two stories")
    if np.ptp(rating) == 0:
        return sentence("all ratings are the same")
    if len(rating) <= M + 3:
        return sentence("too few ratings for the mixed model")
    if M + A > LARGEST_BLOCK:
        return sentence(
            "more than {most} methods and annotators for the mixed model",
            most=LARGEST_BLOCK,
        )
    return ""


def _sums(y: Array, method: Counts, story: Counts, annotator: Counts) -> _CrossProducts:
    M, S, A = (int(codes.max()) + 1 for codes in (method, story, annotator))
    n = len(y)
    key = story.astype(np.int64) * M + method
    cells, cell = np.unique(key, return_inverse=True)
    number = np.bincount(cell)
    times = np.unique(number)
    rows = np.arange(n)
    ones = np.ones(n)
    single = [
        sparse.csr_array((ones, (rows, method)), shape=(n, M)),
        sparse.csr_array((ones, (rows, annotator)), shape=(n, A)),
        sparse.csr_array((ones, (rows, story)), shape=(n, S)),
    ]
    add = sparse.csr_array((ones, (cell, rows)), shape=(len(cells), n))
    by_cell = [add @ table for table in single]
    total = add @ y
    groups = [(single, y)]
    groups += [
        ([table[number == k] for table in by_cell], total[number == k]) for k in times
    ]
    found: list[tuple[Array, ...]] = []
    for (of_method, of_annotator, of_story), values in groups:
        both = sparse.hstack([of_method, of_annotator]).tocsr()
        found.append(
            (
                (both.T @ both).toarray(),
                (both.T @ of_story).toarray(),
                np.asarray(of_story.multiply(of_story).sum(axis=0)),
                np.asarray(both.T @ values),
                np.asarray(of_story.T @ values),
                np.asarray(values @ values),
            )
        )
    sizes = np.array([(number == k).sum() for k in times], float)
    tables = [np.stack(column) for column in zip(*found, strict=True)]
    return _CrossProducts(n, times.astype(float), sizes, *tables)


def _deviance(roots: Array, sums: _CrossProducts, M: int) -> float:
    """Return -2 log restricted likelihood at standard deviations of the effects."""
    lower, _, residual, log_det = _solved(roots, sums, M)
    log_det += 2 * float(np.log(np.diag(lower)).sum())
    return float((sums.n - M) * (1 + np.log(2 * np.pi * residual)) + log_det)


def _effects(roots: Array, sums: _CrossProducts, M: int) -> tuple[Array, Array, float]:
    """Return means of the methods, their standard errors, and the residual variance."""
    lower, right, residual, _ = _solved(roots, sums, M)
    inverse = cho_solve((lower, True), np.eye(len(lower), M))[:M]
    means = cho_solve((lower, True), right)[:M]
    return means, np.sqrt(residual * np.diag(inverse)), residual


def _solved(
    roots: Array, sums: _CrossProducts, M: int
) -> tuple[Array, Array, float, float]:
    """Return the factored equations of methods and annotators, and their right side."""
    A = sums.fixed.shape[1] - M
    ratio = roots[2] ** 2 if len(roots) == 3 else 0.0
    weights = np.append(1.0, -ratio / (1 + sums.times * ratio))
    log_det = float(sums.outputs @ np.log1p(sums.times * ratio))
    scale = np.append(np.ones(M), np.full(A, roots[0]))
    with_story = np.tensordot(weights, sums.across, 1) * scale[:, None] * roots[1]
    story = 1 + roots[1] ** 2 * (weights @ sums.story)
    story_y = roots[1] * (weights @ sums.story_y)
    log_det += float(np.log(story).sum())
    block = np.tensordot(weights, sums.fixed, 1) * np.outer(scale, scale)
    block[range(M, M + A), range(M, M + A)] += 1
    block -= (with_story / story) @ with_story.T
    right = scale * (weights @ sums.fixed_y) - with_story @ (story_y / story)
    lower = cholesky(block, lower=True, check_finite=False)
    solved = solve_triangular(lower, right, lower=True, check_finite=False)
    rest = weights @ sums.y_y - story_y @ (story_y / story) - solved @ solved
    residual = max(float(rest) / (sums.n - M), np.finfo(float).tiny)
    return lower, right, residual, log_det
