"""Agreement of each two annotators: who answers alike, and who stands apart."""

from dataclasses import replace
from itertools import combinations
from typing import Unpack

import numpy as np
import pandas as pd
from scipy import sparse

from analysis.options import Sampling
from analysis.reliability.agreement import agreement
from analysis.reliability.matrices import Reliability
from analysis.reliability.ranking_agreement import STATISTIC, ranking_agreement
from analysis.results import Counts, Estimate, TableRow, undefined
from analysis.sentences import sentence

# Fewer common units say nothing of two people.
FEW_UNITS = 10
TOO_FEW = sentence("fewer than {n} units that both answered", n=FEW_UNITS)
# Of more pairs intervals would take longer than all else,
MOST_DRAWN = 500
NOT_DRAWN = sentence("no interval: of more than {n} pairs none is drawn", n=MOST_DRAWN)
# and of still more only those with a value have a row.
MOST_PAIRS = 2000


def annotator_pairs(
    data: Reliability,
    statistic: str,
    *,
    question: str,
    parts: tuple[str, ...] = ("units",),
    **sampling: Unpack[Sampling],
) -> list[TableRow]:
    """Return the agreement of each two annotators who answered a unit in common.

    Parameters
    ----------
    data
        Answers of one question.
    statistic
        A key of `analysis.reliability.agreement.STATISTICS`.
    question
        Its name.
    parts
        Clusters to draw: units, stories or methods.
    resamples, confidence, seed
        Number of resamples (0 for no intervals), coverage, seed.

    Returns
    -------
    list of Row
        Rows of ``annotator_pairs``, names in alphabetical order: the statistic of all
        annotators, over the answers of two to the `n` units that both answered. Below
        `FEW_UNITS` of these there is no value, of more than `MOST_DRAWN` pairs there
        is no interval, and of more than `MOST_PAIRS` only those with a value have a
        row. None of ratings that are means over raters.

    Examples
    --------
    >>> from analysis.reliability.matrices import rating_reliability
    >>> stories = [f"s{i}" for i in range(10)] * 2
    >>> rows = pd.DataFrame({"story": stories, "method": "m", "rating": [1, 2] * 10,
    ...     "annotator": ["Ann"] * 10 + ["Bob"] * 10})
    >>> (row,) = annotator_pairs(rating_reliability(rows), "alpha_ordinal",
    ...     question="q", resamples=0, confidence=0.95, seed=0)
    >>> row["annotator_a"], row["annotator_b"], row["value"], row["n"]
    ('Ann', 'Bob', 1.0, 10)
    """
    met = _met(data)
    if len(met) > MOST_PAIRS:
        met = {pair: n for pair, n in met.items() if n >= FEW_UNITS}
    why = ""
    if sampling["resamples"] and len(met) > MOST_DRAWN:
        sampling["resamples"], why = 0, NOT_DRAWN
    own = _by_annotator(data)
    rows = []
    for (a, b), n in met.items():
        names = data.names[a], data.names[b]
        found = undefined(TOO_FEW, n=n)
        if n >= FEW_UNITS:
            two = _of_two(data, own[a], own[b])
            (one,) = agreement(
                two, (statistic,), parts=parts, question=question, **sampling
            )
            found = replace(one.estimate, reason=one.estimate.reason or why)
        rows.append(_row(question, names, statistic, found))
    return rows


def ranking_pairs(
    rankings: pd.DataFrame, *, question: str, **sampling: Unpack[Sampling]
) -> list[TableRow]:
    """Return how alike each two annotators rank, as `ranking_agreement` of them alone.

    Parameters
    ----------
    rankings
        Kept rows of one criterion.
    question
        The criterion.
    resamples, confidence, seed
        As of `ranking_agreement`, which draws stories.

    Returns
    -------
    list of Row
        As of `annotator_pairs`; units are pairs of outputs that both ranked.
    """
    rows = []
    by_annotator = {str(name): own for name, own in rankings.groupby("annotator")}
    for names in combinations(sorted(by_annotator), 2):
        two = pd.concat([by_annotator[name] for name in names])
        one = ranking_agreement(two, question=question, **sampling)
        n = int(str(one["n_units"]))
        found = undefined(TOO_FEW, n=n)
        if n >= FEW_UNITS:
            value, low, high = (float(str(one[k])) for k in ("value", "low", "high"))
            found = Estimate(value, low, high, n, reason=str(one["reason"]))
        if n:
            rows.append(_row(question, names, STATISTIC, found))
    return rows


def _met(data: Reliability) -> dict[tuple[int, int], int]:
    """Return how many units each two annotators answered both, where there are any."""
    shape = (data.n_annotators, data.n_units)
    ones = np.ones(len(data.units), int)
    answered = sparse.coo_array((ones, (data.annotators, data.units)), shape).tocsr()
    common = sparse.coo_array(sparse.triu(answered @ answered.T, 1))
    first, second = (each.tolist() for each in common.coords)
    found = zip(zip(first, second, strict=True), common.data.tolist(), strict=True)
    return dict(sorted(found))


def _by_annotator(data: Reliability) -> list[Counts]:
    """Return the rows of each annotator's answers, units in order."""
    order = np.lexsort((data.units, data.annotators))
    ends = np.cumsum(np.bincount(data.annotators, minlength=data.n_annotators))
    return np.split(order, ends[:-1])


def _of_two(data: Reliability, first: Counts, second: Counts) -> Reliability:
    """Return the answers of two annotators to the units that both answered."""
    units, here, there = np.intersect1d(
        data.units[first], data.units[second], assume_unique=True, return_indices=True
    )
    n, rows = len(units), np.concatenate([first[here], second[there]])
    return replace(
        data,
        units=np.tile(np.arange(n), 2),
        annotators=np.repeat([0, 1], n),
        codes=data.codes[rows],
        n_units=n,
        names=tuple(data.names[data.annotators[each[0]]] for each in (first, second)),
        clusters={part: codes[units] for part, codes in data.clusters.items()},
    )


def _row(
    question: str, names: tuple[str, ...], statistic: str, found: Estimate
) -> TableRow:
    return {
        "question": question,
        "annotator_a": names[0],
        "annotator_b": names[1],
        "statistic": statistic,
        **found.columns(),
    }
