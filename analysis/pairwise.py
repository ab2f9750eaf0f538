"""Does a metric prefer what people prefer? Pairs of outputs of one story."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis.cells import Grid, lacking_scores
from analysis.choices import majority, vote_counts
from analysis.levels import CHUNK, HUMAN_DIGITS
from analysis.printing import counted
from analysis.resampling import cluster_counts, interval, stream
from analysis.results import NAN, Array, Counts, Estimate, Mask
from analysis.scores import BASELINE, ScoreTable, score_cube

FOLDS = 5


@dataclass(frozen=True)
class Pairs:
    """All pairs of outputs inside stories that people and all metrics cover.

    Attributes
    ----------
    question
        A dimension or a criterion.
    source
        ``"ratings"`` (differences of mean ratings) or ``"choices"`` (majority).
    story, first, second
        Shape (P,): indexes of the story and of the two methods.
    human
        Shape (P,): 1 where people prefer the first, -1 the second, 0 neither.
    scores
        Shape (K, P): score of the first minus score of the second, more is
        better.
    metrics
        K names.
    n_annotators
        Number of annotators behind `human`.
    redraw
        From annotator counts (B, A) to resampled `human` (B, P) and whether any
        drawn annotator judged the pair (B, P).
    notes
        Which pairs and metrics were dropped, in sentences.
    """

    question: str
    source: str
    story: Counts
    first: Counts
    second: Counts
    human: Array
    scores: Array
    metrics: tuple[str, ...]
    n_annotators: int
    redraw: Callable[[Counts], tuple[Array, Mask]]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class PairAgreement:
    """How one metric predicts people's preferences.

    Attributes
    ----------
    metric
        Its name.
    strict, half
        Pairwise prediction accuracy: a metric tie is a miss, or half a hit.
    tie_rate
        Share of the pairs which the metric ties.
    n_pairs
        Pairs in which people have a preference.
    acc_eq
        Share of all pairs predicted, ties included; NaN when not computed.
    epsilon
        Largest difference of scores that acc_eq takes for a tie.
    in_sample
        Whether epsilon was tuned on the same pairs.
    """

    metric: str
    strict: Estimate
    half: Estimate
    tie_rate: float
    n_pairs: int
    acc_eq: float
    epsilon: float
    in_sample: bool


def rating_pairs(grid: Grid) -> Pairs:
    """Compare mean ratings of all pairs of methods inside each story.

    Parameters
    ----------
    grid
        The common subset of one dimension. People's means are equal when they
        differ by rounding only; scores are compared as given. Metrics with
        method-level scores only are left out: they say nothing of a story.
    """
    i, j = np.triu_indices(len(grid.methods), 1)
    story, pair = np.nonzero(grid.cells[:, i] & grid.cells[:, j])
    first, second = i[pair], j[pair]
    votes_first, votes_second = (
        grid.votes[:, story, first],
        grid.votes[:, story, second],
    )

    def redraw(annotators: Counts) -> tuple[Array, Mask]:
        a, has_a = _weighted_mean(annotators, votes_first)
        b, has_b = _weighted_mean(annotators, votes_second)
        return np.sign(np.round(a - b, HUMAN_DIGITS)), has_a & has_b

    kept = [k for k, name in enumerate(grid.metrics) if name not in grid.method_level]
    scores = grid.scores[kept]
    return Pairs(
        grid.question, "ratings", story, first, second,
        np.sign(grid.human[story, first] - grid.human[story, second]),
        scores[:, story, first] - scores[:, story, second],
        tuple(grid.metrics[k] for k in kept), len(grid.votes), redraw,
    )  # fmt: skip


def _weighted_mean(annotators: Counts, votes: Array) -> tuple[Array, Mask]:
    present = np.isfinite(votes)
    count = annotators @ present.astype(float)
    total = annotators @ np.where(present, votes, 0.0)
    return total / np.maximum(count, 1), count > 0


def choice_pairs(criterion: str, choices: pd.DataFrame, table: ScoreTable) -> Pairs:
    """Compare metrics with the majority of side-by-side answers.

    Parameters
    ----------
    criterion
        The question.
    choices
        Its rows, methods in alphabetical order.
    table
        The scores. Pairs are kept where every metric that scores any of the
        compared pairs scores both outputs.
    """
    pairs, votes = vote_counts(choices)
    stories = tuple(sorted(pairs["story"].unique()))
    methods = tuple(sorted({*pairs["method_a"], *pairs["method_b"]}))
    cube, method_level = score_cube(table, table.metrics, stories, methods)
    story = pairs["story"].map(stories.index).to_numpy(int)
    first = pairs["method_a"].map(methods.index).to_numpy(int)
    second = pairs["method_b"].map(methods.index).to_numpy(int)
    differences = cube[:, story, first] - cube[:, story, second]
    covered: Mask = np.isfinite(differences)
    by_story = np.array([metric not in method_level for metric in table.metrics], bool)
    usable = covered.any(axis=1) & by_story
    kept = np.asarray(covered[usable].all(axis=0) & usable.any())
    metrics = tuple(np.array(table.metrics, object)[usable])
    signs = np.array([1 if table.higher_is_better[m] else -1 for m in metrics])
    votes = votes[:, kept]

    def redraw(annotators: Counts) -> tuple[Array, Mask]:
        drawn = np.einsum("ba,apo->bpo", annotators.astype(float), votes)
        return majority(drawn), drawn.sum(axis=2) > 0

    return Pairs(
        criterion, "choices", story[kept], first[kept], second[kept],
        majority(votes.sum(axis=0)), differences[usable][:, kept] * signs[:, None],
        metrics, len(votes), redraw,
        _dropped(table.metrics, covered, by_story, kept),
    )  # fmt: skip


def _dropped(
    metrics: tuple[str, ...], covered: Mask, by_story: Mask, kept: Mask
) -> tuple[str, ...]:
    """Say which metrics and pairs a comparison with choices leaves out."""
    notes = []
    for k, metric in enumerate(metrics):
        if not by_story[k]:
            notes.append(
                f"metric {metric} has method-level scores, which say nothing of a "
                "pair inside a story."
            )
        elif not covered[k].any():
            notes.append(f"metric {metric} scores no compared pair of outputs.")
    names = tuple(np.array(metrics, object)[by_story])
    lacking = lacking_scores(names, covered[by_story])
    if lacking:
        notes.append(
            f"{int(kept.sum())} of {counted(len(kept), 'compared pair')} used, those "
            f"with scores of every metric ({lacking})."
        )
    return tuple(notes)


def pair_agreement(
    pairs: Pairs,
    *,
    epsilon: str,
    parts: tuple[str, ...],
    resamples: int,
    confidence: float,
    seed: int,
) -> list[PairAgreement]:
    r"""Measure how every metric predicts people's preferences inside stories.

    Parameters
    ----------
    pairs
        From `rating_pairs` or `choice_pairs`.
    epsilon
        Tie threshold of acc_eq. ``"heldout"``: stories fall into five folds, and
        each fold uses the threshold that is best on the other four; the median
        of the five is reported. ``"insample"``: the best one on the same pairs,
        which flatters. ``"0"``: equal scores only.
    parts
        Clusters to draw; ``units`` are pairs here.
    resamples, confidence, seed
        Number of resamples (0 for no intervals), coverage, seed.

    Returns
    -------
    list of PairAgreement
        One a metric, then the baseline ``constant`` that ties every pair.

    Notes
    -----
    With C concordant and D discordant pairs, Th tied by people only, Tm by the
    metric only, Thm by both, and N their sum:

    - strict PPA :math:`C / (C + D + T_m)`: pairs which people tie are dropped, a
      metric tie is a miss (VISTAR);
    - half PPA :math:`(C + T_m / 2) / (C + D + T_m)`: chance is 0.5 for every
      metric, the constant one included;
    - acc_eq :math:`(C + T_{hm}) / N` with metric ties up to epsilon (Deutsch,
      Foster and Freitag 2023, Ties Matter, arXiv 2305.14324).

    Values are NaN where no pair counts.
    """
    scores = np.vstack([pairs.scores, np.zeros((1, len(pairs.human)))])
    names = (*pairs.metrics, BASELINE)
    rng = stream(seed, "pairs", pairs.question, pairs.source)
    rows = np.ones((1, len(pairs.human)))
    hits, ties, decided = _pair_sums(pairs.human[None], scores, rows)
    drawn = _resampled_sums(pairs, scores, parts, resamples, rng)
    folds = _story_folds(pairs.story, stream(seed, "folds", pairs.question))
    found = []
    for k, name in enumerate(names):
        acc_eq, threshold = _accuracy_with_ties(
            pairs.human, scores[k], "0" if name == BASELINE else epsilon, folds
        )
        n = int(decided[0])
        strict, half, tie_rate = (
            float(v[0]) for v in _ppa(hits[:, k], ties[:, k], decided)
        )
        estimates = []
        draws = _ppa(drawn[0][:, k], drawn[1][:, k], drawn[2])
        for value, values in ((strict, draws[0]), (half, draws[1])):
            low, high, reason = interval(values, confidence)
            estimates.append(Estimate(value, low, high, n=n, reason=reason))
        in_sample = epsilon == "insample" and name != BASELINE
        found.append(
            PairAgreement(
                name, estimates[0], estimates[1], tie_rate, n, acc_eq, threshold,
                in_sample,
            )
        )  # fmt: skip
    return found


def _pair_sums(
    human: Array, scores: Array, weights: Array
) -> tuple[Array, Array, Array]:
    """Return C and Tm, each (B, K), and C + D + Tm, (B,)."""
    clear = weights * (human != 0)
    signs = np.sign(scores)
    if len(human) == 1:
        hits = clear @ (signs == human).T.astype(float)
    else:
        hits = np.stack([(clear * (human == s)).sum(axis=1) for s in signs], axis=1)
    return hits, clear @ (signs == 0).T.astype(float), clear.sum(axis=1)


def _ppa(hits: Array, ties: Array, decided: Array) -> tuple[Array, Array, Array]:
    with np.errstate(invalid="ignore", divide="ignore"):
        return hits / decided, (hits + ties / 2) / decided, ties / decided


def _resampled_sums(
    pairs: Pairs,
    scores: Array,
    parts: tuple[str, ...],
    resamples: int,
    rng: np.random.Generator,
) -> tuple[Array, Array, Array]:
    K, P = scores.shape
    if resamples == 0 or P == 0 or not _can_vary(pairs, parts):
        return np.empty((0, K)), np.empty((0, K)), np.empty(0)
    stories, story = np.unique(pairs.story, return_inverse=True)
    n_methods = int(max(pairs.first.max(), pairs.second.max())) + 1
    found = []
    step = max(1, CHUNK // P)
    for start in range(0, resamples, step):
        B = min(step, resamples - start)
        weights, human = np.ones((B, P)), pairs.human[None]
        if "stories" in parts:
            weights *= cluster_counts(len(stories), B, rng)[:, story]
        if "methods" in parts:
            methods = cluster_counts(n_methods, B, rng)
            weights *= methods[:, pairs.first] * methods[:, pairs.second]
        if "units" in parts:
            weights *= cluster_counts(P, B, rng)
        if "annotators" in parts:
            human, judged = pairs.redraw(cluster_counts(pairs.n_annotators, B, rng))
            weights *= judged
        found.append(_pair_sums(human, scores, weights))
    hits, ties, decided = zip(*found, strict=True)
    return np.concatenate(hits), np.concatenate(ties), np.concatenate(decided)


def _can_vary(pairs: Pairs, parts: tuple[str, ...]) -> bool:
    sizes = {
        "stories": len(np.unique(pairs.story)),
        "methods": len(np.unique([pairs.first, pairs.second])),
        "annotators": pairs.n_annotators,
        "units": len(pairs.story),
    }
    return any(sizes[part] > 1 for part in parts)


def _story_folds(story: Counts, rng: np.random.Generator) -> list[Mask]:
    """Cut stories at random into folds; fewer folds than stories, never one."""
    stories, index = np.unique(story, return_inverse=True)
    n = min(FOLDS, len(stories))
    fold = rng.permutation(len(stories)) % n if n > 1 else np.zeros(0, int)
    return [fold[index] == f for f in range(n)] if n > 1 else []


def _accuracy_with_ties(
    human: Array, scores: Array, epsilon: str, folds: list[Mask]
) -> tuple[float, float]:
    """Return acc_eq and its epsilon."""
    if not len(human):
        return NAN, NAN
    if epsilon == "0":
        return float(_right(human, scores, 0.0).mean()), 0.0
    if epsilon == "insample":
        best = best_epsilon(human, scores)
        return float(_right(human, scores, best).mean()), best
    if not folds:
        return NAN, NAN
    right, thresholds = 0, []
    for fold in folds:
        best = best_epsilon(human[~fold], scores[~fold])
        thresholds.append(best)
        right += int(_right(human[fold], scores[fold], best).sum())
    return right / len(human), float(np.median(thresholds))


def _right(human: Array, scores: Array, epsilon: float) -> Mask:
    predicted = np.where(np.abs(scores) <= epsilon, 0.0, np.sign(scores))
    return np.asarray(predicted == human)


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
    size = np.abs(scores)
    order = np.argsort(size, kind="stable")
    tied = np.cumsum((human == 0)[order])
    clear = ((np.sign(scores) == human) & (human != 0))[order]
    right = tied + clear.sum() - np.cumsum(clear)
    last = np.append(np.diff(size[order]) > 0, True)  # of each run of equal sizes
    candidates, right = size[order][last], right[last]
    if candidates[0] > 0:
        candidates = np.insert(candidates, 0, 0.0)
        right = np.insert(right, 0, clear.sum())
    return float(candidates[np.argmax(right)])
