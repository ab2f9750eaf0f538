"""Accuracy with ties: how close two scores must be for the metric to call a tie.

acc_eq counts a pair as right when metric and people agree on its order or on its tie
(Deutsch, Foster and Freitag 2023, Ties Matter, arXiv 2305.14324). The threshold
epsilon below which a difference of scores is a tie is tuned: on other stories, or, in
sample, on the same pairs, which flatters.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.stats import kendalltau

from analysis.correlation.cell_means import method_means
from analysis.inference.parallel import in_threads
from analysis.inference.resampling import no_draws
from analysis.options import OptionError, check_known
from analysis.reading.cells import CellGrid
from analysis.results import NAN, Array, Counts, Mask, TableRow

FOLDS = 5
LEVELS = ("method", "story", "pooled", "within_method")
# Pairs held at once, and at most kept to find the exact threshold among.
CHUNK = 4_000_000
LIMIT = 30_000_000
BINS = 1 << 18
# Pairs of more cells are counted without making them.
MANY = 1000


def story_folds(story: Counts, rng: np.random.Generator) -> list[Mask]:
    """Cut stories at random into folds.

    Parameters
    ----------
    story
        Shape (P,): the story of each pair.
    rng
        The stream of this step.

    Returns
    -------
    list of masks
        Each of shape (P,): the pairs of one fold. Five folds, or as many as there
        are stories; none with a single story.
    """
    stories, index = np.unique(story, return_inverse=True)
    n = min(FOLDS, len(stories))
    fold = rng.permutation(len(stories)) % n if n > 1 else np.zeros(0, int)
    return [fold[index] == f for f in range(n)] if n > 1 else []


def right_with_ties(human: Array, scores: Array, epsilon: float) -> Mask:
    """Tell which pairs the metric predicts, ties up to epsilon included.

    Examples
    --------
    >>> right_with_ties(np.array([1.0, 0]), np.array([0.3, -0.1]), 0.1)
    array([ True,  True])
    """
    predicted = np.where(np.abs(scores) <= epsilon, 0.0, np.sign(scores))
    return np.asarray(predicted == human)


def accuracy_with_ties(
    human: Array, scores: Array, epsilon: str, folds: list[Mask]
) -> tuple[float, float]:
    """Return acc_eq of the pairs inside stories, and its epsilon.

    Parameters
    ----------
    human
        Shape (P,): 1, 0 or -1.
    scores
        Shape (P,): differences of scores.
    epsilon
        ``"heldout"``, ``"insample"`` or ``"0"``; see `accuracy.pair_agreement`.
    folds
        From `story_folds`.

    Returns
    -------
    tuple
        NaN twice where there is no pair, or nothing to hold out.
    """
    if not len(human):
        return NAN, NAN
    if epsilon == "0":
        return float(right_with_ties(human, scores, 0.0).mean()), 0.0
    if epsilon == "insample":
        best = best_epsilon(human, scores)
        return float(right_with_ties(human, scores, best).mean()), best
    if not folds:
        return NAN, NAN
    thresholds = held_out_epsilons(human, scores, folds)
    right = sum(
        int(right_with_ties(human[fold], scores[fold], best).sum())
        for fold, best in zip(folds, thresholds, strict=True)
    )
    return right / len(human), float(np.median(thresholds))


def best_epsilon(human: Array, scores: Array) -> float:
    """Return the smallest tie threshold with the highest accuracy on pairs.

    Parameters
    ----------
    human
        1, 0 or -1 for each pair.
    scores
        Differences of scores; absolute ones up to epsilon are ties.

    Notes
    -----
    Candidates are 0 and every absolute difference that occurs (tie calibration,
    Deutsch, Foster and Freitag 2023).

    Examples
    --------
    >>> best_epsilon(np.array([1.0, 0, 0]), np.array([0.5, 0.1, -0.2]))
    0.2
    """
    return held_out_epsilons(human, scores, [np.zeros(len(human), bool)])[0]


def held_out_epsilons(human: Array, scores: Array, folds: list[Mask]) -> list[float]:
    """Return the best threshold of the pairs outside each fold.

    Notes
    -----
    The pairs are sorted once. Taking those of a fold out of the sums leaves a run of
    equal sums where one of them stood, and the first of a run is taken: a candidate
    that occurs outside the fold, or 0. A pair which the metric ties at 0 is never
    right where people do not tie, so it never counts against a threshold.
    """
    size = np.abs(scores)
    # In any order among equal sizes: only sums at the end of a run of them count.
    order = np.argsort(size)
    size = size[order]
    # Calling a pair a tie is right where people tie, wrong where it was right before.
    gain = _gains(human, scores)[order]
    last = np.append(np.diff(size) > 0, True)  # of each run of equal sizes
    candidates = np.append(0.0, size[last])
    found = []
    for fold in folds:
        kept = np.where(fold[order], 0, gain)
        sums = np.append(0, np.cumsum(kept)[last])
        found.append(float(candidates[np.argmax(sums)]))
    return found


def _gains(human: Array, scores: Array) -> Counts:
    """Return what calling each pair a tie changes in the number of right ones."""
    right: Mask = (np.sign(scores) == human) & (human != 0)
    return np.asarray((human == 0).astype(np.int64) - right)


@dataclass(frozen=True)
class _TieSums:
    """Numbers of pairs: right, tied by the metric (in all three ways), and all."""

    concordant: int
    metric_ties: int
    both_tied: int
    human_ties: int
    total: int


def level_accuracy(grid: CellGrid, *, level: str, epsilon: str = "0") -> list[TableRow]:
    r"""Measure accuracy with ties, and PPA, over pairs of cells at a level.

    Parameters
    ----------
    grid
        The common subset of one dimension.
    level
        Which pairs: ``"story"`` takes cells of one story (two methods),
        ``"within_method"`` cells of one method (two stories), ``"pooled"`` all
        cells, ``"method"`` the means of two methods (pairwise accuracy at the system
        level, Kocmi et al. 2021).
    epsilon
        ``"0"`` or ``"insample"``. Nothing can be held out here: a pair of cells of
        two stories belongs to two folds. See `accuracy.pair_agreement` for held-out
        thresholds inside stories.

    Returns
    -------
    list of Row
        One a metric, rows of ``accuracy_levels``: `value` is acc_eq of `n` pairs;
        the PPA is of the `n_pairs` in which people have a preference. Ratings or
        scores of whole methods have pairs at the level ``"method"`` only.

    Raises
    ------
    OptionError
        When the level or epsilon is none of these.

    Notes
    -----
    The smallest of the best thresholds is returned. Pairs are made in blocks, so
    memory does not grow with their number: 20,000 cells have 200 million. First the
    sizes of all differences are counted in bins; only pairs of bins in which the best
    threshold can lie are then looked at one by one.

    Pairs of all groups count alike. Averaging the accuracies of groups instead
    (Deutsch, Foster and Freitag 2023) is the same where all groups have
    the same number of cells.
    """
    check_known("level", (level,), LEVELS)
    if epsilon not in {"0", "insample"}:
        raise OptionError(f"epsilon: {epsilon!r}: expected 0, insample at a level")

    def of_metric(k: int) -> TableRow:
        metric = grid.metrics[k]
        whole = grid.human_is_method_level or metric in grid.method_level
        if whole and level != "method":
            groups: list[PairGroup] = []
        else:
            groups = _groups(grid, k, level)
        sums = _count(groups)
        best = 0.0
        right = sums.concordant + sums.both_tied
        if epsilon == "insample" and sums.total:
            best, more = _best_of_groups(groups)
            right += more
        return _row(grid, k, level, sums, right, best, epsilon == "insample")

    return in_threads(of_metric, range(len(grid.metrics)))


def _row(
    grid: CellGrid,
    k: int,
    level: str,
    sums: _TieSums,
    right: int,
    epsilon: float,
    in_sample: bool,
) -> TableRow:
    decided = sums.total - sums.human_ties
    ties = sums.metric_ties - sums.both_tied
    reason = "" if sums.total else "no two values to compare at this level"
    return {
        "question": grid.question,
        "metric": grid.metrics[k],
        "value": right / sums.total if sums.total else NAN,
        "low": NAN,
        "high": NAN,
        "n": sums.total,
        "reason": reason,
        "level": level,
        "epsilon": epsilon if sums.total else NAN,
        "epsilon_in_sample": in_sample,
        "ppa_strict": sums.concordant / decided if decided else NAN,
        "ppa_half": (sums.concordant + ties / 2) / decided if decided else NAN,
        "metric_tie_rate": ties / decided if decided else NAN,
        "n_pairs": decided,
    }


PairGroup = tuple[Array, Array]


def _groups(grid: CellGrid, k: int, level: str) -> list[PairGroup]:
    """Return people's values and scores of each group of cells, by rising score."""
    if level == "method":
        human, means, weights = method_means(grid, no_draws(*grid.cells.shape))
        used = weights[0] > 0
        return [_by_score(human[0, used], means[k, 0, used])]
    if level == "pooled":
        masks = [grid.cells]
    else:
        axis = 0 if level == "story" else 1
        here = np.arange(grid.cells.shape[axis])
        index = here[:, None] if axis == 0 else here[None, :]
        masks = [grid.cells & (index == g) for g in here]
    return [_by_score(grid.human[mask], grid.scores[k][mask]) for mask in masks]


def _by_score(human: Array, scores: Array) -> PairGroup:
    order = np.argsort(scores, kind="stable")
    return human[order], scores[order]


def _blocks(groups: list[PairGroup]) -> Iterator[tuple[Array, Array]]:
    """Yield differences (people, metric) of pairs, the metric's 0 or more."""
    waiting: list[tuple[Array, Array]] = []
    held = 0
    for human, scores in groups:
        n = len(scores)
        step = max(1, CHUNK // max(n, 1))
        for start in range(0, n - 1, step):
            rows = np.arange(start, min(start + step, n - 1))
            later = rows[:, None] < np.arange(start, n)[None, :]
            dh = (human[None, start:] - human[rows, None])[later]
            dx = (scores[None, start:] - scores[rows, None])[later]
            waiting.append((dh, dx))
            held += len(dx)
            if held > CHUNK:
                yield _joined(waiting)
                waiting, held = [], 0
    if waiting:
        yield _joined(waiting)


def _joined(blocks: list[tuple[Array, Array]]) -> tuple[Array, Array]:
    human, scores = zip(*blocks, strict=True)
    return np.concatenate(human), np.concatenate(scores)


def _count(groups: list[PairGroup]) -> _TieSums:
    counts = np.zeros(5, np.int64)
    for human, scores in groups:
        if len(scores) > MANY:
            counts += _counts_of_many(human, scores)
    for dh, dx in _blocks([group for group in groups if len(group[0]) <= MANY]):
        tied, level = dx == 0, dh == 0
        concordant = (dh > 0) & ~tied
        counts += [
            int(part.sum()) for part in (concordant, tied, tied & level, level)
        ] + [len(dx)]
    return _TieSums(*map(int, counts))


def _counts_of_many(human: Array, scores: Array) -> Counts:
    """Count the pairs of one group without making them, from Kendall's tau-b.

    tau-b is (C - D) / sqrt((C + D + Tm) (C + D + Th)): its numerator is a whole number.
    """
    total, tied, level = (_ties(v) for v in (np.zeros(len(human)), scores, human))
    cells = np.unique(np.stack([human, scores]), axis=1, return_inverse=True)[1]
    both = _ties(np.asarray(cells, float))
    tau = float(kendalltau(human, scores, method="asymptotic").statistic)
    size = math.sqrt(total - tied) * math.sqrt(total - level)
    difference = round(tau * size) if size else 0
    concordant = (total - tied - level + both + difference) // 2
    return np.array([concordant, tied, both, level, total], np.int64)


def _ties(values: Array) -> int:
    sizes = np.unique(values, return_counts=True)[1].astype(np.int64)
    return int((sizes * (sizes - 1) // 2).sum())


def _best_of_groups(groups: list[PairGroup]) -> tuple[float, int]:
    """Return the best threshold, and how many more pairs are right than at 0.

    Beyond 0, a threshold gains each pair that people tie and loses each concordant
    one up to it.
    """
    largest = max((float(x[-1] - x[0]) for _, x in groups if len(x)), default=0.0)
    if largest == 0:
        return 0.0, 0
    total = sum(len(x) * (len(x) - 1) // 2 for _, x in groups)
    bins = BINS if total > LIMIT else 1
    net, gained = np.zeros(bins, np.int64), np.zeros(bins, np.int64)
    if bins > 1:
        for size, gain in _gain_blocks(groups):
            where = _bins_of(size, largest, bins)
            gained += np.bincount(where[gain > 0], minlength=bins)
            net -= np.bincount(where[gain < 0], minlength=bins)
        net += gained
    wanted = _candidate_bins(net, gained)
    sizes: list[Array] = [np.zeros(0)]
    gains: list[Counts] = [np.zeros(0, np.int64)]
    for size, gain in _gain_blocks(groups):
        where = _bins_of(size, largest, bins)
        here = wanted[where]
        sizes.append(size[here])
        gains.append(gain[here])
    passed = np.cumsum(net * ~wanted)
    return _best_step(np.concatenate(sizes), np.concatenate(gains), largest, passed)


def _gain_blocks(groups: list[PairGroup]) -> Iterator[tuple[Array, Counts]]:
    for dh, dx in _blocks(groups):
        gain = (dh == 0).astype(np.int64) - (dh > 0)
        counts = (gain != 0) & (dx > 0)
        yield dx[counts], gain[counts]


def _bins_of(sizes: Array, largest: float, bins: int) -> Counts:
    """Return the bin of each size; equal ones share it, whatever their unit."""
    return np.minimum((sizes / largest * bins).astype(np.int64), bins - 1)


def _candidate_bins(net: Counts, gained: Counts) -> Mask:
    """Tell in which bins the sum of gains may reach the highest at the end of one."""
    if len(net) == 1:
        return np.ones(1, bool)
    after = np.cumsum(net)
    reached = max(0, int(after.max()))
    return np.asarray((after - net + gained >= reached) & (gained > 0))


def _best_step(
    sizes: Array, gains: Counts, largest: float, passed: Counts
) -> tuple[float, int]:
    """Find the smallest size at which the sum of all gains is highest.

    `passed` is what the bins whose pairs are not given add, up to each bin.
    """
    order = np.argsort(sizes, kind="stable")
    sizes, gains = sizes[order], gains[order]
    if not len(sizes):
        return 0.0, 0
    where = _bins_of(sizes, largest, len(passed))
    sums = np.cumsum(gains) + passed[where]
    last = np.append(np.diff(sizes) > 0, True)
    sizes, sums = sizes[last], sums[last]
    best = int(np.argmax(sums))
    return (float(sizes[best]), int(sums[best])) if sums[best] > 0 else (0.0, 0)
