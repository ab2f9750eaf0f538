"""Accuracy with ties: how close two scores must be for the metric to call a tie.

acc_eq counts a pair as right when metric and people agree on its order or on its tie
(Deutsch, Foster and Freitag 2023, Ties Matter, arXiv 2305.14324). The threshold
epsilon below which a difference of scores is a tie is tuned: on other stories, or, in
sample, on the same pairs, which flatters.
"""

import numpy as np

from analysis.correlations.kendall import rank_sums
from analysis.correlations.kendall_large import dense_levels
from analysis.correlations.levels import method_means, turned
from analysis.inference.resampling import no_draws, stream
from analysis.options import check_known
from analysis.reading.cells import CellGrid
from analysis.results import NAN, Array, Counts, Mask, TableRow
from analysis.sentences import sentence

FOLDS = 5
REPEATS = 20
LEVELS = ("method", "story", "pooled", "within_method")


def story_folds(story: Counts, rng: np.random.Generator) -> Counts:
    """Cut stories at random into folds."""
    stories, index = np.unique(story, return_inverse=True)
    fold = rng.permutation(len(stories)) % FOLDS
    return np.asarray(fold[index])


def repeated_folds(story: Counts) -> Counts:
    """Cut stories into folds again and again, as `story_folds` does."""
    rng = stream(0, "folds")
    return np.stack([story_folds(story, rng) for _ in range(REPEATS)])


def right_with_ties(human: Array, scores: Array, epsilon: float) -> Mask:
    """Tell which pairs the metric predicts, ties up to epsilon included."""
    predicted = np.where(np.abs(scores) <= epsilon, 0.0, np.sign(scores))
    return np.asarray(predicted == human)


def predicted_pairs(
    human: Array, scores: Array, epsilon: str, folds: Counts
) -> tuple[Array, Array, float]:
    """Tell how often a metric predicts and ties each pair, and its threshold."""
    if not len(human) or (epsilon == "heldout" and not folds.any()):
        return np.zeros(len(human)), np.zeros(len(human)), NAN
    if epsilon != "heldout":
        best = best_epsilon(human, scores) if epsilon == "insample" else 0.0
        right = right_with_ties(human, scores, best).astype(float)
        return right, (np.abs(scores) <= best).astype(float), best
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


def level_accuracy(grid: CellGrid, *, level: str) -> list[TableRow]:
    r"""Measure accuracy with ties, and PPA, over pairs of cells at a level.

    Pairs of all groups count alike. Averaging the accuracies of groups instead
    (Deutsch, Foster and Freitag 2023) is the same where all groups have
    the same number of cells.
    """
    check_known("level", (level,), LEVELS)
    human, scores, cells = _groups(grid, level)
    # Weights of 0 would leave what is no number as it is.
    human, scores = np.where(cells, human, 0), np.where(cells, scores, 0)
    sums = rank_sums(human, scores, cells[:, None].astype(float), spearman=False)
    n = cells.sum(axis=1)
    total = int((n * (n - 1) // 2).sum())
    difference = _halves(sums.pairs)
    human_ties = total - int(_halves(sums.human.pairs))
    metric_ties = total - _halves(sums.metric.pairs)
    rows: list[TableRow] = []
    for k, metric in enumerate(grid.metrics):
        tied, both = int(metric_ties[k]), _both_tied(human, scores[k], cells)
        untied = total - human_ties - tied + both
        concordant = (untied + int(difference[k])) // 2
        # Values of whole methods are no values of cells.
        whole = grid.human_is_method_level or metric in grid.method_level
        pairs = total if level == "method" or not whole else 0
        decided, lost = (total - human_ties, tied - both) if pairs else (0, 0)
        rows.append(
            {
                "question": grid.question,
                "metric": metric,
                "value": (concordant + both) / pairs if pairs else NAN,
                "low": NAN,
                "high": NAN,
                "n": pairs,
                "reason": ""
                if pairs
                else sentence("no two values to compare at this level"),
                "level": level,
                "epsilon": 0.0 if pairs else NAN,
                "epsilon_in_sample": False,
                "ppa_strict": concordant / decided if decided else NAN,
                "ppa_half": (concordant + lost / 2) / decided if decided else NAN,
                "metric_tie_rate": lost / decided if decided else NAN,
                "n_pairs": decided,
            }
        )
    return rows


def _groups(grid: CellGrid, level: str) -> tuple[Array, Array, Mask]:
    """Return people's values (G, N), scores (K, G, N) and which there are (G, N)."""
    if level == "method":
        human, scores, weights = method_means(grid, no_draws(*grid.cells.shape))
        return human, scores, weights > 0
    if level == "pooled":
        here = grid.cells
        return grid.human[here][None], grid.scores[:, None, here], here[here][None]
    inside = turned(grid) if level == "within_method" else grid
    return inside.human, inside.scores, inside.cells


def _halves(pairs: Array) -> Counts:
    """Count unordered pairs of all groups, from sums (..., G, 1) over ordered ones."""
    return np.asarray(np.rint(pairs.sum(axis=(-2, -1)) / 2), np.int64)


def _both_tied(human: Array, scores: Array, cells: Mask) -> int:
    """Count the pairs of one group that people and a metric both tie."""
    groups = np.nonzero(cells)[0]
    keys = np.stack([groups, dense_levels(human)[cells], dense_levels(scores)[cells]])
    _, n = np.unique(keys, axis=1, return_counts=True)
    return int((n * (n - 1) // 2).sum())
