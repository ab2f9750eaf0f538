"""Leaderboards from ratings: plain means, standardised means, a mixed model."""

from itertools import combinations

import numpy as np
import pandas as pd

from analysis.inference.crossed_clusters import Errors
from analysis.options import Scale
from analysis.printing import counted
from analysis.rankings.method_means import Answers, Means, answers_of, scaled_intervals
from analysis.rankings.mixed_model import MixedModel, fit_mixed
from analysis.rankings.standings import method_gaps, ranks
from analysis.reading.cells import rated_grid
from analysis.reading.kept_answers import are_means
from analysis.results import Array, TableRow
from analysis.sentences import chained, sentence
from analysis.tables import MEAN_OF_RATERS

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


def story_wins(by_annotator: pd.DataFrame, *, question: str) -> list[TableRow]:
    """Count the stories in which people's mean of one method is above another's."""
    grid = rated_grid(question, by_annotator)
    found: list[TableRow] = []
    for a, b in combinations(range(len(grid.methods)), 2):
        both = grid.cells[:, a] & grid.cells[:, b]
        if not both.any():
            continue
        apart = grid.human[both, a] - grid.human[both, b]
        found.append(
            {
                "question": question,
                "method_a": grid.methods[a],
                "method_b": grid.methods[b],
                "wins_a": int((apart > 0).sum()),
                "ties": int((apart == 0).sum()),
                "wins_b": int((apart < 0).sum()),
                "n_stories": int(both.sum()),
            }
        )
    return found
