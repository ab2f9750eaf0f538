r"""Prediction-powered estimates of methods.

People judge some stories and a metric scores all of them. An estimate is

.. math:: \hat\theta = \lambda \bar f_{all} + \sum_s W_s (Y_s - \lambda f_s)

with weights W of the judged stories, 1 / the probability of being drawn, which add up
to 1 (Angelopoulos et al. 2023, Science 382, arXiv 2301.09633). :math:`\lambda = 0` is
the classical estimate. Scores are centred by method first, which changes nothing.

In terms of stories, answers less :math:`\lambda f (1 - 1 / (N W))` estimate one part,
stories and people crossed as everywhere; stories without answers add
:math:`\lambda f / N` each, which is independent of it.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd
from scipy import sparse

from analysis.inference.crossed_clusters import (
    CrossedCovariance,
    Errors,
    crossed_covariance,
)
from analysis.inference.resampling import divided
from analysis.rankings.choice_votes import PairVotes, coded, kinds_drawn, pair_votes
from analysis.rankings.method_means import Answers, Means
from analysis.rankings.standings import MethodGaps, method_gaps
from analysis.results import NAN, Array, Counts, Mask

# A spread this small beside the scores is rounding.
NOTHING = 1e-20


@dataclass(frozen=True)
class Tuned:
    """The weight of a metric, and the same without each of S stories."""

    value: float
    without: Array


@dataclass(frozen=True)
class StoryValues:
    """People's values and a metric's scores of S stories by K methods, or pairs.

    Attributes
    ----------
    human
        People's mean values.
    scores
        NaN where there is none; larger is better.
    share
        How much of the mean of its column a story is; 0 without an answer.
    weight
        How much each story counts, (S,): 1 / its probability of being drawn.
    """

    human: Array
    scores: Array
    share: Array
    weight: Array

    @cached_property
    def rated(self) -> Mask:
        """The stories that people judged."""
        return np.asarray(self.share > 0)

    @cached_property
    def n(self) -> Array:
        """The number of stories with a score, (K,)."""
        return np.asarray(np.isfinite(self.scores).sum(axis=0), float)

    @cached_property
    def around(self) -> Array:
        """The scores around the mean of their column; 0 where there is none."""
        known = np.isfinite(self.scores)
        mean = np.where(known, self.scores, 0.0).sum(axis=0) / np.maximum(self.n, 1)
        return np.where(known, self.scores - mean, 0.0)

    @property
    def is_constant(self) -> bool:
        """True if no column has two different scores, up to rounding."""
        size = np.nansum(self.scores**2)
        return bool((self.around**2).sum() <= NOTHING * size)

    def tuned(self, weights: Array) -> Tuned:
        r"""Return the weight of the metric that minimises a sum of variances.

        `weights` are the coefficients of the sum, (K, K): the identity for the
        variances of the columns' means. With one probability for all stories, and all
        complete, :math:`\lambda` is the covariance over the judged stories divided by
        the variance over all (arXiv 2311.01453, proposition 2; its :math:`\lambda`, of
        a metric's mean over the other stories only, is (N - n) / N times as large). It
        is at least 0.
        """
        share, around, rated = self.share, self.around, self.rated
        people = share * (self.human - (share * self.human).sum(axis=0))
        metric = share * (around - (share * around).sum(axis=0))
        metric -= rated * around / np.maximum(self.n, 1)
        own = ((people @ weights) * metric).sum(axis=1)
        # Answers per story vary: that widens all of it alike (Kish).
        weight = self.weight[:, None] * rated
        total, squares = weight.sum(axis=0), (weight**2).sum(axis=0)
        kish = divided((share**2).sum(axis=0) * total**2, squares)
        more = self.weight[:, None] * divided(self.n * kish, total) - 1
        scale = np.sqrt(np.maximum(np.nan_to_num(more), 0) / np.maximum(self.n - 1, 1))
        spread = scale * around / np.sqrt(np.maximum(self.n, 1))
        below = float(((spread @ weights) * spread).sum())
        if not below > 0:
            return Tuned(0.0, np.zeros(len(share)))
        value = max(float(own.sum()) / below, 0.0)
        part = share.sum(axis=1) / np.maximum(rated.sum(axis=1), 1)
        rest = np.maximum(1 - part, np.finfo(float).eps)
        without = np.maximum((own.sum() - own / rest) / rest / below, 0.0)
        return Tuned(value, np.where(rated.any(axis=1) & (part < 1), without, value))

    def offsets(self, of_story: Array) -> Array:
        """Return what to subtract from answers, given each story's weight, (S,)."""
        inside = divided(np.ones_like(self.share), self.n * self.share)
        taken = of_story[:, None] * (1 - inside) * self.around
        return np.where(self.rated, taken, 0.0)

    def imputed(self, value: float) -> Array:
        """Return what each story without an answer adds to each column."""
        adds = value * self.around / np.maximum(self.n, 1)
        return np.where(self.rated, 0.0, adds)


@dataclass(frozen=True)
class Estimates:
    """Estimates of M methods.

    `errors` are those of each, `covariance` that of all; None where nothing is drawn.
    """

    value: Array
    errors: Errors | None
    covariance: CrossedCovariance | None

    def with_imputed(self, imputed: Array) -> "Estimates":
        """Add what stories without an answer add, (S, M)."""
        value = self.value + imputed.sum(axis=0)
        freedom = max(int((imputed != 0).any(axis=1).sum()) - 1, 1)
        if self.errors is None or self.covariance is None or not imputed.any():
            return replace(self, value=value)
        errors = self.errors.plus((imputed**2).sum(axis=0), float(freedom))
        further = imputed.T @ imputed, float(freedom)
        return Estimates(value, errors, replace(self.covariance, further=further))


@dataclass(frozen=True)
class Study:
    """Answers about M methods, with a metric's scores of all stories.

    `contrasts` make methods of the columns of `values`, (M, K); `classical` estimates
    the methods from answers less offsets, (S, K), where `parts` are drawn.
    """

    methods: tuple[str, ...]
    values: StoryValues
    contrasts: Array
    classical: Callable[[Array, tuple[str, ...]], Estimates]

    def estimates(self, parts: tuple[str, ...], *, powered: Array | None) -> Estimates:
        """Estimate the methods.

        Errors use the metric's weight without each story, so that tuning it makes no
        interval narrower.

        Parameters
        ----------
        parts
            What is drawn: stories, annotators, or both.
        powered
            Sums of methods whose variances are minimised, (J, M); None for classical
            estimates.
        """
        nothing = np.zeros_like(self.values.share)
        if powered is None:
            return self.classical(nothing, parts)
        sums = powered @ self.contrasts
        tuned = self.values.tuned(sums.T @ sums)
        every = np.full(len(nothing), tuned.value)
        value = self.classical(self.values.offsets(every), ()).value
        found = self.classical(self.values.offsets(tuned.without), parts)
        imputed = self.values.imputed(tuned.value) @ self.contrasts.T
        return replace(found, value=value).with_imputed(imputed)

    def weight(self, powered: Array) -> float:
        """Return the weight of the metric that `estimates` uses."""
        sums = powered @ self.contrasts
        return self.values.tuned(sums.T @ sums).value


def pair_contrasts(n: int) -> Array:
    """Return the differences of every two of n methods, (n (n - 1) / 2, n)."""
    first, second = np.triu_indices(n, 1)
    return np.asarray(np.eye(n)[first] - np.eye(n)[second])


def rank_sets(found: Estimates, confidence: float) -> tuple[MethodGaps | None, Array]:
    """Return the differences of methods, and the best and worst rank of each, (2, M).

    A rank belongs to the set of a method where it agrees with all comparisons, which
    hold together (Chatzi et al. 2024, arXiv 2402.17826; their intervals are those of
    Scheffé, wider than Holm's tests, which are used here).
    """
    if found.covariance is None or len(found.value) < 2:
        return None, np.full((2, len(found.value)), NAN)
    gaps = method_gaps(found.value, found.covariance, confidence)
    return gaps, np.stack(gaps.settled_ranks(confidence))


def rated_study(
    by_annotator: pd.DataFrame, scores: pd.DataFrame, weight: Array
) -> Study:
    """Return the study of ratings.

    Parameters
    ----------
    by_annotator
        Each annotator's mean rating of outputs that have a score.
    scores
        Stories by methods, sorted; NaN where there is none.
    weight
        How much each story counts.
    """
    story = scores.index.get_indexer(pd.Index(by_annotator["story"]))
    method = scores.columns.get_indexer(pd.Index(by_annotator["method"]))
    annotator, people = coded(by_annotator["annotator"])
    rating = by_annotator["rating"].to_numpy(float)
    order = np.lexsort((annotator, method, story))
    answers = Answers(
        tuple(map(str, scores.columns)),
        len(scores),
        len(people),
        method[order],
        story[order],
        annotator[order],
        rating[order],
        weight,
    )
    given = Means(answers)
    at, size = answers.cell, scores.size
    share = _summed(at, given.share, size)
    total = _summed(at, given.share * answers.rating, size)
    human = np.nan_to_num(divided(total, share)).reshape(scores.shape)
    cells = scores.to_numpy(float)
    values = StoryValues(human, cells, share.reshape(scores.shape), weight)

    def classical(offsets: Array, parts: tuple[str, ...]) -> Estimates:
        less = answers.rating - offsets[answers.story, answers.method]
        means = Means(replace(answers, rating=less))
        return Estimates(means.value, means.errors(parts), means.covariance(parts))

    return Study(answers.methods, values, np.eye(len(answers.methods)), classical)


def chosen_study(choices: pd.DataFrame, scores: pd.DataFrame, weight: Array) -> Study:
    """Return the study of side-by-side answers.

    The metric answers each comparison by its scores, and ties count as half on both
    sides. A method's win rate is the mean over the methods that it met.

    Parameters
    ----------
    choices
        Answers about outputs that have scores.
    scores, weight
        As for `rated_study`.
    """
    known = coded(choices["story"])[1]
    votes, _ = pair_votes(choices)
    row = scores.index.get_indexer(pd.Index(known))[votes.clusters["stories"][0]]
    votes = replace(votes, weight=votes.weight * weight[row])
    sides = scores.reindex(columns=list(votes.methods)).to_numpy(float)
    metric = np.sign(sides[:, votes.first] - sides[:, votes.second]) / 2 + 0.5
    at, size = row * len(votes.first) + votes.pair, metric.size
    total = _summed(at, votes.weight, size)
    won = _summed(at, votes.weight * votes.points, size)
    human = np.nan_to_num(divided(won, total)).reshape(metric.shape)
    total = total.reshape(metric.shape)
    share = np.nan_to_num(divided(total, total.sum(axis=0)))
    met = np.isfinite(votes.rates())
    M, P = len(votes.methods), len(votes.first)
    contrasts, second = np.zeros((2, M, P))
    contrasts[votes.first, np.arange(P)] = met
    second[votes.second, np.arange(P)] = met
    n_met = np.maximum((contrasts + second).sum(axis=1, keepdims=True), 1)
    contrasts, lost = (contrasts - second) / n_met, (second / n_met).sum(axis=1)

    def classical(offsets: Array, parts: tuple[str, ...]) -> Estimates:
        own = replace(votes, points=votes.points - offsets[row, votes.pair])
        value = contrasts @ np.nan_to_num(own.rates()) + lost
        covariance = _covariance(own, value, contrasts, share[row, own.pair], parts)
        errors = None if covariance is None else covariance.of(np.eye(M))
        return Estimates(value, errors, covariance)

    values = StoryValues(human, metric, share, weight)
    return Study(votes.methods, values, contrasts, classical)


def _summed(at: Counts, values: Array, n: int) -> Array:
    return np.asarray(np.bincount(at, values, minlength=n), float)


def _covariance(
    votes: PairVotes,
    value: Array,
    contrasts: Array,
    cells: Array,
    parts: tuple[str, ...],
) -> CrossedCovariance | None:
    """Return the covariance of win rates of methods, as `method_win_rates` has it.

    Weights are unequal and pairs have few stories, so answers about one story count as
    alike: their squares would be too small.
    """
    if not parts:
        return None
    lone = 0.5 + (value[votes.first] - value[votes.second]) / 2
    each = np.arange(len(votes.pair))
    of_methods = sparse.csr_array(contrasts.T)[votes.pair]
    adds = sparse.diags_array(votes.added_unbiased(lone, cells)) @ of_methods
    return crossed_covariance(
        sparse.csr_array(adds),
        each,
        kinds_drawn(votes.clusters, parts),
        rank=max(len(value) - 1, 1),
        weights=sparse.csr_array(sparse.diags_array(votes.share()) @ abs(of_methods)),
    )
