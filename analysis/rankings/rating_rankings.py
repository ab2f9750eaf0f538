"""Leaderboards from ratings: plain means, standardised means, a mixed model."""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from scipy import sparse
from scipy.stats import t

from analysis.inference.crossed_clusters import CrossedCovariance, crossed_covariance
from analysis.printing import counted
from analysis.rankings.choice_counts import coded, kinds_drawn
from analysis.rankings.compared_methods import method_gaps
from analysis.rankings.mixed_model import MixedModel, fit_mixed
from analysis.rankings.rank_intervals import ranks
from analysis.reading.kept_answers import are_means
from analysis.results import Array, Counts, TableRow
from analysis.sentences import chained, sentence
from analysis.tables import MEAN_OF_RATERS

# Means that differ by less are equal up to rounding, as for people's means elsewhere.
SAME = 1e-9


@dataclass(frozen=True)
class _Answers:
    """Each annotator's mean rating of each output, of one dimension.

    Attributes
    ----------
    methods
        M names, sorted.
    n_stories, n_annotators
        S and A.
    method, story, annotator
        Shape (n,): codes.
    rating
        Shape (n,).
    """

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


def rating_leaderboard(
    ratings: pd.DataFrame,
    by_annotator: pd.DataFrame,
    *,
    question: str,
    parts: tuple[str, ...] = ("stories", "annotators"),
    confidence: float = 0.95,
) -> tuple[list[TableRow], list[TableRow], list[str]]:
    r"""Rank methods by their ratings in three ways, side by side.

    Parameters
    ----------
    ratings, by_annotator
        Kept rows of one dimension, and their means over shots and rounds
        (`analysis.reading.cells.annotator_cells`).
    question
        The dimension.
    parts
        What other ratings are thought of: of other stories, annotators or units
        (outputs), or two of them; none: no intervals but the mixed model's.
    confidence
        Coverage of the intervals.

    Returns
    -------
    list of TableRow
        Rows of ``rating_leaderboard``, the highest mean first:

        - ``mean``: mean of the method's cells, each the mean of its annotators;
        - ``standardised``: the same of ratings from which the annotator's mean was
          taken and which were divided by their standard deviation (n - 1), so that
          strict and lavish raters count alike;
        - ``mixed``: estimated marginal mean of `mixed_model.fit_mixed` with its t
          interval, which holds for other annotators and stories.

        Ranks: 1 is best, equal values share the better one; their intervals are those
        of `compared_methods.MethodGaps.settled_ranks`. ``reason`` says what is missing,
        and why.
    list of TableRow
        Rows of ``method_comparisons``: every two methods by their means.
    list of str
        Remarks: which annotators are left out of standardising.

    Notes
    -----
    Where annotators judged different methods, standardising takes away true differences
    between these; the mixed model does not. What ratings are standardised by is taken
    as known: in intervals it does not vary.
    """
    answers = _answers(by_annotator)
    plain = _Means(answers, answers.rating)
    standard = _Means(answers, _standardised(answers))
    reasons, notes = [], []
    are_mean_raters = are_means(ratings)
    if are_mean_raters:
        standard = _Means(answers, np.full(len(answers.rating), np.nan))
        reasons.append(
            sentence(
                "annotators are not known ({mean} of raters only)", mean=MEAN_OF_RATERS
            )
        )
    else:
        notes += _constant_note(answers)
        if not np.isfinite(standard.value).any():
            reasons.append(sentence("no annotator gave two different ratings"))
    model = _mixed(answers, known=not are_mean_raters)
    if model.reason and not are_mean_raters:
        reasons.append(model.reason)
    margin = t.ppf((1 + confidence) / 2, model.freedom) * model.errors
    n = ratings.groupby("method").size()
    columns = {
        **_columns("mean", plain, parts, confidence),
        **_columns("standardised", standard, parts, confidence),
        "mixed": model.means,
        "mixed_low": model.means - margin,
        "mixed_high": model.means + margin,
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
    compared = [about | row for row in plain.comparisons(parts, confidence)]
    return [rows[i] for i in order], compared, notes


def _columns(
    name: str, means: "_Means", parts: tuple[str, ...], confidence: float
) -> dict[str, Array]:
    values, M = means.value, len(means.value)
    low, high, best, worst = np.full((4, M), np.nan)
    covariance = means.covariance(parts)
    if covariance is not None:
        # Stories that are rated high move means together, which says nothing of how
        # far a mean moves alone.
        alone = replace(covariance, rank=1)
        low, high = alone.of(np.eye(M)).intervals(values, confidence)
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


def _answers(by_annotator: pd.DataFrame) -> _Answers:
    method, methods = coded(by_annotator["method"])
    story, stories = coded(by_annotator["story"])
    annotator, annotators = coded(by_annotator["annotator"])
    rating = by_annotator["rating"].to_numpy(float)
    order = np.lexsort((annotator, method, story))
    return _Answers(
        tuple(methods),
        len(stories),
        len(annotators),
        method[order],
        story[order],
        annotator[order],
        rating[order],
    )


def _mixed(answers: _Answers, *, known: bool) -> MixedModel:
    if not known:
        none = np.full(len(answers.methods), np.nan)
        return MixedModel(none, none, none, reason=sentence("annotators are not known"))
    return fit_mixed(answers.rating, answers.method, answers.story, answers.annotator)


def _constant_note(answers: _Answers) -> list[str]:
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


class _Means:
    """Means of the methods: each the mean of its cells, each that of its ratings.

    Parameters
    ----------
    answers
        The answers.
    values
        Shape (n,): theirs, NaN where one has none.
    """

    def __init__(self, answers: _Answers, values: Array) -> None:
        kept = np.isfinite(values)
        self._answers, self._kept, self._values = answers, kept, values[kept]
        cell, self._method = answers.cell[kept], answers.method[kept]
        cells, self._cell = np.unique(cell, return_inverse=True)
        size = np.bincount(self._cell)
        self._of_cell = np.bincount(self._cell, self._values) / size
        M = len(answers.methods)
        n_cells = np.bincount(cells % M, minlength=M)
        total = np.bincount(cells % M, self._of_cell, minlength=M)
        self.value = np.divide(total, n_cells, np.full(M, np.nan), where=n_cells > 0)
        self._share = 1 / (size[self._cell] * n_cells[self._method])

    def covariance(self, parts: tuple[str, ...]) -> CrossedCovariance | None:
        """Return their covariance where clusters are drawn; None if nothing is.

        Where these keep the stories, ratings scatter around the means of their cells,
        else around those of their methods.
        """
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
            added, n, kinds, rank=max(M - 1, 1), model=differences
        )

    def comparisons(self, parts: tuple[str, ...], confidence: float) -> list[TableRow]:
        """Compare every two methods."""
        covariance = self.covariance(parts)
        if covariance is None:
            return []
        gaps = method_gaps(self.value, covariance, confidence)
        return gaps.rows(self._answers.methods)


def _standardised(answers: _Answers) -> Array:
    """Take the annotator's mean from each rating, and divide by their spread.

    NaN of annotators who always gave the same.
    """
    who, value, A = answers.annotator, answers.rating, answers.n_annotators
    value = value - value.mean()
    n = np.bincount(who, minlength=A)
    mean = np.bincount(who, value, minlength=A) / n
    away = value - mean[who]
    squares = np.bincount(who, away**2, minlength=A)
    with np.errstate(invalid="ignore", divide="ignore"):
        spread = np.sqrt(squares / (n - 1))
        return np.where(spread[who] > SAME, away / spread[who], np.nan)
