"""Accuracies in pairs, taken apart by stories and pairs of methods."""

from dataclasses import dataclass, replace

import numpy as np

from analysis.inference.crossed import Spread, spread_of_pairs
from analysis.inference.resampling import stream
from analysis.pairwise.output_pairs import Pairs
from analysis.pairwise.tie_calibration import (
    best_epsilon,
    held_out_epsilons,
    right_with_ties,
    story_folds,
)
from analysis.results import NAN, Array, Counts, Estimate, Mask

STATISTICS = ("ppa_half", "ppa_strict", "acc_eq")


@dataclass(frozen=True)
class AccuracyParts:
    """What an accuracy of every metric is the mean of.

    Attributes
    ----------
    values
        Shape (K + 1,): the accuracies, and last the expected one of a metric that
        guesses and never ties; NaN where no pair counts.
    parts
        Shape (K + 1, S, M (M - 1) / 2): of each what a story and a pair of methods add
        to it, around it, and scaled so that their mean moves as it does.
    n_pairs, n_methods
        How many pairs of outputs count, and M.
    """

    values: Array
    parts: Array
    n_pairs: int
    n_methods: int

    def spread(self, a: int, b: int | None = None) -> Spread:
        """Return the spread of a metric's accuracy, or of a difference of two."""
        parts = self.parts[a] if b is None else self.parts[a] - self.parts[b]
        return spread_of_pairs(parts, self.n_methods)

    def estimate(self, k: int, parts: tuple[str, ...], confidence: float) -> Estimate:
        """Return one metric's accuracy with its interval and the test of chance."""
        value, chance = float(self.values[k]), float(self.values[-1])
        share = (
            self.spread(k).only(parts).share(value, confidence, self.n_pairs, chance)
        )
        if np.ptp(self.parts[-1]) == 0:
            return share
        # What chance reaches is estimated, too: from the pairs that people tie.
        apart = self.spread(k, -1).only(parts)
        return replace(share, p_value=apart.p_value(value - chance))


def accuracy_parts(
    pairs: Pairs, statistic: str, *, epsilon: str, seed: int
) -> AccuracyParts:
    """Take an accuracy of every metric apart by stories and pairs of methods."""
    counted = np.ones(len(pairs.human), bool)
    if statistic != "acc_eq":
        counted = pairs.human != 0
    elif epsilon == "heldout" and len(np.unique(pairs.story)) < 2:
        counted[:] = False  # nothing to tune a threshold on
    n, K = int(counted.sum()), len(pairs.metrics)
    if not n:
        return AccuracyParts(np.full(K + 1, NAN), np.zeros((K + 1, 0, 0)), 0, 0)
    if statistic == "acc_eq":
        right = right_pairs(pairs, epsilon, seed).astype(float)
    else:
        signs = np.sign(pairs.scores)
        credit = 0.5 if statistic == "ppa_half" else 0.0
        right = ((signs == pairs.human) + credit * (signs == 0)) * counted
    right = np.vstack([right, (pairs.human != 0) / 2])
    values = right.sum(axis=1) / n
    story, code, n_methods = _places(pairs)
    S, P = int(story.max()) + 1, n_methods * (n_methods - 1) // 2
    parts = [
        np.bincount(story * P + code, row, minlength=S * P)
        for row in (right - values[:, None] * counted) * (S * P / n)
    ]
    return AccuracyParts(values, np.reshape(parts, (K + 1, S, P)), n, n_methods)


def _places(pairs: Pairs) -> tuple[Counts, Counts, int]:
    """Return a number of each pair's story and of its methods, and how many methods."""
    story = np.unique(pairs.story, return_inverse=True)[1]
    both = np.stack([pairs.first, pairs.second])
    used, index = np.unique(both, return_inverse=True)
    first, second = np.sort(index.reshape(both.shape), axis=0)
    i, j = np.triu_indices(len(used), 1)
    code = np.zeros((len(used), len(used)), int)
    code[i, j] = np.arange(len(i))
    return story, code[first, second], len(used)


def right_pairs(pairs: Pairs, epsilon: str, seed: int) -> Mask:
    """Tell which pairs each metric predicts, ties included: shape (K, P)."""
    found = np.zeros(pairs.scores.shape, bool)
    folds = [np.ones(len(pairs.human), bool)]
    if epsilon == "heldout":
        folds = story_folds(pairs.story, stream(seed, "folds", pairs.question))
    for k, scores in enumerate(pairs.scores):
        if epsilon == "heldout":
            thresholds = held_out_epsilons(pairs.human, scores, folds)
        else:
            tuned = epsilon == "insample"
            thresholds = [best_epsilon(pairs.human, scores) if tuned else 0.0]
        for fold, threshold in zip(folds, thresholds, strict=True):
            found[k, fold] = right_with_ties(pairs.human[fold], scores[fold], threshold)
    return found
