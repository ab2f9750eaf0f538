"""Means of people's ratings by method, and leaderboards made of them."""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from scipy import sparse

from analysis.inference.crossed_clusters import (
    Cluster,
    ClusteredVariance,
    CrossedCovariance,
    Errors,
    crossed_covariance,
    drawn_clusters,
    joined_errors,
    share_intervals,
    widened_clusters,
)
from analysis.options import Scale
from analysis.rankings.choice_votes import coded, kinds_drawn
from analysis.rankings.standings import method_gaps, ranks
from analysis.reading.kept_answers import are_means
from analysis.results import Array, Counts, Estimate, TableRow


@dataclass(frozen=True)
class MethodMean:
    """One method's mean rating on one dimension."""

    method: str
    mean: Estimate
    sd_annotators: float
    n_ratings: int | None
    n_annotators: int | None


def mean_ratings(
    ratings: pd.DataFrame,
    by_annotator: pd.DataFrame,
    *,
    parts: tuple[str, ...],
    confidence: float,
    scale: Scale | None = None,
) -> list[MethodMean]:
    """Average the cells of every method, and describe the ratings."""
    means = estimated_means(
        by_annotator, parts=parts, confidence=confidence, scale=scale
    )
    own = by_annotator.groupby(["method", "annotator"])["rating"].mean()
    spread = own.groupby("method").std(ddof=1)
    people = own.groupby("method").size()
    n = ratings.groupby("method").size()
    counted = not are_means(ratings)
    return [
        MethodMean(
            method,
            mean,
            float(spread[method]),
            int(n[method]) if counted else None,
            int(people[method]) if counted else None,
        )
        for method, mean in means.items()
    ]


def estimated_means(
    by_annotator: pd.DataFrame,
    *,
    parts: tuple[str, ...],
    confidence: float,
    scale: Scale | None = None,
) -> dict[str, Estimate]:
    """Average the cells of every method."""
    answers = answers_of(by_annotator)
    found = mean_estimates(answers, parts, confidence, scale)
    if (by_annotator["story"] == "").any():
        found = [replace(mean, n=0) for mean in found]
    return dict(zip(answers.methods, found, strict=True))


@dataclass(frozen=True)
class Answers:
    """Each annotator's mean rating of each output, of one dimension.

    `weight` is how much each story counts, by default all the same.
    """

    methods: tuple[str, ...]
    n_stories: int
    n_annotators: int
    method: Counts
    story: Counts
    annotator: Counts
    rating: Array
    weight: Array | None = None

    @property
    def cell(self) -> Counts:
        """The cell (story, method) of each rating."""
        return self.story * len(self.methods) + self.method


def answers_of(by_annotator: pd.DataFrame) -> Answers:
    """Code each annotator's mean ratings of one dimension, sorted."""
    method, methods = coded(by_annotator["method"])
    story, stories = coded(by_annotator["story"])
    annotator, annotators = coded(by_annotator["annotator"])
    rating = by_annotator["rating"].to_numpy(float)
    order = np.lexsort((annotator, method, story))
    return Answers(
        tuple(methods),
        len(stories),
        len(annotators),
        method[order],
        story[order],
        annotator[order],
        rating[order],
    )


def mean_estimates(
    answers: Answers,
    parts: tuple[str, ...],
    confidence: float,
    scale: Scale | None = None,
) -> list[Estimate]:
    """Return the mean of each method, with the number of its cells."""
    means = Means(answers)
    low, high = means.intervals(parts, confidence, scale)
    each = zip(means.value, low, high, means.n_cells, strict=True)
    return [Estimate(float(m), float(a), float(b), int(n)) for m, a, b, n in each]


class Means:
    """Means of the methods: each that of its cells, and a cell's that of its ratings.

    `share` is how much of its method's mean each rating is.
    """

    def __init__(self, answers: Answers) -> None:
        self._answers = answers
        cells, self._cell = np.unique(answers.cell, return_inverse=True)
        size = np.bincount(self._cell)
        self._of_cell = np.bincount(self._cell, answers.rating) / size
        M = len(answers.methods)
        self.n_cells = np.bincount(cells % M, minlength=M)
        weight = np.ones(len(cells))
        if answers.weight is not None:
            weight = answers.weight[cells // M]
        total = np.bincount(cells % M, weight, minlength=M)
        self.value = np.bincount(cells % M, weight * self._of_cell, minlength=M) / total
        self.share = (weight / size)[self._cell] / total[answers.method]
        self._model = np.bincount(cells % M, weight**2, minlength=M) / total**2

    def covariance(self, parts: tuple[str, ...]) -> CrossedCovariance | None:
        """Return their covariance where clusters are drawn; None if nothing is.

        A method can have few of the clusters: it is held against its own others.
        """
        if not parts:
            return None
        drawn, adds = self._drawn(parts)
        n, M = len(adds), len(self.value)
        differences = np.eye(M) - 1 / M
        model = differences @ np.diag(self._model) @ differences
        at = np.arange(n), self._answers.method
        return crossed_covariance(
            sparse.csr_array((adds, at), shape=(n, M)),
            at[0],
            drawn,
            rank=max(M - 1, 1),
            model=model,
            weights=sparse.csr_array((self.share, at), shape=(n, M)),
        )

    def intervals(
        self, parts: tuple[str, ...], confidence: float, scale: Scale | None
    ) -> tuple[Array, Array]:
        """Return the bounds of each mean; NaN where nothing is drawn, or varies."""
        errors = self.errors(parts)
        if errors is None:
            M = len(self.value)
            return np.full(M, np.nan), np.full(M, np.nan)
        return scaled_intervals(self.value, errors, confidence, scale)

    def errors(self, parts: tuple[str, ...]) -> Errors | None:
        """Return the errors of the means; None if nothing is drawn."""
        # Stories that are rated high move means together, and methods can have few
        # stories each: a mean is known from its own clusters alone.
        drawn, adds = self._drawn(parts)
        kinds, both = drawn_clusters(drawn, len(adds))
        if not kinds:
            return None
        *found, single = (self._by_cluster(adds, kind) for kind in (*kinds, both))
        return joined_errors(found, single.variance, single.n, rank=1)

    def _by_cluster(self, adds: Array, cluster: Cluster) -> ClusteredVariance:
        codes, n = cluster
        M = len(self.value)
        keys, at = np.unique(self._answers.method * n + codes, return_inverse=True)
        of = keys // n
        wide = widened_clusters(np.bincount(at, self.share), of, M)
        single = np.bincount(at, self.share**2)
        variance, total, squares = (
            np.asarray(np.bincount(of, part, minlength=M), float)
            for part in ((np.bincount(at, adds) * wide) ** 2, single, single**2)
        )
        return ClusteredVariance(variance, total**2 / squares, np.ones(M))

    def _drawn(self, parts: tuple[str, ...]) -> tuple[list[Cluster], Array]:
        """Return the clusters to draw, and what each rating adds to its mean."""
        answers = self._answers
        clusters = {
            "stories": (answers.story, answers.n_stories),
            "annotators": (answers.annotator, answers.n_annotators),
            "units": (self._cell, len(self._of_cell)),
        }
        around = self.value[answers.method]
        if {*parts} == {"annotators"}:
            around = self._of_cell[self._cell]
        return kinds_drawn(clusters, parts), self.share * (answers.rating - around)


def scaled_intervals(
    values: Array, errors: Errors, confidence: float, scale: Scale | None
) -> tuple[Array, Array]:
    """Return the bounds of means, inside their scale where that is known."""
    low, high = errors.intervals(values, confidence)
    if scale is None:
        return low, high
    least, width = scale[0], scale[1] - scale[0]
    shares = (values - least) / width
    varies = np.isfinite(low) & (shares > 0) & (shares < 1)
    n = shares[varies] * (1 - shares[varies]) / errors.variance[varies] * width**2
    bounds = share_intervals(shares[varies], n, errors.quantiles(confidence)[varies])
    low[varies], high[varies] = (least + width * bound for bound in bounds)
    inside = (shares >= 0) & (shares <= 1)
    low[inside], high[inside] = (np.clip(x[inside], *scale) for x in (low, high))
    return low, high


# Means that differ by less are equal up to rounding, as for people's means elsewhere.
SAME = 1e-9


def mean_ranks(
    by_annotator: pd.DataFrame, *, parts: tuple[str, ...], confidence: float
) -> tuple[dict[str, TableRow], list[TableRow]]:
    """Return the rank of every method by its mean rating, and all comparisons.

    The ranks that a method may have follow from the comparisons.
    """
    answers = answers_of(by_annotator)
    means = Means(answers)
    M = len(answers.methods)
    best, worst = np.full((2, M), np.nan)
    compared: list[TableRow] = []
    covariance = means.covariance(parts)
    if covariance is not None:
        gaps = method_gaps(means.value, covariance, confidence)
        best, worst = gaps.settled_ranks(confidence)
        compared = gaps.rows(answers.methods)
    columns = {
        "rank": ranks(means.value, tolerance=SAME),
        "rank_low": best,
        "rank_high": worst,
    }
    placed: dict[str, TableRow] = {
        method: {name: float(values[i]) for name, values in columns.items()}
        for i, method in enumerate(answers.methods)
    }
    return placed, compared
