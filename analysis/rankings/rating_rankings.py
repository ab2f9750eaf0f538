"""Leaderboards from ratings: plain means, standardised means, a mixed model."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import sparse
from scipy.stats import t

from analysis.inference.resampling import cluster_counts, interval, stream
from analysis.inference.scaling import divided
from analysis.printing import counted
from analysis.rankings.choice_counts import coded
from analysis.rankings.mixed_model import MixedModel, fit_mixed
from analysis.rankings.rank_intervals import rank_intervals, ranks
from analysis.reading.kept_answers import are_means
from analysis.results import Array, Counts, TableRow
from analysis.sentences import chained, sentence
from analysis.tables import MEAN_OF_RATERS

# Means that differ by less are equal up to rounding, as for people's means elsewhere.
SAME = 1e-9
# Numbers held at once while resampling: resamples x cells.
CHUNK = 4_000_000
# A table of which a smaller share is filled is kept sparse.
LEAST_FULL = 0.1
DesignMatrix = Array | sparse.csr_array


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

    @property
    def n_cells(self) -> int:
        """Stories times methods."""
        return self.n_stories * len(self.methods)

    def summed(self, values: Array, groups: Counts, n_groups: int) -> DesignMatrix:
        """Return sums by group and annotator; as a full table unless most are empty."""
        shape = (n_groups, self.n_annotators)
        found = sparse.coo_array((values, (groups, self.annotator)), shape=shape)
        full = found.nnz > LEAST_FULL * n_groups * self.n_annotators
        return found.toarray() if full else found.tocsr()


def rating_leaderboard(
    ratings: pd.DataFrame,
    by_annotator: pd.DataFrame,
    *,
    question: str,
    parts: tuple[str, ...] = ("stories",),
    resamples: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
) -> tuple[list[TableRow], list[str]]:
    r"""Rank methods by their ratings in three ways, side by side.

    Parameters
    ----------
    ratings, by_annotator
        Kept rows of one dimension, and their means over shots and rounds
        (`analysis.reading.cells.annotator_cells`).
    question
        The dimension.
    parts
        Clusters to draw: stories, annotators or units (outputs), or two of them.
    resamples, confidence, seed
        Number of resamples (0 for no intervals but the mixed model's), coverage, seed.

    Returns
    -------
    list of TableRow
        Rows of ``rating_leaderboard``, the highest mean first:

        - ``mean``: mean of the method's cells, each the mean of its annotators;
        - ``standardised``: the same of ratings from which the annotator's mean was
          taken and which were divided by their standard deviation (n - 1), so that
          strict and lavish raters count alike; anew in every resample;
        - ``mixed``: estimated marginal mean of `mixed_model.fit_mixed` with its t
          interval, which holds for other annotators and stories.

        Ranks: 1 is best, equal values share the better one; their intervals are those
        of `rank_intervals.rank_intervals`. ``reason`` says what is missing, and why.
    list of str
        Remarks: which annotators are left out of standardising.

    Notes
    -----
    Where annotators judged different methods, standardising takes away true differences
    between these; the mixed model does not.
    """
    answers = _answers(by_annotator)
    once = np.ones((answers.n_stories, 1)), np.ones((answers.n_annotators, 1))
    plain, standard = _Means(answers, by_cell=False).of(*once)
    plain_drawn, standard_drawn = _resampled(
        answers, parts, resamples, stream(seed, "standings", question)
    )
    reasons, notes = [], []
    are_mean_raters = are_means(ratings)
    if are_mean_raters:
        standard, standard_drawn = np.full_like(standard, np.nan), standard_drawn[:0]
        reasons.append(
            sentence(
                "annotators are not known ({mean} of raters only)", mean=MEAN_OF_RATERS
            )
        )
    else:
        notes += _constant_note(answers)
        if not np.isfinite(standard).any():
            reasons.append(sentence("no annotator gave two different ratings"))
    model = _mixed(answers, known=not are_mean_raters)
    if model.reason and not are_mean_raters:
        reasons.append(model.reason)
    margin = t.ppf((1 + confidence) / 2, model.freedom) * model.errors
    n = ratings.groupby("method").size()
    columns = {
        **_columns("mean", plain[0], plain_drawn, confidence),
        **_columns("standardised", standard[0], standard_drawn, confidence),
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
    return [rows[i] for i in order], notes


def _columns(
    name: str, values: Array, drawn: Array, confidence: float
) -> dict[str, Array]:
    bounds = [interval(column, confidence)[:2] for column in drawn.T]
    low, high = np.array(bounds).reshape(-1, 2).T
    best, worst = rank_intervals(values, drawn, confidence, tolerance=SAME)
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
    """Method means of weighted answers, plain and standardised.

    Parameters
    ----------
    answers
        The answers.
    by_cell
        Whether cells have weights of their own, beside those of their stories.
    """

    def __init__(self, answers: _Answers, *, by_cell: bool) -> None:
        self._answers = answers
        cell, n_cells = answers.cell, answers.n_cells
        # Ratings about their mean: squares do not lose digits.
        self._centre = answers.rating.mean()
        value = answers.rating - self._centre
        ones = np.ones(len(value))
        self._ones = answers.summed(ones, cell, n_cells)
        self._value = answers.summed(value, cell, n_cells)
        # What an annotator's mean and spread need, by cell or summed over a story.
        group = (cell, n_cells) if by_cell else (answers.story, answers.n_stories)
        self._own = [answers.summed(x, *group).T for x in (ones, value, value**2)]

    def of(self, weights: Array, people: Array) -> tuple[Array, Array]:
        """Return plain and standardised means of the methods, each (b, M).

        Parameters
        ----------
        weights
            Shape (cells, b), or (stories, b) unless `by_cell`.
        people
            Shape (A, b): weights of annotators.
        """
        n, total, squares = (table @ weights for table in self._own)
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = total / n
            variance = (squares - n * mean**2) / (n - 1)
            spread = np.sqrt(np.maximum(variance, 0))
            varies = (n > 1) & (spread > SAME)
            own = np.where(varies, people / spread, 0.0)
            shift = np.where(varies, own * mean, 0.0)
            used = self._ones @ np.where(varies, people, 0.0)
            plain = (self._value @ people) / (self._ones @ people)
            standard = (self._value @ own - self._ones @ shift) / used
        answers = self._answers
        first = _over_stories(answers, plain, weights) + self._centre
        return first, _over_stories(answers, standard, weights)


def _resampled(
    answers: _Answers, parts: tuple[str, ...], resamples: int, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Return plain and standardised means of the resamples, each (B, M)."""
    M, S, A = len(answers.methods), answers.n_stories, answers.n_annotators
    by_cell = "units" in parts
    means = _Means(answers, by_cell=by_cell)
    cells = np.unique(answers.cell)
    sizes = {"stories": S, "annotators": A, "units": len(cells)}
    if not any(sizes[part] > 1 for part in parts):
        resamples = 0
    plain, standard = [np.empty((0, M))], [np.empty((0, M))]
    step = max(1, CHUNK // answers.n_cells)
    for start in range(0, resamples, step):
        b = min(step, resamples - start)
        stories, people = np.ones((S, b)), np.ones((A, b))
        if "stories" in parts:
            stories = cluster_counts(S, b, rng).T.astype(float)
        if "annotators" in parts:
            people = cluster_counts(A, b, rng).T.astype(float)
        weights = stories
        if by_cell:
            weights = np.repeat(stories, M, axis=0)
            weights[cells] *= cluster_counts(len(cells), b, rng).T
        found = means.of(weights, people)
        plain.append(found[0])
        standard.append(found[1])
    return np.concatenate(plain), np.concatenate(standard)


def _over_stories(answers: _Answers, values: Array, weights: Array) -> Array:
    """Average cells (S * M, b) over the stories of each method: (b, M)."""
    M, b = len(answers.methods), values.shape[1]
    values = values.reshape(answers.n_stories, M, b)
    known = np.isfinite(values)
    if not known.all():
        values = np.where(known, values, 0.0)
    if weights.shape[0] == answers.n_stories:
        weights = weights[:, None, :]
    else:
        weights = weights.reshape(values.shape)
    total = np.einsum("smb,smb->mb", known, np.broadcast_to(weights, values.shape))
    weighted = np.einsum("smb,smb->mb", values, np.broadcast_to(weights, values.shape))
    return divided(weighted, total).T
