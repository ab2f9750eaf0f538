"""Does a metric prefer what people prefer? Pairs of outputs of one story."""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from analysis.coefficients.levels import HUMAN_DIGITS
from analysis.pairs.pairsums import (
    CHUNK,
    Clusters,
    can_vary,
    draw_clusters,
    resampled_sums,
    weighted_sums,
)
from analysis.pairs.ties import accuracy_with_ties, story_folds
from analysis.parallel import in_threads
from analysis.printing import counted
from analysis.reading.cells import Grid, lacking_scores
from analysis.reading.choices import OUTCOMES, annotator_votes, majority
from analysis.reading.scores import BASELINE, RANDOM, ScoreTable, score_cube
from analysis.resampling import cluster_counts, interval, stream
from analysis.results import NAN, Array, Counts, Estimate, Mask

# Pairs, what one annotator prefers in them, and what all others do.
LeftOut = tuple[Counts, Array, Array]


@dataclass(frozen=True)
class Pairs:
    """All pairs of outputs inside stories that people and all metrics cover.

    Attributes
    ----------
    question
        A dimension or a criterion.
    source
        ``"ratings"`` (differences of mean ratings) or ``"choices"`` (majority).
    stories, methods
        S and M names; some may have no pair.
    story, first, second
        Shape (P,): indexes of the story and of the two methods.
    human
        Shape (P,): 1 where people prefer the first, -1 the second, 0 neither.
    sides
        Shape (2, P): what people gave the first and the second: their mean rating,
        or its share of the votes.
    scores
        Shape (K, P): score of the first minus score of the second, more is
        better.
    cells
        Shape (K, S, M): the scores themselves, more is better.
    metrics
        K names.
    n_annotators
        Number of annotators behind `human`.
    redraw
        From annotator counts (B, A) to resampled `human` (B, P) and whether any
        drawn annotator judged the pair (B, P).
    left_out
        Yields for each annotator the pairs which both he or she and somebody else
        judged, as indexes, and what he or she and what all others prefer in them:
        1, -1 or 0.
    notes
        Which pairs and metrics were dropped, in sentences.
    """

    question: str
    source: str
    stories: tuple[str, ...]
    methods: tuple[str, ...]
    story: Counts
    first: Counts
    second: Counts
    human: Array
    sides: Array
    scores: Array
    cells: Array
    metrics: tuple[str, ...]
    n_annotators: int
    redraw: Callable[[Counts], tuple[Array, Mask]]
    left_out: Callable[[], Iterator[LeftOut]]
    notes: tuple[str, ...] = ()

    @property
    def clusters(self) -> Clusters:
        """Which story and methods each pair belongs to."""
        return Clusters(
            self.story, self.first, self.second, len(self.stories), len(self.methods)
        )


def restricted(pairs: Pairs, stories: Collection[str]) -> Pairs:
    """Return the pairs of some stories, for a stratum.

    Parameters
    ----------
    pairs
        From `rating_pairs` or `choice_pairs`.
    stories
        Names; those without a pair change nothing.
    """
    wanted = np.array([name in stories for name in pairs.stories], bool)
    kept = np.asarray(wanted[pairs.story], bool)

    def redraw(annotators: Counts) -> tuple[Array, Mask]:
        human, judged = pairs.redraw(annotators)
        return human[:, kept], judged[:, kept]

    number = np.cumsum(kept) - 1

    def left_out() -> Iterator[LeftOut]:
        for judged, own, others in pairs.left_out():
            here = kept[judged]
            yield number[judged[here]], own[here], others[here]

    return replace(
        pairs,
        stories=tuple(np.array(pairs.stories, object)[wanted]),
        story=(np.cumsum(wanted) - 1)[pairs.story[kept]],
        first=pairs.first[kept], second=pairs.second[kept], human=pairs.human[kept],
        sides=pairs.sides[:, kept], scores=pairs.scores[:, kept],
        cells=pairs.cells[:, wanted], redraw=redraw,
        left_out=left_out,
    )  # fmt: skip


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
    present = np.isfinite(grid.votes)
    given = np.where(present, grid.votes, 0.0)

    def redraw(annotators: Counts) -> tuple[Array, Mask]:
        drawn = annotators.astype(float)
        count = np.einsum("ba,asm->bsm", drawn, present.astype(float), optimize=True)
        mean = np.einsum("ba,asm->bsm", drawn, given, optimize=True)
        mean /= np.maximum(count, 1)
        difference = mean[:, story, first] - mean[:, story, second]
        judged = (count[:, story, first] > 0) & (count[:, story, second] > 0)
        return np.sign(np.round(difference, HUMAN_DIGITS)), judged

    def left_out() -> Iterator[LeftOut]:
        total, count = given.sum(axis=0), present.sum(axis=0)
        for own, has in zip(given, present, strict=True):
            both = has & (count > 1)
            judged = np.flatnonzero(both[story, first] & both[story, second])
            rest = (total - own) / np.maximum(count - has, 1)
            s, i, j = story[judged], first[judged], second[judged]
            yield (
                judged,
                np.sign(np.round(own[s, i] - own[s, j], HUMAN_DIGITS)),
                np.sign(np.round(rest[s, i] - rest[s, j], HUMAN_DIGITS)),
            )

    kept = [k for k, name in enumerate(grid.metrics) if name not in grid.method_level]
    scores = grid.scores[kept]
    sides = np.stack([grid.human[story, first], grid.human[story, second]])
    return Pairs(
        grid.question, "ratings", grid.stories, grid.methods, story, first, second,
        np.sign(sides[0] - sides[1]), sides,
        scores[:, story, first] - scores[:, story, second], scores,
        tuple(grid.metrics[k] for k in kept), len(grid.votes), redraw, left_out,
    )  # fmt: skip


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
    pairs, votes = annotator_votes(choices)
    stories, story = np.unique(pairs["story"].to_numpy(str), return_inverse=True)
    methods, both = np.unique(
        pairs[["method_a", "method_b"]].to_numpy(str), return_inverse=True
    )
    first, second = both.reshape(-1, 2).T
    cube, method_level = score_cube(
        table, table.metrics, tuple(map(str, stories)), tuple(map(str, methods))
    )
    differences = cube[:, story, first] - cube[:, story, second]
    covered: Mask = np.isfinite(differences)
    by_story = np.array([metric not in method_level for metric in table.metrics], bool)
    usable = covered.any(axis=1) & by_story
    kept = np.asarray(covered[usable].all(axis=0) & usable.any())
    metrics = tuple(np.array(table.metrics, object)[usable])
    signs = np.array([1 if table.higher_is_better[m] else -1 for m in metrics])
    cube = cube[usable] * signs.reshape(-1, 1, 1)
    votes = votes[:, np.repeat(kept, len(OUTCOMES))]
    total = _by_pair(np.asarray(votes.sum(axis=0), float)[None])[0]
    shares = total / np.maximum(total.sum(axis=1, keepdims=True), 1)

    def redraw(annotators: Counts) -> tuple[Array, Mask]:
        drawn = _by_pair(np.asarray(annotators.astype(float) @ votes))
        return majority(drawn), drawn.sum(axis=2) > 0

    def left_out() -> Iterator[LeftOut]:
        for row in range(votes.shape[0]):
            own = _by_pair(votes[[row]].toarray())[0]
            others = total - own
            judged = np.flatnonzero((own.sum(axis=1) > 0) & (others.sum(axis=1) > 0))
            yield judged, majority(own[judged]), majority(others[judged])

    return Pairs(
        criterion, "choices", tuple(map(str, stories)), tuple(map(str, methods)),
        story[kept], first[kept], second[kept], majority(total), shares[:, :2].T,
        cube[:, story, first][:, kept] - cube[:, story, second][:, kept], cube,
        metrics, votes.shape[0], redraw, left_out,
        _dropped(table.metrics, covered, by_story, kept),
    )  # fmt: skip


def _by_pair(votes: Array) -> Array:
    """Lay out the four outcomes of each pair: (B, 4 P) to (B, P, 4)."""
    return votes.reshape(len(votes), -1, len(OUTCOMES))


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
        One a metric, then two baselines: ``constant`` ties every pair, and
        ``random (expected)`` is what a metric that guesses reaches on average. The
        latter is computed, not drawn: a drawn one would be lucky or unlucky, and
        change with the seed.

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
    names = (*pairs.metrics, BASELINE)
    scores = np.vstack([pairs.scores, np.zeros((1, len(pairs.human)))])
    rng = stream(seed, "pairs", pairs.question, pairs.source)
    point = _Sums.of(_features(pairs.human, pairs.scores).sum(axis=0)[None])
    drawn = _Sums.of(_drawn_sums(pairs, parts, resamples, rng))
    folds = story_folds(pairs.story, stream(seed, "folds", pairs.question))
    n = int(point.decided[0, 0])
    with_ties = in_threads(
        lambda k: accuracy_with_ties(
            pairs.human, scores[k], "0" if names[k] == BASELINE else epsilon, folds
        ),
        range(len(names)),
    )
    found = []
    for k, (name, (acc_eq, threshold)) in enumerate(zip(names, with_ties, strict=True)):
        strict, half = (
            _estimate(float(value[0, k]), values[:, k], confidence, n)
            for value, values in zip(point.ppa(), drawn.ppa(), strict=True)
        )
        found.append(
            PairAgreement(
                name, strict, half, float(point.tie_rate()[0, k]), n, acc_eq,
                threshold, epsilon == "insample" and name != BASELINE,
            )
        )  # fmt: skip
    return [*found, random_agreement(pairs, intervals=len(drawn.decided) > 0)]


def _estimate(value: float, draws: Array, confidence: float, n: int) -> Estimate:
    low, high, reason = interval(draws, confidence)
    return Estimate(value, low, high, n=n, reason=reason)


def random_agreement(pairs: Pairs, *, intervals: bool = True) -> PairAgreement:
    """Return what a metric without ties that guesses reaches on average.

    Parameters
    ----------
    pairs
        Only how often people have a preference matters.
    intervals
        Whether to give the expected value as both bounds: it is the same in every
        resample, since nothing is drawn.

    Notes
    -----
    Of the pairs with a preference half are right, of the others none, so acc_eq is
    (C + D) / 2N at epsilon 0.
    """
    decided = int((pairs.human != 0).sum())
    value = 0.5 if decided else NAN
    bound = value if intervals else NAN
    chance = Estimate(value, bound, bound, n=decided)
    acc_eq = decided / 2 / len(pairs.human) if len(pairs.human) else NAN
    ties, epsilon = (0.0 if n else NAN for n in (decided, len(pairs.human)))
    return PairAgreement(RANDOM, chance, chance, ties, decided, acc_eq, epsilon, False)


def ppa_by_story_weights(
    pairs: Pairs, stories: Array, methods: Array | None = None
) -> tuple[Array, Array]:
    """Compute both accuracies where stories and methods count a number of times.

    Parameters
    ----------
    pairs
        Their `stories` and `methods` name the columns of the weights.
    stories
        Shape (B, S): whole numbers.
    methods
        Shape (B, M); None for once each.

    Returns
    -------
    strict, half
        Shapes (B, K), one column a metric; NaN where no pair counts.
    """
    features = _features(pairs.human, pairs.scores)
    sums = _Sums.of(weighted_sums(pairs.clusters, features, stories, methods))
    strict, half = sums.ppa()
    return strict[:, :-1], half[:, :-1]


@dataclass(frozen=True)
class _Sums:
    """C and Tm, each (B, K + 1) with the baseline last, and C + D + Tm, (B, 1)."""

    hits: Array
    ties: Array
    decided: Array

    @classmethod
    def of(cls, sums: Array) -> "_Sums":
        """Take apart sums of `_features`, (B, 2K + 1)."""
        decided = sums[:, :1]
        hits, ties = np.split(sums[:, 1:], 2, axis=1)
        return cls(
            np.hstack([hits, np.zeros_like(decided)]),
            np.hstack([ties, decided]),
            decided,
        )

    def ppa(self) -> tuple[Array, Array]:
        """Return strict and half accuracy."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return self.hits / self.decided, (self.hits + self.ties / 2) / self.decided

    def tie_rate(self) -> Array:
        """Return the share of pairs which the metric ties."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(self.ties / self.decided)


def _features(human: Array, scores: Array) -> Array:
    """Return what is counted of each pair: decided, then hits, then ties of metrics."""
    decided = human != 0
    signs = np.sign(scores)
    return np.vstack([decided, decided & (signs == human), decided & (signs == 0)]).T


def _drawn_sums(
    pairs: Pairs, parts: tuple[str, ...], resamples: int, rng: np.random.Generator
) -> Array:
    if "annotators" in parts:
        return _annotator_sums(pairs, parts, resamples, rng)
    features = _features(pairs.human, pairs.scores)
    return resampled_sums(pairs.clusters, features, parts, resamples, rng)


def _annotator_sums(
    pairs: Pairs, parts: tuple[str, ...], resamples: int, rng: np.random.Generator
) -> Array:
    """Draw annotators, which changes what people prefer, and perhaps a second part."""
    K, P = pairs.scores.shape
    clusters = pairs.clusters
    if not (resamples and P and can_vary(clusters, parts, pairs.n_annotators)):
        return np.empty((0, 2 * K + 1))
    stories, methods = draw_clusters(clusters, parts, resamples, rng)
    first, second, neither = (
        (np.sign(pairs.scores) == sign).T.astype(np.float32) for sign in (1, -1, 0)
    )
    found = []
    step = max(1, CHUNK // P)
    for start in range(0, resamples, step):
        rows = slice(start, min(start + step, resamples))
        size = rows.stop - start
        human, judged = pairs.redraw(cluster_counts(pairs.n_annotators, size, rng))
        weights = judged.astype(np.float32)
        if stories is not None:
            weights *= stories[rows][:, clusters.story]
        if methods is not None:
            weights *= methods[rows][:, clusters.first]
            weights *= methods[rows][:, clusters.second]
        if "units" in parts:
            weights *= cluster_counts(P, size, rng)
        ahead, behind = weights * (human > 0), weights * (human < 0)
        clear = ahead + behind
        found.append(
            np.hstack(
                [
                    clear.sum(axis=1, keepdims=True, dtype=float),
                    ahead @ first + behind @ second,
                    clear @ neither,
                ]
            )
        )
    return np.concatenate(found)
