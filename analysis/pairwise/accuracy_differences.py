"""Whether one metric predicts people's preferences better than another.

For new stories and new methods: see `analysis.inference.crossed`.
"""

from dataclasses import dataclass

import numpy as np

from analysis.inference.crossed import CROSSED, Spread, compared, spread_of_pairs
from analysis.inference.resampling import stream
from analysis.options import Sampling
from analysis.pairwise.output_pairs import Pairs
from analysis.pairwise.tie_calibration import (
    best_epsilon,
    held_out_epsilons,
    right_with_ties,
    story_folds,
)
from analysis.results import NAN, Array, Counts, Mask, TableRow

STATISTICS = ("ppa_half", "ppa_strict", "acc_eq")


def accuracy_differences(
    pairs: Pairs, *, epsilon: str, parts: tuple[str, ...], sampling: Sampling
) -> list[TableRow]:
    """Compare every two metrics by how often they predict people's preferences.

    Parameters
    ----------
    pairs
        From `rating_pairs` or `choice_pairs`.
    epsilon
        Tie threshold of acc_eq, as of `accuracy.pair_agreement`.
    parts
        What is thought of as drawn. Annotators are not: if nothing else is named,
        stories and methods are.
    sampling
        Number of resamples (0 for neither interval nor test), coverage, seed of the
        folds.

    Returns
    -------
    list of dict
        Rows of ``accuracy_comparisons``: for each statistic of `STATISTICS` one a pair
        of metrics. `n` counts the pairs of outputs; `p_adjusted` is Holm's over the
        pairs of metrics of the question, source and statistic.

    Notes
    -----
    The test is that of `correlation.metric_differences`. Thresholds of acc_eq are kept
    as they are.
    """
    drawn = tuple(part for part in parts if part != "annotators") or CROSSED
    found: list[TableRow] = []
    for statistic in STATISTICS:
        values = accuracy_parts(
            pairs, statistic, epsilon=epsilon, seed=sampling["seed"]
        )
        rows = compared(values.values, pairs.metrics, values.spread, drawn, sampling)
        keys = {
            "question": pairs.question,
            "source": pairs.source,
            "statistic": statistic,
            "n": values.n_pairs,
        }
        found += [keys | row for row in rows]
    return found


@dataclass(frozen=True)
class AccuracyParts:
    """What an accuracy of every metric is the mean of.

    Attributes
    ----------
    values
        Shape (K,): the accuracies; NaN where no pair counts.
    parts
        Shape (K, S, M (M - 1) / 2): of each metric what a story and a pair of methods
        add to its accuracy, around it, and scaled so that their mean moves as it does.
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
        return AccuracyParts(np.full(K, NAN), np.zeros((K, 0, 0)), 0, 0)
    if statistic == "acc_eq":
        right = right_pairs(pairs, epsilon, seed).astype(float)
    else:
        signs = np.sign(pairs.scores)
        credit = 0.5 if statistic == "ppa_half" else 0.0
        right = ((signs == pairs.human) + credit * (signs == 0)) * counted
    values = right.sum(axis=1) / n
    story, code, n_methods = _places(pairs)
    S, P = int(story.max()) + 1, n_methods * (n_methods - 1) // 2
    parts = [
        np.bincount(story * P + code, row, minlength=S * P)
        for row in (right - values[:, None] * counted) * (S * P / n)
    ]
    return AccuracyParts(values, np.reshape(parts, (K, S, P)), n, n_methods)


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
