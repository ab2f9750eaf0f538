"""Accuracies in pairs, taken apart by stories and pairs of methods."""

from dataclasses import dataclass, replace

import numpy as np

from analysis.inference.cluster_variance import ClusterVariances, variances_of_pairs
from analysis.pairwise.output_pairs import Pairs
from analysis.pairwise.tie_calibration import predicted_pairs, repeated_folds
from analysis.results import NAN, Array, Counts, Estimate

STATISTICS = ("ppa_half", "ppa_strict", "acc_eq")


@dataclass(frozen=True)
class AccuracyVariances:
    """Accuracies of all metrics, and what their variances rest on.

    Attributes
    ----------
    values
        Shape (K + 1,): the accuracies, and last what chance makes of them: what a
        metric is expected to reach that guesses and never ties, or for acc_eq one that
        ties every pair, where that is more; NaN where no pair counts.
    contributions
        Shape (K + 1, S, M (M - 1) / 2): of each what a story and a pair of methods add
        to it, around it, and scaled so that their mean moves as it does.
    counts
        Shape (S, M (M - 1) / 2): how many pairs of outputs count there.
    n_methods
        M, of which some pair is compared.
    parts
        What is thought of as drawn.
    epsilons
        Largest differences of scores that each metric's acc_eq takes for a tie.
    """

    values: Array
    contributions: Array
    counts: Array
    n_methods: int
    parts: tuple[str, ...]
    epsilons: Array

    @property
    def n_pairs(self) -> int:
        """How many pairs of outputs count."""
        return int(self.counts.sum())

    def of(self, a: int, b: int | None = None) -> ClusterVariances:
        """Return the variances of a metric's accuracy, or of a difference of two."""
        own = self.contributions[a]
        if b is not None:
            own = own - self.contributions[b]
        return self._variances(own)

    def _variances(self, contributions: Array) -> ClusterVariances:
        found = variances_of_pairs(contributions, self.n_methods)
        return replace(found, parts=self.parts)

    def estimate(self, k: int, confidence: float) -> Estimate:
        """Return one metric's accuracy with its interval and the test of chance.

        Notes
        -----
        A metric that is right in all pairs, or in none, has an interval and a p-value
        as if one pair were otherwise, so that it is never less sure than one that is.
        """
        value, chance, n = float(self.values[k]), float(self.values[-1]), self.n_pairs
        own = self.contributions[k]
        if np.isnan(value):
            return Estimate(value, n=n)
        if reason := self.of(k).why_not:
            return Estimate(value, n=n, reason=reason)
        if 0 < value < 1:
            found = self._variances(own).share(value, confidence, n, chance)
        else:
            sign = 1 if value else -1
            near = value - sign / n
            own = sign * self.counts / n
            own[np.unravel_index(self.counts.argmax(), own.shape)] -= sign
            own *= own.size / n
            found = self._variances(own).share(near, confidence, n, chance)
            low, high = (found.low, 1.0) if value else (0.0, found.high)
            found = replace(found, value=value, low=low, high=high)
        if np.ptp(self.contributions[-1]) == 0:
            return found
        # What chance reaches is estimated, too: from the pairs that people tie.
        apart = self._variances(own - self.contributions[-1])
        return replace(found, p_value=apart.p_value(value - chance))


def accuracy_variances(
    pairs: Pairs, statistic: str, *, epsilon: str, parts: tuple[str, ...]
) -> AccuracyVariances:
    """Take an accuracy of every metric apart by stories and pairs of methods."""
    K, counted = len(pairs.metrics), np.ones(len(pairs.human), bool)
    epsilons = np.full(K, NAN)
    if statistic != "acc_eq":
        counted = pairs.human != 0
    elif epsilon == "heldout" and len(np.unique(pairs.story)) < 2:
        counted[:] = False  # nothing to tune a threshold on
    n = int(counted.sum())
    if not n:
        none = np.zeros((K + 1, 0, 0))
        return AccuracyVariances(np.full(K + 1, NAN), none, none[0], 0, parts, epsilons)
    if statistic == "acc_eq":
        folds = repeated_folds(pairs.story)
        told = [predicted_pairs(pairs.human, x, epsilon, folds) for x in pairs.scores]
        right, epsilons = (np.array(each, float) for each in zip(*told, strict=True))
    else:
        signs = np.sign(pairs.scores)
        credit = 0.5 if statistic == "ppa_half" else 0.0
        right = ((signs == pairs.human) + credit * (signs == 0)) * counted
    guessed, tied = (pairs.human != 0) / 2, np.where(pairs.human == 0, 1.0, 0.0)
    tying = statistic == "acc_eq" and tied.sum() > guessed.sum()
    right = np.vstack([right, tied if tying else guessed])
    values = right.sum(axis=1) / n
    story, code, n_methods = _places(pairs)
    S, P = int(story.max()) + 1, n_methods * (n_methods - 1) // 2

    def summed(row: Array) -> Array:
        found = np.bincount(story * P + code, row, minlength=S * P)
        return np.asarray(found.reshape(S, P))

    around = (right - values[:, None] * counted) * (S * P / n)
    return AccuracyVariances(
        values,
        np.array([summed(row) for row in around]),
        summed(counted.astype(float)),
        n_methods,
        parts,
        epsilons,
    )


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
