"""Each annotator against the others: correlation, severity, shares."""

from collections.abc import Iterator
from typing import TypeAlias, Unpack

import numpy as np
import pandas as pd
from scipy import sparse

from analysis.inference.resampling import divided
from analysis.options import Sampling
from analysis.reading.cells import same_within_tolerance
from analysis.reading.column_cleaning import key_texts
from analysis.reliability.matrices import (
    LARGEST_TABLE,
    Reliability,
    choice_reliability,
    correlate_tables,
    correlate_weighted,
    rating_reliability,
)
from analysis.reliability.random_responding import (
    ALONE,
    AnnotatorMeasure,
    Answers,
    Evidence,
    Sheet,
    annotator_rows,
    mean_measure,
    renumbered,
    summed,
)
from analysis.results import Array, Counts, Mask, TableRow
from analysis.sentences import sentence

ONE_VALUE = sentence("the own ratings are all the same")
# What is held against chance of ratings, and of choices.
SPEARMAN, ABOVE_CHANCE = "spearman_others", ("above_chance", "shuffled_agreement")
NO_SIDE = sentence("no answer has a winner and a known left side")
NO_MAJORITY = sentence("the others have no majority anywhere")
ONE_REST = sentence("the others' means are all the same")
# By question and annotator.
AllEvidence: TypeAlias = dict[tuple[str, str], Evidence]


def rating_annotators(
    ratings: pd.DataFrame, *, part: str = "units", **sampling: Unpack[Sampling]
) -> list[TableRow]:
    """Hold each annotator's ratings against those of the others."""
    sheets: list[Sheet] = []
    for name, data, _places in _rated(ratings, part):
        sheets += _rating_sheets(name, data, part)
    evidence = rating_evidence(ratings, part)
    return annotator_rows(sheets, evidence, (SPEARMAN,), sampling)


def rating_evidence(ratings: pd.DataFrame, part: str = "units") -> AllEvidence:
    """Return how each annotator's ratings go with the means of the others."""
    evidence: AllEvidence = {}
    for name, data, places in _rated(ratings, part):
        own, rest, shared = _with_others(data)
        rows = pd.DataFrame({"own": own, "rest": rest})[shared]
        each = rows.groupby(data.annotators[shared])
        ranks = each.rank() - each.transform("size").to_numpy()[:, None] / 2 - 0.5
        spread = ranks.groupby(data.annotators[shared]).transform("std", ddof=0)
        sides = (ranks / spread.where(spread > 0, 1.0)).to_numpy()
        units, clusters = places[:, shared]
        indices = each.indices
        for a, annotator in enumerate(data.names):
            here = np.asarray(indices.get(a, []), int)
            x, z = sides[here, :1], sides[here, 1:]
            if x.any() and z.any():
                asked = Answers(units[here], clusters[here], x, z)
                evidence[name, annotator] = Evidence(SPEARMAN, (asked,))
    return evidence


def _rated(
    ratings: pd.DataFrame, part: str
) -> Iterator[tuple[str, Reliability, Counts]]:
    """Yield each question with its ratings, and unit and cluster of each."""
    keys = [key for key in ("story", "method", "shot", "round") if key in ratings]
    places = _places(ratings, keys, keys[: 1 if part == "stories" else 2])
    for name, rows in _by_question(ratings["dimension"]):
        data = rating_reliability(ratings.iloc[rows])
        if not data.of_means:
            yield name, data, places[:, rows]


def _with_others(data: Reliability) -> tuple[Array, Array, Mask]:
    """Return each rating, the others' mean of its unit, and whether there is one."""
    own = data.values[data.codes]
    others = data.per_unit[data.units] - 1
    total = np.bincount(data.units, own, minlength=data.n_units)[data.units]
    rest = same_within_tolerance((total - own) / np.maximum(others, 1))
    return own, rest, others > 0


def choice_annotators(
    choices: pd.DataFrame, **sampling: Unpack[Sampling]
) -> list[TableRow]:
    """Hold each annotator's side-by-side answers against those of the others."""
    sheets, evidence = choice_sheets(choices)
    return annotator_rows(sheets, evidence, ABOVE_CHANCE, sampling)


def choice_sheets(choices: pd.DataFrame) -> tuple[list[Sheet], AllEvidence]:
    """Return what is measured of each annotator's choices, question by question."""
    sheets: list[Sheet] = []
    evidence: AllEvidence = {}
    keys = ["story", "method_a", "method_b"]
    places = _places(choices, [*keys, *choices.columns.intersection(["round"])], keys)
    for name, rows in _by_question(choices["criterion"]):
        here = choices.iloc[rows]
        sheets += _choice_sheets(str(name), here, places[:, rows], evidence)
    return sheets, evidence


def _by_question(names: pd.Series) -> Iterator[tuple[str, Counts]]:
    """Yield each question, in order, with the places of its rows."""
    for name, places in sorted(names.groupby(names).indices.items()):
        yield str(name), np.asarray(places)


def _places(rows: pd.DataFrame, units: list[str], clusters: list[str]) -> Counts:
    """Return for each answer its unit and cluster, of all questions: shape (2, N)."""
    codes = [rows.groupby(keys, sort=False).ngroup() for keys in (units, clusters)]
    return np.stack(codes)


def _rating_sheets(question: str, data: Reliability, part: str) -> list[Sheet]:
    own, rest, shared = _with_others(data)
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


def _choice_sheets(
    question: str,
    choices: pd.DataFrame,
    places: Counts,
    evidence: AllEvidence,
) -> list[Sheet]:
    data = choice_reliability(choices)
    others = data.per_unit[data.units] - 1
    equal = _equal_share(data)
    gave = np.eye(len(data.values))[data.codes]
    counts = data.counts.toarray()[data.units]
    counts[np.arange(len(counts)), data.codes] -= 1
    shares = divided(counts, others[:, None])
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
        n = int(clusters.max()) + 1
        here = others[rows] > 0
        unit, cluster = places[:, rows[here]]
        asked = Answers(unit, cluster, gave[rows][here], shares[rows][here])
        evidence[question, data.names[a]] = own = Evidence(ABOVE_CHANCE[0], (asked,))
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
            own.measure(ABOVE_CHANCE, clusters[here], n),
            mean_measure("tie_share", ~won[rows], clusters),
        ]
        if left is not None:
            measures.append(
                mean_measure(
                    "left_share", left[rows], clusters, used=sided[rows], reason=NO_SIDE
                )
            )
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

    return AnnotatorMeasure((SPEARMAN, "kendall_others"), compute, len(x), reason)
