"""Agreement of rankings: of all annotators, and of each with the others."""

from dataclasses import dataclass
from typing import Unpack

import numpy as np
import pandas as pd
from scipy import sparse

from analysis.inference.resampling import cluster_counts, interval, stream
from analysis.options import Sampling
from analysis.reading.column_cleaning import combined
from analysis.reading.rankings import annotator_votes, implied_choices, in_orders
from analysis.reliability.random_responding import (
    AnnotatorMeasure,
    Answers,
    Evidence,
    Sheet,
    annotator_rows,
    mean_measure,
    renumbered,
)
from analysis.results import NAN, Array, Counts, Mask, TableRow
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
    r"""Return Kendall's tau-b of two annotators over outputs that both ranked.

    :math:`\tau_b = (C - D) / \sqrt{(C + D + T_1)(C + D + T_2)}` over all pairs of
    annotators and all pairs of outputs that both ranked: C ordered alike, D not, and T
    tied by the other one alone. As every annotator is the first of each pair once,
    both sums are equal. Two who rank without looking have 0, whichever methods are
    strong: no chance is estimated from the answers. Annotators are not drawn, as one
    drawn twice would be paired with himself.

    Source: Kendall (1945), Biometrika 33.
    """
    pairs, votes = annotator_votes(implied_choices(rankings))
    given = np.asarray(votes.sum(axis=0)).reshape(len(pairs), -1)
    total = given.sum(axis=1)
    both = total > 1
    first, second = given[:, 0], given[:, 1]
    ordered = first + second
    alike = ((first - second) ** 2 - ordered) / 2
    compared = ordered * np.maximum(total - 1, 0) / 2
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
    if not compared[both].any():
        return row | {"reason": sentence("all outputs that two ranked tie")}
    rng = stream(seed, "ranking agreement", question)
    drawn = cluster_counts(len(stories), resamples * (len(stories) > 1), rng)
    here, all_ = drawn @ sums.T[:, 0], drawn @ sums.T[:, 1]
    with np.errstate(invalid="ignore"):
        low, high, reason = interval(here / all_, confidence)
    value = float(alike.sum() / compared.sum())
    return row | {"value": value, "low": low, "high": high, "reason": reason}


MEAN_KENDALL = "mean_kendall_others"
ALONE = sentence("no two outputs that this annotator and another one ordered")


def ranking_annotators(
    rankings: pd.DataFrame, **sampling: Unpack[Sampling]
) -> list[TableRow]:
    """Hold each annotator's rankings against those of the others, by tau-b."""
    told, own, others = _signs(rankings)
    sheets: list[Sheet] = []
    evidence: dict[tuple[str, str], Evidence] = {}
    for key, answers in told.groupby(["criterion", "annotator"]):
        units, clusters, shared = (
            answers[c].to_numpy() for c in ("unit", "cluster", "shared")
        )
        drawn = renumbered(clusters)
        n = int(drawn.max()) + 1
        here = answers.index[shared]
        asked = Answers(units[shared], clusters[shared], own[here], others[here])
        criterion, annotator = map(str, key)
        one = RankingEvidence(MEAN_KENDALL, (asked,))
        measures = [one.measure((MEAN_KENDALL,), drawn[shared], n)]
        sheets.append(Sheet(criterion, annotator, len(answers), n, measures))
        evidence[criterion, annotator] = one
    return annotator_rows(sheets, evidence, (MEAN_KENDALL,), sampling)


@dataclass(frozen=True)
class RankingEvidence(Evidence):
    """Evidence that an annotator ranks at random, which has tau 0."""

    def measure(
        self, names: tuple[str, ...], clusters: Counts, n: int
    ) -> AnnotatorMeasure:
        """Return the mean tau over the own rankings."""
        taus = [(one.own * one.others).sum(axis=1) for one in self.questions]
        return mean_measure(
            names[0], np.concatenate(taus), clusters, reason=ALONE, n_clusters=n
        )

    def shuffled(
        self,
        own: Array,
        others: Array,
        groups: Counts,
        *,
        resamples: int,
        rng: np.random.Generator,
    ) -> Array:
        """Return how much the others agree with orders of renamed outputs."""
        own, others, sizes = self._matrices(own, others)
        drawn = np.zeros(resamples)
        for mine, theirs, size in zip(own, others, sizes, strict=True):
            names = rng.permuted(np.tile(np.arange(size), (resamples, 1)), axis=1)
            renamed = mine[:, names[:, :, None], names[:, None, :]]
            drawn += np.einsum("qbij,qij->b", renamed, theirs[:, :size, :size])
        return drawn

    def moments(self, own: Array, others: Array, groups: Counts) -> tuple[float, float]:
        r"""Return mean and variance of `shuffled` over all permutations of names.

        An antisymmetric matrix over k outputs is one of differences of row means and a
        rest, which permutations do not mix, in spaces of k - 1 and
        (k - 1)(k - 2) / 2 dimensions that have no smaller part of this kind. By Schur's
        lemma the variance is the sum over both of the inner products of the parts of
        the own orders, times those of the others', over the dimension. For the signs
        s of a single order it is
        :math:`(\sum_{i<j} s_{ij}^2 + \sum_i (\sum_j s_{ij})^2) / 3`.
        """
        own, others, sizes = self._matrices(own, others)
        parts = zip(_parts(own, sizes), _parts(others, sizes), strict=True)
        dimensions = sizes - 1, np.maximum((sizes - 1) * (sizes - 2) / 2, 1)
        variances = [
            (mine * theirs).sum(axis=(1, 2)) / dimension
            for (mine, theirs), dimension in zip(parts, dimensions, strict=True)
        ]
        return 0.0, float(np.sum(variances))

    def _matrices(self, *sides: Array) -> tuple[Array, Array, Counts]:
        """Return both sides, shape (U, questions, K, K), and each unit's outputs."""
        k = int(np.sqrt(self.questions[0].own.shape[1]))
        own, others = (
            side.reshape(len(side), len(self.questions), k, k) for side in sides
        )
        return own, others, own.any(axis=(1, 2)).sum(axis=1)


def _parts(signs: Array, sizes: Counts) -> tuple[Array, Array]:
    """Return the inner products of questions of both parts, each (U, Q, Q)."""
    sums = signs.sum(axis=3)
    of_rows = np.einsum("upi,uqi->upq", sums, sums) * 2 / sizes[:, None, None]
    return of_rows, np.einsum("upij,uqij->upq", signs, signs) - of_rows


def _signs(rankings: pd.DataFrame) -> tuple[pd.DataFrame, Array, Array]:
    """Return whose each ranking is, its signs, and the others', as of the evidence."""
    rows, answer, place = in_orders(rankings)
    # The outputs of an answer stand in the order of their names.
    method = combined([rows["method"]])
    order = np.lexsort((method, answer))
    starts = np.flatnonzero(np.diff(answer, prepend=-1))
    column = np.arange(len(rows)) - starts[answer]
    shape = (len(starts), int(column.max(initial=0)) + 1)
    members, places = np.full(shape, -1), np.full(shape, np.nan)
    members[answer, column], places[answer, column] = method[order], place[order]
    own = np.nan_to_num(np.sign(places[:, None, :] - places[:, :, None]))
    first = rows.iloc[starts]
    names = {key: first[key].astype(str) for key in ("criterion", "annotator")}
    told = pd.DataFrame(names).reset_index(drop=True)
    trial = combined(first[key] for key in ("story", "round") if key in first)
    told["cluster"] = _numbered(combined([first["story"]]), members)
    told["unit"] = _numbered(trial, members)
    # Of two answers to one set, which leaving out methods makes, each has its unit.
    told["unit"] += told.groupby([*told]).cumcount() * len(told)
    asked = combined([told["criterion"], pd.Series(trial)])
    others, told["shared"] = _others(own, members, asked, combined([told["annotator"]]))
    return told, own.reshape(len(own), -1), others.reshape(len(own), -1)


def _numbered(codes: Counts, members: Counts) -> Counts:
    keys = np.column_stack([codes, members])
    return np.asarray(np.unique(keys, axis=0, return_inverse=True)[1].ravel())


def _others(
    own: Array, members: Counts, asked: Counts, annotators: Counts
) -> tuple[Array, Mask]:
    """Return the others' mean signs over the scale of tau-b, and where it exists."""
    inside = members >= 0
    pairs = (
        inside[:, :, None] & inside[:, None, :] & ~np.eye(inside.shape[1], dtype=bool)
    )
    answer, i, j = np.nonzero(pairs)
    n = int(members.max(initial=0)) + 1
    pair = renumbered((asked[answer] * n + members[answer, i]) * n + members[answer, j])
    mine = renumbered(pair * (int(annotators.max()) + 1) + annotators[answer])
    signs = own[answer, i, j]

    def rest(values: Array) -> Array:
        others = np.bincount(pair, values)[pair] - np.bincount(mine, values)[mine]
        return np.asarray(others, float)

    of_others = rest(np.ones(len(signs)))
    shared = of_others > 0
    untied = rest(signs**2) / np.maximum(of_others, 1)
    squares = [
        np.bincount(answer, np.where(shared, each, 0.0), minlength=len(own))
        for each in (signs**2, untied)
    ]
    scale = np.sqrt(squares[0] * squares[1])
    defined = scale > 0
    others = np.zeros_like(own)
    others[answer, i, j] = (
        rest(signs) / np.maximum(of_others, 1) / np.where(defined, scale, 1.0)[answer]
    )
    others[~defined] = 0
    return others, defined
