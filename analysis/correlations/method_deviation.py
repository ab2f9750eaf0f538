r"""Distances of methods on people's scale: by a metric, and by people.

The scores are put on people's scale by a line through the other methods,

.. math:: d_m = a_{-m} + b_{-m} \bar x_m - \bar h_m,

where :math:`a_{-m}` and :math:`b_{-m}` are the least squares line of people's means on
mean scores without method m, which does not pull its own line. Errors of mean scores
flatten a line; sums of squares and products are less what these errors add (Fuller
1987, Measurement Error Models, section 1.3, with errors by story). The variance by
stories is the jackknife's. d is linear in people's means, so the variance by annotators
is that of a contrast of these (`analysis.inference.crossed_clusters`).
"""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from analysis.inference.crossed_clusters import (
    ClusteredVariance,
    CrossedCovariance,
    Errors,
    cluster_number,
    crossed_covariance,
    joined_errors,
    squared,
)
from analysis.inference.resampling import holm
from analysis.reading.cells import CellGrid
from analysis.results import NAN, Array, Counts, Mask, TableRow
from analysis.sentences import sentence

# A line through fewer other methods than three leaves no residual of its own.
FEWEST_METHODS = 4
FEW_METHODS = sentence("fewer than four methods")
ONE_STORY = sentence("fewer than two stories")
NO_STORIES = sentence("ratings are method-level values, without stories")
NO_ORDER = sentence(
    "the scores are not shown to order the other methods as people do, so that they "
    "have no place on people's scale"
)


@dataclass(frozen=True)
class MethodCells:
    """Values of people and metrics by story and method, for one question.

    `human` and `scores` are (S, M) and (K, S, M), zero outside `cells`; `people` is the
    covariance of people's means of the methods by annotators and answers, if these are
    drawn; `scale` has the ends of people's scale.
    """

    question: str
    methods: tuple[str, ...]
    metrics: tuple[str, ...]
    cells: Mask
    human: Array
    scores: Array
    people: CrossedCovariance | None
    scale: tuple[float, float]


def rated_cells(
    grid: CellGrid, parts: tuple[str, ...], scale: tuple[float, float] | None
) -> MethodCells:
    """Return the cells of a question of ratings.

    Without a `scale`, people's scale ends at the lowest and the highest rating.
    """
    used = grid.cells.any(axis=0)
    votes = grid.votes[:, :, used]
    votes = np.where(grid.cells[:, used], votes, np.nan)
    given = votes[np.isfinite(votes)]
    if scale is None and given.size:
        scale = float(given.min()), float(given.max())
    return MethodCells(
        grid.question,
        tuple(np.array(grid.methods, object)[used]),
        grid.metrics,
        grid.cells[:, used],
        grid.human[:, used],
        grid.scores[:, :, used],
        _of_people(votes) if "annotators" in parts else None,
        scale or (NAN, NAN),
    )


def _of_people(votes: Array) -> CrossedCovariance | None:
    """Return the covariance of the means of methods by annotators and answers."""
    annotator, story, method = np.nonzero(np.isfinite(votes))
    A, S, M = votes.shape
    if len(np.unique(annotator)) < 2:
        return None
    given = votes[annotator, story, method]
    cell = story * M + method
    size = np.bincount(cell, minlength=S * M)
    mean = np.bincount(cell, given, minlength=S * M) / np.maximum(size, 1)
    n_cells = (size.reshape(S, M) > 0).sum(axis=0)
    means = mean.reshape(S, M).sum(axis=0) / np.maximum(n_cells, 1)
    share = 1 / (size[cell] * n_cells[method])
    adds = share * (given - means[method])
    at = np.arange(len(adds)), method
    return crossed_covariance(
        sparse.csr_array((adds, at), shape=(len(adds), M)),
        at[0],
        [(annotator, A), (story, S)],
        rank=max(M - 1, 1),
        weights=sparse.csr_array((share, at), shape=(len(adds), M)),
    )


def method_deviations(
    known: MethodCells, *, confidence: float, trained: Collection[tuple[str, str]] = ()
) -> list[TableRow]:
    """Return how far every metric places every method from people's mean.

    Parameters
    ----------
    known
        The values; ties and directions play no role beyond the means.
    trained
        Pairs of a method and the metric that it was trained on, or selected by.

    Returns
    -------
    list of dict
        Rows of the table `method_deviation`. `value` is on people's scale, positive
        where the metric places the method too high; interval and test are for new
        stories (and annotators) of these methods; `p_adjusted` is Holm's over the
        methods. `difference` is the mean score less people's mean where the scores
        reach both ends of people's scale and no further.
    """
    n = known.cells.sum(axis=0)
    reason = ""
    if len(known.cells) < 2:
        reason = NO_STORIES if len(known.cells) == 1 else ONE_STORY
    elif len(known.methods) < FEWEST_METHODS:
        reason = FEW_METHODS
    elif (n < 2).any():
        reason = ONE_STORY
    rows: list[TableRow] = []
    drawn = "stories" if known.people is None else "stories+annotators"
    means = _means(known.human, n)
    for k, metric in enumerate(known.metrics):
        columns = {"human": means, "score": _means(known.scores[k], n)}
        why = [reason] * len(n)
        if not reason:
            found, why = _of_metric(known, k, confidence)
            columns |= found
        for m, method in enumerate(known.methods):
            row: TableRow = {
                "question": known.question,
                "metric": metric,
                "method": method,
                "n": int(n[m]),
                "trained_on": (method, metric) in trained,
                "reason": why[m],
                "drawn": "",
            }
            row |= {name: float(values[m]) for name, values in columns.items()}
            if "p_value" in columns and np.isfinite(columns["p_value"][m]):
                row["drawn"] = drawn
            rows.append(row)
    return rows


def _means(values: Array, n: Counts) -> Array:
    return np.asarray(values.sum(axis=0) / np.maximum(n, 1))


def _of_metric(
    known: MethodCells, k: int, confidence: float
) -> tuple[dict[str, Array], list[str]]:
    """Return the columns of one metric's rows, and why values are missing."""
    cells = known.cells.astype(float)
    M = len(known.methods)
    n = cells.sum(axis=0)
    h, x = (
        # The first row has all stories, each further one lacks one.
        np.vstack([v.sum(axis=0) / n, (v.sum(axis=0) - v) / np.maximum(n - cells, 1)])
        for v in (known.human, known.scores[k])
    )
    # By story, what moves the means of people and of the metric.
    of_h, of_x = (
        (v - cells * mean[0]) / np.sqrt(n * (n - 1))
        for v, mean in ((known.human, h), (known.scores[k], x))
    )
    place, slope, weights = _line_without_each(h, x, of_h, of_x)
    # Deviations, and the slopes of the lines, with all stories and without each.
    error, of_slope = _jackknifed(place - h), _jackknifed(slope)
    quantile = Errors(of_slope, n - 1).quantiles(confidence)
    with np.errstate(invalid="ignore"):
        placed = slope[0] > quantile * np.sqrt(of_slope)
    value = np.where(placed, place[0] - h[0], NAN)
    found = _tested(value, error, n, known.people, weights - np.eye(M), confidence)
    columns = {"value": value, "predicted": h[0] + value, **found}
    columns["p_adjusted"] = holm(columns["p_value"])
    given = known.scores[k][known.cells]
    if (given.min(), given.max()) == known.scale:
        raw = x[0] - h[0]
        own = _tested(raw, _jackknifed(x - h), n, known.people, -np.eye(M), confidence)
        columns |= {
            "difference": raw,
            "difference_low": own["low"],
            "difference_high": own["high"],
        }
    return columns, ["" if one else NO_ORDER for one in placed]


def _line_without_each(
    h: Array, x: Array, of_h: Array, of_x: Array
) -> tuple[Array, Array, Array]:
    """Put each method's mean score on people's scale by the line of the others.

    Returns the places and slopes, both (draws, M), and the weights of people's means
    in the places of the first draw, (M, M).
    """
    x = x - x.mean(axis=1, keepdims=True)
    others = x.shape[1] - 1
    mean_x, mean_h = ((v.sum(axis=1, keepdims=True) - v) / others for v in (x, h))

    def without(products: Array) -> Array:
        return np.asarray(products.sum(axis=1, keepdims=True) - products)

    def of_errors(a: Array, b: Array) -> Array:
        """Return what errors add to the sum of products of the other methods."""
        single = without((a * b).sum(axis=0)[None])
        both = (without(a) * without(b)).sum(axis=0)
        return np.asarray(single - both / others)

    squares = without(x * x)
    across = squares - others * mean_x**2 - of_errors(of_x, of_x)
    across = np.where(across > ROUNDING * squares, across, NAN)
    along = without(x * h) - others * mean_x * mean_h - of_errors(of_x, of_h)
    slope, ahead = along / across, x - mean_x
    steps = x[0] - mean_x[0][:, None]
    weights = 1 / others + (ahead[0] / across[0])[:, None] * steps
    np.fill_diagonal(weights, 0.0)
    return mean_h + slope * ahead, slope, weights


# Scores of the other methods that vary by no more of their size are equal.
ROUNDING = 1e-12


def _jackknifed(values: Array) -> Array:
    """Return the variance of the first row, from the others, which lack one story."""
    without = values[1:]
    S = len(without)
    return np.asarray(((without - without.mean(axis=0)) ** 2).sum(axis=0) * (S - 1) / S)


def _tested(
    value: Array,
    by_story: Array,
    n: Array,
    people: CrossedCovariance | None,
    contrasts: Array,
    confidence: float,
) -> dict[str, Array]:
    """Return bounds and p-values by stories, and by annotators where these are drawn.

    `contrasts` are the weights of people's means in each value.
    """
    errors = Errors(by_story, n - 1)
    if people is not None:
        errors = _with_people(by_story, n, people, np.nan_to_num(contrasts))
    low, high = errors.intervals(value, confidence)
    return {"low": low, "high": high, "p_value": errors.p_values(value)}


def _with_people(
    by_story: Array, n: Array, people: CrossedCovariance, contrasts: Array
) -> Errors:
    ones = np.ones(len(n))
    (of_annotators, annotators), *_stories = people.kinds
    answers, single = people.both
    n_annotators, n_answers = (
        cluster_number(sizes, contrasts) for sizes in (annotators, single)
    )
    both = squared(contrasts, answers)
    by_annotator = squared(contrasts, of_annotators)
    # A method with few stories or people has its line from the others: the prior is not
    # lessened for it, as it is for means (simulated intervals hold).
    kinds = [
        ClusteredVariance(variance, count, ones * _factor(variance, both))
        for variance, count in ((by_story, n), (by_annotator, n_annotators))
    ]
    return joined_errors(kinds, both, n_answers, rank=people.rank)


def _factor(variance: Array, both: Array) -> float:
    """Return how many times the variance by answers that by clusters is."""
    defined = np.isfinite(variance) & (both > 0)
    below = both[defined].sum()
    return float(variance[defined].sum() / below) if below > 0 else 1.0
