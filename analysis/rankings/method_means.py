"""Means of people's ratings by method, and leaderboards made of them."""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from scipy import sparse

from analysis.inference.crossed_clusters import (
    CrossedCovariance,
    Errors,
    crossed_covariance,
    share_intervals,
)
from analysis.options import Scale
from analysis.rankings.choice_votes import coded, kinds_drawn
from analysis.rankings.mixed_model import MixedModel, fit_mixed
from analysis.rankings.standings import method_gaps, ranks
from analysis.reading.kept_answers import are_means
from analysis.results import Array, Counts, Estimate, TableRow
from analysis.sentences import chained, counted, sentence
from analysis.tables import MEAN_OF_RATERS


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
    """Average the cells of every method."""
    answers = answers_of(by_annotator)
    means = Means(answers, answers.rating)
    low, high = means.intervals(parts, confidence, scale)
    own = by_annotator.groupby(["method", "annotator"])["rating"].mean()
    spread = own.groupby("method").std(ddof=1)
    people = own.groupby("method").size()
    n = ratings.groupby("method").size()
    has_stories = bool((by_annotator["story"] != "").all())
    counted = not are_means(ratings)
    return [
        MethodMean(
            method,
            Estimate(
                float(means.value[i]),
                float(low[i]),
                float(high[i]),
                n=int(means.n_cells[i]) if has_stories else 0,
            ),
            float(spread[method]),
            int(n[method]) if counted else None,
            int(people[method]) if counted else None,
        )
        for i, method in enumerate(answers.methods)
    ]


@dataclass(frozen=True)
class Answers:
    """Each annotator's mean rating of each output, of one dimension."""

    methods: tuple[str, ...]
    n_stories: int
    n_annotators: int
    method: Counts
    story: Counts
    annotator: Counts
    rating: Array

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


class Means:
    """Means of the methods: each the mean of its cells, each that of its ratings."""

    def __init__(self, answers: Answers, values: Array) -> None:
        kept = np.isfinite(values)
        self._answers, self._kept, self._values = answers, kept, values[kept]
        cell, self._method = answers.cell[kept], answers.method[kept]
        cells, self._cell = np.unique(cell, return_inverse=True)
        size = np.bincount(self._cell)
        self._of_cell = np.bincount(self._cell, self._values) / size
        M = len(answers.methods)
        n_cells = self.n_cells = np.bincount(cells % M, minlength=M)
        total = np.bincount(cells % M, self._of_cell, minlength=M)
        self.value = np.divide(total, n_cells, np.full(M, np.nan), where=n_cells > 0)
        self._share = 1 / (size[self._cell] * n_cells[self._method])

    def covariance(self, parts: tuple[str, ...]) -> CrossedCovariance | None:
        """Return their covariance where clusters are drawn; None if nothing is."""
        if not parts or not np.isfinite(self.value).all():
            return None
        kept, answers, M = self._kept, self._answers, len(self.value)
        clusters = {
            "stories": (answers.story[kept], answers.n_stories),
            "annotators": (answers.annotator[kept], answers.n_annotators),
            "units": (self._cell, len(self._of_cell)),
        }
        around = self.value[self._method]
        if {*parts} == {"annotators"}:
            around = self._of_cell[self._cell]
        n = np.arange(len(self._values))
        added = sparse.csr_array(
            (self._share * (self._values - around), (n, self._method)),
            shape=(len(n), M),
        )
        kinds = kinds_drawn(clusters, parts)
        differences = np.eye(M) - 1 / M
        return crossed_covariance(
            added, n, kinds, rank=max(M - 1, 1), model=differences, weights=self._share
        )

    @property
    def methods(self) -> tuple[str, ...]:
        return self._answers.methods

    def intervals(
        self, parts: tuple[str, ...], confidence: float, scale: Scale | None
    ) -> tuple[Array, Array]:
        """Return the bounds of each mean; NaN where nothing is drawn, or varies."""
        covariance = self.covariance(parts)
        M = len(self.value)
        if covariance is None:
            return np.full(M, np.nan), np.full(M, np.nan)
        # Stories that are rated high move means together, which says nothing of how
        # far a mean moves alone.
        errors = replace(covariance, rank=1).of(np.eye(M))
        return scaled_intervals(self.value, errors, confidence, scale)


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


def rating_leaderboard(
    ratings: pd.DataFrame,
    by_annotator: pd.DataFrame,
    *,
    question: str,
    parts: tuple[str, ...] = ("stories", "annotators"),
    confidence: float = 0.95,
    scale: Scale | None = None,
) -> tuple[list[TableRow], list[TableRow], list[str]]:
    r"""Rank methods by their ratings in three ways, side by side."""
    answers = answers_of(by_annotator)
    plain = Means(answers, answers.rating)
    standard = Means(answers, _standardised(answers))
    reasons, notes = [], []
    are_mean_raters = are_means(ratings)
    if are_mean_raters:
        standard = Means(answers, np.full(len(answers.rating), np.nan))
        reasons.append(
            sentence(
                "annotators are not known ({mean} of raters only)", mean=MEAN_OF_RATERS
            )
        )
    else:
        notes += _constant_note(answers)
        if not np.isfinite(standard.value).any():
            reasons.append(sentence("no annotator gave two different ratings"))
    none = np.full(len(answers.methods), np.nan)
    model = MixedModel(none, none, none)
    if not are_mean_raters:
        model = fit_mixed(
            answers.rating, answers.method, answers.story, answers.annotator
        )
    if model.reason:
        reasons.append(model.reason)
    mixed = Errors(model.errors**2, np.asarray(model.freedom, float))
    mixed_low, mixed_high = scaled_intervals(model.means, mixed, confidence, scale)
    n = ratings.groupby("method").size()
    columns = {
        **_columns("mean", plain, parts, confidence, scale),
        **_columns("standardised", standard, parts, confidence),
        "mixed": model.means,
        "mixed_low": mixed_low,
        "mixed_high": mixed_high,
        "mixed_rank": ranks(model.means, tolerance=SAME),
    }
    rows: list[TableRow] = [
        {
            **{name: float(values[i]) for name, values in columns.items()},
            "question": question,
            "method": method,
            "n_ratings": np.nan if are_mean_raters else int(n[method]),
            "reason": chained("{first}; {second}", reasons) if reasons else "",
        }
        for i, method in enumerate(answers.methods)
    ]
    order = np.lexsort((np.arange(len(rows)), columns["mean_rank"]))
    about: TableRow = {"question": question, "source": "ratings", "part": 1}
    covariance, compared = plain.covariance(parts), []
    if covariance is not None:
        gaps = method_gaps(plain.value, covariance, confidence)
        compared = [about | row for row in gaps.rows(plain.methods)]
    return [rows[i] for i in order], compared, notes


def _columns(
    name: str,
    means: Means,
    parts: tuple[str, ...],
    confidence: float,
    scale: Scale | None = None,
) -> dict[str, Array]:
    values, M = means.value, len(means.value)
    low, high = means.intervals(parts, confidence, scale)
    best, worst = np.full((2, M), np.nan)
    covariance = means.covariance(parts)
    if covariance is not None:
        gaps = method_gaps(values, covariance, confidence)
        best, worst = gaps.settled_ranks(confidence)
    return {
        name: values,
        f"{name}_low": low,
        f"{name}_high": high,
        f"{name}_rank": ranks(values, tolerance=SAME),
        f"{name}_rank_low": best,
        f"{name}_rank_high": worst,
    }


def _constant_note(answers: Answers) -> list[str]:
    """Say how many annotators always gave the same rating."""
    A = answers.n_annotators
    low, high = np.full(A, np.inf), np.full(A, -np.inf)
    np.minimum.at(low, answers.annotator, answers.rating)
    np.maximum.at(high, answers.annotator, answers.rating)
    constant = int((high - low <= SAME).sum())
    if not constant:
        return []
    return [
        sentence(
            "{annotators} of {total} left out of the standardised "
            "means, since all their ratings are the same.",
            annotators=counted(constant, "annotator"),
            total=A,
        )
    ]


def _standardised(answers: Answers) -> Array:
    """Take the annotator's mean from each rating, and divide by their spread."""
    who, value, A = answers.annotator, answers.rating, answers.n_annotators
    value = value - value.mean()
    n = np.bincount(who, minlength=A)
    mean = np.bincount(who, value, minlength=A) / n
    away = value - mean[who]
    squares = np.bincount(who, away**2, minlength=A)
    with np.errstate(invalid="ignore", divide="ignore"):
        spread = np.sqrt(squares / (n - 1))
        return np.where(spread[who] > SAME, away / spread[who], np.nan)
