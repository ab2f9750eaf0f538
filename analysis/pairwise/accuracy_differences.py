"""Accuracies in pairs and their variances, with tuned thresholds of ties.

acc_eq counts a pair as right when metric and people agree on its order or on its tie
(Deutsch, Foster and Freitag 2023, Ties Matter, arXiv 2305.14324). The threshold
epsilon below which a difference of scores is a tie is tuned: on other stories, or, in
sample, on the same pairs, which flatters.
"""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from analysis.inference.cluster_variance import (
    ClusterVariances,
    compared,
    variances_of_pairs,
)
from analysis.inference.resampling import DECIMALS, follow_test, rejects, stream
from analysis.options import Sampling
from analysis.pairwise.output_pairs import Pairs, pair_places
from analysis.results import NAN, Array, Counts, Estimate, Mask, TableRow
from analysis.sentences import sentence

FOLDS = 5
REPEATS = 20


def story_folds(story: Counts, rng: np.random.Generator) -> Counts:
    """Cut stories at random into folds."""
    stories, index = np.unique(story, return_inverse=True)
    fold = rng.permutation(len(stories)) % FOLDS
    return np.asarray(fold[index])


def predicted_pairs(
    human: Array, scores: Array, epsilon: str, folds: Counts
) -> tuple[Array, Array, float]:
    """Return how often a metric predicts and ties each pair, and its threshold."""
    if not len(human) or (epsilon == "heldout" and not folds.any()):
        return np.zeros(len(human)), np.zeros(len(human)), NAN
    if epsilon != "heldout":
        best = best_epsilon(human, scores) if epsilon == "insample" else 0.0
        alike = np.abs(scores) <= best
        same = np.where(alike, 0.0, np.sign(scores)) == human
        return same.astype(float), alike.astype(float), best
    thresholds, size = held_out_epsilons(human, scores, folds), np.abs(scores)
    told_apart = np.zeros(len(human), int)
    for own, fold in zip(thresholds, folds, strict=True):
        told_apart += size > own[fold]
    ordered = told_apart * (np.sign(scores) == human)
    right = np.where(human == 0, len(folds) - told_apart, ordered)
    tied = 1 - told_apart / len(folds)
    return right / len(folds), tied, float(np.median(thresholds))


def best_epsilon(human: Array, scores: Array) -> float:
    """Return the smallest tie threshold with the highest accuracy on pairs.

    Candidates are 0 and every absolute difference that occurs (tie calibration,
    Deutsch, Foster and Freitag 2023).
    """
    everywhere = np.zeros((1, len(human)), int)
    return float(_best_epsilons(human, scores, everywhere, outside=False)[0, 0])


def held_out_epsilons(human: Array, scores: Array, folds: Counts) -> Array:
    """Return the best thresholds of the pairs outside each fold, (R, F)."""
    return _best_epsilons(human, scores, folds, outside=True)


def _best_epsilons(
    human: Array, scores: Array, folds: Counts, *, outside: bool
) -> Array:
    """Return the first candidate with the most right pairs in or outside each fold."""
    gains = _gains(human, scores)
    moved = np.flatnonzero(gains)
    gains, size = gains[moved], np.abs(scores[moved])
    candidates = np.unique(np.append(0.0, size[gains > 0]))
    # Each counts from the first candidate that reaches it, or never.
    place = np.searchsorted(candidates, size)
    U, F = len(candidates) + 1, folds.max(initial=0) + 1
    best = []
    for fold in folds:
        own = np.bincount(fold[moved] * U + place, gains, F * U).reshape(F, U)[:, :-1]
        if outside:
            own = own.sum(axis=0) - own
        best.append(candidates[own.cumsum(axis=1).argmax(axis=1)])
    return np.array(best)


def _gains(human: Array, scores: Array) -> Counts:
    """Return what calling each pair a tie changes in the number of right ones."""
    right: Mask = (np.sign(scores) == human) & (human != 0)
    return np.asarray((human == 0).astype(np.int64) - right)


STATISTICS = ("ppa_half", "ppa_strict", "acc_eq")
NO_TEST = sentence("it equals chance in every pair, so there is nothing to test")


# Half accuracy of a metric that guesses, or ties everything.
CHANCE = 0.5


@dataclass(frozen=True)
class AccuracyVariances:
    """Accuracies of all metrics, and what their variances rest on."""

    values: Array
    chances: Array
    contributions: Array
    by_chance: Array
    n_pairs: int
    n_methods: int
    parts: tuple[str, ...]
    epsilons: Array

    def of(self, a: int, b: int | None = None) -> ClusterVariances:
        """Return the variances of a metric's accuracy, or of a difference of two."""
        own = self.contributions[a]
        return self._variances(own if b is None else own - self.contributions[b])

    def _variances(self, contributions: Array) -> ClusterVariances:
        step = 1 / self.n_pairs
        return variances_of_pairs(contributions, self.n_methods, step, self.parts)

    def estimate(self, k: int, confidence: float) -> Estimate:
        """Return one metric's accuracy with its interval and the test of chance."""
        value, chance, n = float(self.values[k]), float(self.chances[k]), self.n_pairs
        if np.isnan(value):
            return Estimate(value, n=n)
        own = self.of(k)
        if reason := own.why_not:
            return Estimate(value, n=n, reason=reason)
        bounds = own.share_interval(value, confidence, 0.0)
        if np.isnan(chance):
            return Estimate(value, *bounds, n)
        apart = self.contributions[k] - self.by_chance[k]
        above = round(value - chance, DECIMALS)
        if not above and not np.round(apart, DECIMALS).any():
            if not self.contributions[k].any():
                bounds = NAN, NAN
            return Estimate(value, *bounds, n, reason=NO_TEST)
        p_value = self._variances(apart).p_value(above)
        bounds = follow_test(*bounds, value, chance, rejects(p_value, confidence))
        return Estimate(value, *bounds, n, p_value)


def accuracy_variances(
    pairs: Pairs, statistic: str, *, epsilon: str, parts: tuple[str, ...]
) -> AccuracyVariances:
    r"""Take an accuracy of every metric apart by stories and pairs of methods.

    Half accuracy is a half by chance. Of acc_eq, where people tie a share :math:`p` of
    all pairs and the metric a share :math:`t` (up to its threshold), chance is
    :math:`t p + (1 - t)(1 - p) / 2`: what the same ties and a coin for the rest reach
    where they know nothing of people's. Both shares are estimated, so that a pair adds
    its own ties to chance, times the slopes :math:`(3 p - 1) / 2` and
    :math:`(3 t - 1) / 2`.
    """
    K, counted = len(pairs.metrics), np.ones(len(pairs.human), bool)
    epsilons = np.full(K, NAN)
    if statistic != "acc_eq":
        counted = pairs.human != 0
    elif epsilon == "heldout" and len(np.unique(pairs.story)) < 2:
        counted[:] = False  # nothing to tune a threshold on
    n = int(counted.sum())
    if not n:
        none, nothing = np.full(K, NAN), np.zeros((K, 0, 0))
        return AccuracyVariances(none, none, nothing, nothing, 0, 0, parts, epsilons)
    chance = CHANCE if statistic == "ppa_half" else NAN
    chances, by_chance = np.full(K, chance), np.zeros((K, len(counted)))
    if statistic == "acc_eq":
        rng = stream(0, "folds")
        folds = np.stack([story_folds(pairs.story, rng) for _ in range(REPEATS)])
        told = [predicted_pairs(pairs.human, x, epsilon, folds) for x in pairs.scores]
        right, ties, epsilons = (
            np.array(each, float) for each in zip(*told, strict=True)
        )
        tied = (pairs.human == 0).astype(float)
        p, t = tied.mean(), ties.mean(axis=1)
        chances = t * p + (1 - t) * (1 - p) / 2
        by_chance = (3 * p - 1) / 2 * (ties - t[:, None])
        by_chance += (3 * t[:, None] - 1) / 2 * (tied - p)
    else:
        signs = np.sign(pairs.scores)
        credit = CHANCE if statistic == "ppa_half" else 0.0
        right = ((signs == pairs.human) + credit * (signs == 0)) * counted
    values = right.sum(axis=1) / n
    story, code, n_methods = pair_places(pairs)
    S, P = int(story.max()) + 1, n_methods * (n_methods - 1) // 2

    def summed(rows: Array) -> Array:
        found = [np.bincount(story * P + code, row, minlength=S * P) for row in rows]
        return np.array(found, float).reshape(K, S, P) * (S * P / n)

    return AccuracyVariances(
        values,
        chances,
        summed(right - values[:, None] * counted),
        summed(by_chance),
        n,
        n_methods,
        parts,
        epsilons,
    )


def accuracy_differences(
    pairs: Pairs,
    *,
    epsilon: str,
    parts: tuple[str, ...],
    sampling: Sampling,
    own: Collection[str] = (),
) -> list[TableRow]:
    """Compare metrics by how often they predict preferences: see `metric_pairs`."""
    found: list[TableRow] = []
    for statistic in STATISTICS:
        known = accuracy_variances(pairs, statistic, epsilon=epsilon, parts=parts)
        rows = compared(known.values, pairs.metrics, known.of, sampling, own)
        keys = {
            "question": pairs.question,
            "source": pairs.source,
            "statistic": statistic,
            "n": known.n_pairs,
        }
        found += [keys | row for row in rows]
    return found
