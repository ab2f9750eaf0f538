"""Answers laid out by unit and annotator, for statistics of agreement."""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from scipy import sparse

from analysis.cells import same_within_tolerance
from analysis.people import are_means
from analysis.results import Array, Counts, Mask


@dataclass(frozen=True)
class Reliability:
    """Answers of one question, laid out for agreement.

    Attributes
    ----------
    values
        The V different answers, sorted; 0 to V - 1 for choices.
    counts
        Sparse, shape (U, V): how often each unit got each answer.
    answers
        Shape (U, A): each annotator's answer; NaN where there is none.
    clusters
        Part ("stories", "methods", "units") to the cluster indexes of each
        unit, shape (U, c): c is 2 for the two methods of a pair.
    scale
        Lowest and highest category, or None for the observed ones.
    of_means
        Whether the answers are means over raters, so that nobody is behind one.
    """

    values: Array
    counts: sparse.csr_array
    answers: Array
    clusters: dict[str, Counts]
    scale: tuple[int, int] | None = None
    of_means: bool = False

    @property
    def per_unit(self) -> Array:
        """Number of answers of each unit, m_u."""
        return np.asarray(self.counts.sum(axis=1), float)

    @property
    def pairable(self) -> Mask:
        """Units with two answers or more."""
        return self.per_unit >= 2

    @property
    def complete(self) -> Mask:
        """Units that every annotator answered."""
        return np.asarray(np.isfinite(self.answers).all(axis=1))


def rating_reliability(
    ratings: pd.DataFrame, scale: tuple[int, int] | None = None
) -> Reliability:
    """Lay out the ratings of one dimension.

    Parameters
    ----------
    ratings
        Rows of `analysis.cells.kept_rows`. A unit is what was rated at once: an
        output, or one shot of it, in one round.
    scale
        Lowest and highest rating.
    """
    keys = ["story", "method", *(c for c in ("shot", "round") if c in ratings)]
    return replace(
        _reliability(ratings, keys, "rating", scale), of_means=are_means(ratings)
    )


def choice_reliability(choices: pd.DataFrame) -> Reliability:
    """Lay out the answers of one criterion, methods in alphabetical order.

    A unit is a pair of outputs of one story (in one round).
    """
    codes = np.unique(choices["choice"], return_inverse=True)[1]
    rows = choices.assign(answer=codes.astype(float))
    keys = ["story", "method_a", "method_b", *(c for c in ("round",) if c in rows)]
    return _reliability(rows, keys, "answer", None)


def _reliability(
    rows: pd.DataFrame,
    keys: list[str],
    value: str,
    scale: tuple[int, int] | None,
) -> Reliability:
    units = rows.groupby(keys, sort=True)
    u = units.ngroup().to_numpy(int)
    first = units.head(1).sort_values(keys)
    given = same_within_tolerance(rows[value].to_numpy(float))
    values, v = np.unique(given, return_inverse=True)
    annotators, a = np.unique(rows["annotator"], return_inverse=True)
    counts = sparse.coo_array(
        (np.ones(len(rows)), (u, v)), shape=(len(first), len(values))
    ).tocsr()
    answers = np.full((len(first), len(annotators)), np.nan)
    answers[u, a] = given
    method_columns = [key for key in keys if key.startswith("method")]
    methods = np.unique(first[method_columns].to_numpy(str), return_inverse=True)[1]
    clusters = {
        "stories": _codes(first, ["story"]),
        "methods": methods.reshape(len(first), len(method_columns)),
        # Shots and rounds of one output are drawn together.
        "units": _codes(first, ["story", *method_columns]),
    }
    return Reliability(values, counts, answers, clusters, scale)


def _codes(rows: pd.DataFrame, keys: list[str]) -> Counts:
    return np.asarray(rows.groupby(keys, sort=True).ngroup(), int)[:, None]
