"""How alike two annotators rank the same outputs."""

from collections.abc import Callable
from dataclasses import replace
from typing import Unpack, cast

import numpy as np
import pandas as pd
from scipy import sparse

from analysis.inference.resampling import cluster_counts, interval, stream
from analysis.options import Sampling
from analysis.reading.rankings import OUTCOMES, annotator_votes, implied_choices
from analysis.reliability.agreement import agreement
from analysis.reliability.matrices import Reliability
from analysis.results import NAN, Counts, Estimate, TableRow, undefined
from analysis.sentences import sentence

STATISTIC = "kendall_between_annotators"


def ranking_agreement(
    rankings: pd.DataFrame,
    *,
    question: str,
    resamples: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
) -> TableRow:
    r"""Return Kendall's tau of two annotators over outputs that both ranked.

    :math:`\tau = (C - D)/(C + D)` over all pairs of annotators and all pairs of
    outputs that both ordered, C alike and D not; orders are strict. Two who rank
    without looking have 0, whichever methods are strong: no chance is estimated from
    the answers. Annotators are not drawn, as one drawn twice would be paired with
    himself.
    """
    pairs, votes = annotator_votes(implied_choices(rankings))
    given = np.asarray(votes.sum(axis=0)).reshape(len(pairs), -1)
    total = given.sum(axis=1)
    both = total > 1
    alike = (given * (given - 1) / 2).sum(axis=1)
    compared = total * (total - 1) / 2
    codes, stories = pd.factorize(pairs["story"].to_numpy(object), sort=True)
    sums = np.stack(
        [
            np.bincount(codes, weights=x, minlength=len(stories))
            for x in (alike, compared)
        ]
    )
    columns = np.flatnonzero(np.repeat(both, given.shape[1]))
    people = np.diff(sparse.csr_array(votes[:, columns]).indptr)
    row: TableRow = {
        "question": question,
        "statistic": STATISTIC,
        "value": NAN,
        "low": NAN,
        "high": NAN,
        "n_units": int(both.sum()),
        "n_annotators": int((people > 0).sum()),
        "n_answers": int(total[both].sum()),
        "reason": "",
    }
    if not both.any():
        return row | {
            "reason": sentence("no two annotators ranked the same two outputs")
        }
    rng = stream(seed, "ranking agreement", question)
    drawn = cluster_counts(len(stories), resamples * (len(stories) > 1), rng)
    here, all_ = drawn @ sums.T[:, 0], drawn @ sums.T[:, 1]
    with np.errstate(invalid="ignore"):
        low, high, reason = interval(2 * here / all_ - 1, confidence)
    value = float(2 * alike.sum() / compared.sum() - 1)
    return row | {"value": value, "low": low, "high": high, "reason": reason}


# Fewer common units say nothing of two people.
FEW_UNITS = 10
TOO_FEW = sentence("fewer than {n} units that both answered", n=FEW_UNITS)
# Of more pairs intervals would take longer than all else,
MOST_DRAWN = 500
NOT_DRAWN = sentence("no interval: of more than {n} pairs none is drawn", n=MOST_DRAWN)
# and of still more, the pairs of 100 people, there is no table.
MOST_PAIRS = 5000
Rows = tuple[list[TableRow], list[str]]


def annotator_pairs(
    data: Reliability,
    statistic: str,
    *,
    question: str,
    parts: tuple[str, ...] = ("units",),
    **sampling: Unpack[Sampling],
) -> Rows:
    """Return the agreement of each two annotators who answered a unit in common."""
    own = _by_annotator(data)

    def of_two(a: int, b: int, resamples: int) -> Estimate:
        (one,) = agreement(
            _of_two(data, own[a], own[b]),
            (statistic,),
            parts=parts,
            question=question,
            **sampling | {"resamples": resamples},
        )
        return one.estimate

    shape = (data.n_annotators, data.n_units)
    ones = np.ones(len(data.units), int)
    answered = sparse.coo_array((ones, (data.annotators, data.units)), shape).tocsr()
    found, notes = _of_pairs(answered, of_two, sampling["resamples"])
    return [
        _row(question, (data.names[a], data.names[b]), statistic, estimate)
        for (a, b), estimate in found.items()
    ], notes


def ranking_pairs(
    rankings: pd.DataFrame, *, question: str, **sampling: Unpack[Sampling]
) -> Rows:
    """Return how alike each two annotators rank."""
    own = [rows for _name, rows in rankings.groupby("annotator", sort=True)]
    names = [str(rows["annotator"].iloc[0]) for rows in own]

    def of_two(a: int, b: int, resamples: int) -> Estimate:
        one = ranking_agreement(
            pd.concat([own[a], own[b]]),
            question=question,
            **sampling | {"resamples": resamples},
        )
        value, low, high = (float(str(one[key])) for key in ("value", "low", "high"))
        n, reason = int(str(one["n_units"])), cast("str", one["reason"])
        return Estimate(value, low, high, n, reason=reason)

    _pairs, votes = annotator_votes(implied_choices(rankings))
    kept = votes.tocoo()
    who, columns = kept.coords
    shape = (votes.shape[0], votes.shape[1] // len(OUTCOMES))
    answered = sparse.coo_array((kept.data, (who, columns // len(OUTCOMES))), shape)
    found, notes = _of_pairs(answered.tocsr(), of_two, sampling["resamples"])
    return [
        _row(question, (names[a], names[b]), STATISTIC, estimate)
        for (a, b), estimate in found.items()
    ], notes


def _of_pairs(
    answered: sparse.csr_array,
    of_two: Callable[[int, int, int], Estimate],
    resamples: int,
) -> tuple[dict[tuple[int, int], Estimate], list[str]]:
    """Estimate the agreement of each two who answered a unit in common."""
    met = _met(answered)
    if len(met) > MOST_PAIRS:
        met = {pair: n for pair, n in met.items() if n >= FEW_UNITS}
    if len(met) > MOST_PAIRS:
        return {}, [
            sentence(
                "annotators are not held against each other one by one, since {n} "
                "pairs of them answered enough in common, and at most {most} are "
                "compared.",
                n=len(met),
                most=MOST_PAIRS,
            )
        ]
    why = ""
    if resamples and len(met) > MOST_DRAWN:
        resamples, why = 0, NOT_DRAWN
    found = {}
    for (a, b), n in met.items():
        estimate = undefined(TOO_FEW, n=n)
        if n >= FEW_UNITS:
            estimate = of_two(a, b, resamples)
            estimate = replace(estimate, reason=estimate.reason or why)
        found[a, b] = estimate
    return found, []


def _met(answered: sparse.csr_array) -> dict[tuple[int, int], int]:
    """Return how many units each two annotators answered both, where there are any."""
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
