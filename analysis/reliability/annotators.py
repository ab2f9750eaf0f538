"""Each annotator against the others: correlation, severity, shares."""

from typing import Unpack

import numpy as np
import pandas as pd
from scipy import sparse

from analysis.inference.scaling import divided
from analysis.options import Sampling
from analysis.reading.cells import same_within_tolerance
from analysis.reading.kept_rows import key_texts
from analysis.reliability.annotator_statistics import (
    AnnotatorMeasure,
    Sheet,
    mean_measure,
    renumbered,
    sheet_rows,
    summed,
)
from analysis.reliability.icc import (
    LARGEST_TABLE,
    correlate_tables,
    correlate_weighted,
)
from analysis.reliability.matrices import (
    Reliability,
    choice_reliability,
    rating_reliability,
)
from analysis.results import Array, Counts, TableRow
from analysis.sentences import sentence

ALONE = sentence("nobody else answered the same units")
ONE_VALUE = sentence("the own ratings are all the same")
NO_SIDE = sentence("no answer has a winner and a known left side")
NO_MAJORITY = sentence("the others have no majority anywhere")
ONE_REST = sentence("the others' means are all the same")


def rating_annotators(
    ratings: pd.DataFrame,
    *,
    part: str = "units",
    **sampling: Unpack[Sampling],
) -> list[TableRow]:
    """Hold each annotator's ratings against those of the others.

    Parameters
    ----------
    ratings
        Kept rows, of any number of dimensions.
    part
        What is drawn of the annotator's answers: ``"units"`` (outputs, with all shots
        and rounds) or ``"stories"``, faster where there are many outputs.
    resamples, confidence, seed
        Number of resamples (0 for no intervals), coverage, seed.

    Returns
    -------
    list of Row
        Rows of ``annotators``, by dimension, annotator and statistic:

        - ``n_answers``: how many ratings the annotator gave;
        - ``spearman_others``, ``kendall_others`` (tau-b): correlation with the mean of
          the others, on units that at least one other person rated;
        - ``severity``: mean of the own rating minus the others' mean there; negative
          is strict;
        - ``exact_agreement``: share of the others' ratings equal to the own, averaged
          over these units;
        - ``sd`` (n - 1) and ``most_frequent_share``: spread of all own ratings, and the
          share of the commonest one. Near 0 and near 1 they tell of somebody who
          always gives the same answer.

        None for ratings that are means over raters.

    Notes
    -----
    Intervals draw the annotator's outputs or stories with replacement. They hold for
    this panel: the others stay as they are. Annotators with equally many of them share
    their draws.
    """
    sheets: list[Sheet] = []
    for name, rows in ratings.groupby("dimension", sort=True):
        data = rating_reliability(rows)
        if not data.of_means:
            sheets += _rating_sheets(str(name), data, part)
    return sheet_rows(sheets, **sampling)


def choice_annotators(
    choices: pd.DataFrame, **sampling: Unpack[Sampling]
) -> list[TableRow]:
    """Hold each annotator's side-by-side answers against those of the others.

    Parameters
    ----------
    choices
        Kept rows, methods in alphabetical order, of any number of criteria.
    resamples, confidence, seed
        As of `rating_annotators`; pairs of outputs are drawn.

    Returns
    -------
    list of Row
        Rows of ``annotators``, by criterion, annotator and statistic:

        - ``n_answers``;
        - ``majority_agreement``: share of equal answers where more than half of the
          others gave one answer; units without such a majority are left out;
        - ``exact_agreement``: share of the others' answers equal to the own;
        - ``tie_share``: answers without a winner (tie, both bad);
        - ``left_share``: how often the left side won, of the answers with a winner;
          only where the table has ``left_method``. 0.5 is no preference of a side.
    """
    sheets: list[Sheet] = []
    for name, rows in choices.groupby("criterion", sort=True):
        sheets += _choice_sheets(str(name), rows)
    return sheet_rows(sheets, **sampling)


def _rating_sheets(question: str, data: Reliability, part: str) -> list[Sheet]:
    own = data.values[data.codes]
    others = data.per_unit[data.units] - 1
    shared = others > 0
    total = np.bincount(data.units, own, minlength=data.n_units)[data.units]
    rest = same_within_tolerance((total - own) / np.maximum(others, 1))
    equal = _equal_share(data)
    sheets = []
    for a, rows in enumerate(_by_annotator(data)):
        clusters = renumbered(data.clusters[part][data.units[rows], 0])
        n, here = int(clusters.max()) + 1, shared[rows]
        x, z, e = own[rows], rest[rows], equal[rows]
        measures = [
            _correlations(x[here], z[here], clusters[here], n),
            mean_measure("severity", x - z, clusters, used=here, reason=ALONE),
            mean_measure("exact_agreement", e, clusters, used=here, reason=ALONE),
            _spread(x, clusters),
            _commonest(x, clusters),
        ]
        sheets.append(Sheet(question, data.names[a], len(rows), n, measures))
    return sheets


def _choice_sheets(question: str, choices: pd.DataFrame) -> list[Sheet]:
    data = choice_reliability(choices)
    others = data.per_unit[data.units] - 1
    equal = _equal_share(data)
    counts = data.counts.toarray()[data.units]
    counts[np.arange(len(counts)), data.codes] -= 1
    decided = counts.max(axis=1) * 2 > others
    agrees = counts.argmax(axis=1) == data.codes
    choice = choices["choice"].to_numpy(str)
    won = (choice == "a") | (choice == "b")
    left, sided = None, won
    if "left_method" in choices:
        winner = np.where(choice == "a", choices["method_a"], choices["method_b"])
        shown = key_texts(choices["left_method"]).to_numpy(str)
        left, sided = shown == winner.astype(str), won & (shown != "")
    sheets = []
    for a, rows in enumerate(_by_annotator(data)):
        clusters = renumbered(data.clusters["units"][data.units[rows], 0])
        here = others[rows] > 0
        none = NO_MAJORITY if here.any() else ALONE
        measures = [
            mean_measure(
                "majority_agreement",
                agrees[rows],
                clusters,
                used=decided[rows],
                reason=none,
            ),
            mean_measure(
                "exact_agreement", equal[rows], clusters, used=here, reason=ALONE
            ),
            mean_measure("tie_share", ~won[rows], clusters),
        ]
        if left is not None:
            measures.append(
                mean_measure(
                    "left_share", left[rows], clusters, used=sided[rows], reason=NO_SIDE
                )
            )
        n = int(clusters.max()) + 1
        sheets.append(Sheet(question, data.names[a], len(rows), n, measures))
    return sheets


def _by_annotator(data: Reliability) -> list[Counts]:
    """Return the rows of each annotator's answers."""
    order = np.argsort(data.annotators, kind="stable")
    ends = np.cumsum(np.bincount(data.annotators, minlength=data.n_annotators))
    return np.split(order, ends[:-1])


def _equal_share(data: Reliability) -> Array:
    """Share of the others' answers to the unit that equal each answer; 0 if none."""
    key = data.units * len(data.values) + data.codes
    _, cell, times = np.unique(key, return_inverse=True, return_counts=True)
    others = data.per_unit[data.units] - 1
    return np.where(others > 0, (times[cell] - 1) / np.maximum(others, 1), 0.0)


def _spread(x: Array, clusters: Counts) -> AnnotatorMeasure:
    centred = x - x.mean()
    sums = summed(np.stack([np.ones(len(x)), centred, centred**2]), clusters)

    def compute(counts: Array) -> list[Array]:
        n, first, second = sums @ counts
        square = np.maximum(second - first**2 / n, 0.0)  # no cluster is empty
        return [np.sqrt(divided(square, n - 1))]

    return AnnotatorMeasure(
        ("sd",), compute, len(x), "" if len(x) > 1 else sentence("only one rating")
    )


def _commonest(x: Array, clusters: Counts) -> AnnotatorMeasure:
    values = np.unique(x, return_inverse=True)[1]
    by_value = sparse.coo_array((np.ones(len(x)), (values, clusters))).tocsr()

    def compute(counts: Array) -> list[Array]:
        found = np.asarray(by_value @ counts)
        return [divided(found.max(axis=0), found.sum(axis=0))]

    return AnnotatorMeasure(("most_frequent_share",), compute, len(x))


def _correlations(x: Array, z: Array, clusters: Counts, n: int) -> AnnotatorMeasure:
    """Correlate own ratings x with the others' means z, from a table of both."""
    reason = ""
    if len(x) == 0:
        reason = ALONE
    elif np.ptp(x) == 0:
        reason = ONE_VALUE if len(x) > 1 else sentence("only one rating")
    elif np.ptp(z) == 0:
        reason = ONE_REST
    rows, columns = renumbered(x), renumbered(z)
    shape = (int(rows.max(initial=0)) + 1, int(columns.max(initial=0)) + 1)
    into = None
    if shape[0] * shape[1] <= LARGEST_TABLE:
        into = sparse.coo_array(
            (np.ones(len(x)), (rows * shape[1] + columns, clusters)),
            shape=(shape[0] * shape[1], n),
        ).tocsr()

    def compute(counts: Array) -> list[Array]:
        if into is None:
            found = correlate_weighted(x, z, counts[clusters].T)
        else:
            found = correlate_tables(np.asarray(into @ counts).reshape(*shape, -1))
        return [found["spearman"], found["kendall"]]

    return AnnotatorMeasure(
        ("spearman_others", "kendall_others"), compute, len(x), reason
    )
