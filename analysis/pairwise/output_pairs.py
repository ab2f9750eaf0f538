"""Pairs of outputs of one story: what people and metrics prefer, and sums over them."""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from analysis.correlations.levels import HUMAN_DIGITS
from analysis.inference.resampling import cluster_counts
from analysis.reading.cells import CellGrid
from analysis.reading.rankings import OUTCOMES, annotator_votes, majority
from analysis.reading.scores import (
    ScoreTable,
    common_note,
    compared_metrics,
    few_scores,
    lacking_scores,
    score_cube,
)
from analysis.results import Array, Counts, Mask
from analysis.sentences import counted, sentence

# Numbers held at once.
CHUNK = 4_000_000


# Pairs, what one annotator prefers in them, and what all others do.
LeftOut = tuple[Counts, Array, Array]


@dataclass(frozen=True)
class Pairs:
    """All pairs of outputs inside stories that people and all metrics cover."""

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
    apart: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()


def story_sums(pairs: Pairs, features: Array) -> Array:
    """Sum features of pairs, (P, F), over their stories: (S, F)."""
    n = len(pairs.stories)
    columns = [np.bincount(pairs.story, x, minlength=n) for x in features.T]
    return np.stack(columns, axis=1) if columns else np.zeros((n, 0))


def pair_places(pairs: Pairs) -> tuple[Counts, Counts, int]:
    """Return a number of each pair's story and of its methods, and how many methods."""
    story = np.unique(pairs.story, return_inverse=True)[1]
    both = np.stack([pairs.first, pairs.second])
    used, index = np.unique(both, return_inverse=True)
    first, second = np.sort(index.reshape(both.shape), axis=0)
    i, j = np.triu_indices(len(used), 1)
    code = np.zeros((len(used), len(used)), int)
    code[i, j] = np.arange(len(i))
    return story, code[first, second], len(used)


def draw_clusters(
    pairs: Pairs, parts: tuple[str, ...], resamples: int, rng: np.random.Generator
) -> tuple[Array | None, Array | None]:
    """Draw stories and methods that have a pair; None for what is not drawn."""

    def drawn(part: str, present: Counts, n: int) -> Array | None:
        if part not in parts:
            return None
        counts = np.zeros((resamples, n))
        counts[:, present] = cluster_counts(len(present), resamples, rng)
        return counts

    both = np.unique(np.concatenate([pairs.first, pairs.second]))
    stories = drawn("stories", np.unique(pairs.story), len(pairs.stories))
    return stories, drawn("methods", both, len(pairs.methods))


def can_vary(pairs: Pairs, parts: tuple[str, ...]) -> bool:
    """Return whether at least one kind of cluster has two members to draw from."""
    sizes = {
        "stories": len(np.unique(pairs.story)),
        "methods": len(np.unique([pairs.first, pairs.second])),
        "annotators": pairs.n_annotators,
        "units": len(pairs.story),
    }
    return any(sizes[part] > 1 for part in parts)


def restricted(pairs: Pairs, stories: Collection[str]) -> Pairs:
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
        first=pairs.first[kept],
        second=pairs.second[kept],
        human=pairs.human[kept],
        sides=pairs.sides[:, kept],
        scores=pairs.scores[:, kept],
        cells=pairs.cells[:, wanted],
        redraw=redraw,
        left_out=left_out,
    )


def rating_pairs(grid: CellGrid) -> Pairs:
    """Compare mean ratings of all pairs of methods inside each story."""
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
        grid.question,
        "ratings",
        grid.stories,
        grid.methods,
        story,
        first,
        second,
        np.sign(sides[0] - sides[1]),
        sides,
        scores[:, story, first] - scores[:, story, second],
        scores,
        tuple(grid.metrics[k] for k in kept),
        len(grid.votes),
        redraw,
        left_out,
        grid.apart,
    )


def choice_pairs(
    criterion: str, choices: pd.DataFrame, table: ScoreTable, *, source: str = "choices"
) -> Pairs:
    """Compare metrics with the majority of side-by-side answers."""
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
    usable, kept = compared_metrics(table, covered & by_story[:, None])
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
        criterion,
        source,
        tuple(map(str, stories)),
        tuple(map(str, methods)),
        story[kept],
        first[kept],
        second[kept],
        majority(total),
        shares[:, :2].T,
        cube[:, story, first][:, kept] - cube[:, story, second][:, kept],
        cube,
        metrics,
        votes.shape[0],
        redraw,
        left_out,
        frozenset(
            name
            for name, own in zip(table.metrics, covered, strict=True)
            if name not in method_level and own.any() and (own != kept).any()
        ),
        _dropped(table, covered, by_story, usable, kept),
    )


def _by_pair(votes: Array) -> Array:
    """Lay out the four outcomes of each pair: (B, 4 P) to (B, P, 4)."""
    return votes.reshape(len(votes), -1, len(OUTCOMES))


def _dropped(
    table: ScoreTable, covered: Mask, by_story: Mask, usable: Mask, kept: Mask
) -> tuple[str, ...]:
    """Say which metrics and pairs comparisons between metrics leave out."""
    notes = []
    metrics = np.array(table.metrics, object)
    plain = np.array([metric not in table.composites for metric in metrics], bool)
    for k, metric in enumerate(metrics):
        if not plain[k]:
            continue
        if not by_story[k]:
            notes.append(
                sentence(
                    "metric {metric} has method-level scores, which say "
                    "nothing of a pair inside a story.",
                    metric=metric,
                )
            )
        elif not covered[k].any():
            notes.append(
                sentence(
                    "metric {metric} scores no compared pair of outputs.", metric=metric
                )
            )
    few = covered.any(axis=1) & by_story & ~usable & plain
    notes += few_scores(metrics, covered, few, "compared pair")
    told = usable & plain
    lacking = lacking_scores(tuple(metrics[told]), covered[told])
    if lacking:
        rated = counted(len(kept), "compared pair")
        several = bool(covered[told].any(axis=1).sum() > 1)
        notes.append(common_note(int(kept.sum()), rated, lacking, several=several))
    return tuple(notes)
