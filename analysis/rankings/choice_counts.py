"""Side-by-side answers as codes, their tables of counts, and resamples of these."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pandas as pd
from scipy import sparse

from analysis.inference.resampling import cluster_counts, stream
from analysis.rankings.bradley_terry import (
    TIED,
    TIED_LEFT_FIRST,
    WINS,
    WINS_ON_LEFT,
    WINS_ON_RIGHT,
)
from analysis.reading.choices import OUTCOMES, majority
from analysis.results import Array, Counts, Mask

PARTS = ("stories", "annotators", "units")
# Numbers held at once while resampling: resamples x (clusters or cells of a table).
CHUNK = 4_000_000
# Whole numbers up to here are exact in single precision.
EXACT = 2**24
TIE = OUTCOMES.index("tie")


class CountedAnswers(Protocol):
    """Answers of one criterion whose table of counts is all that matters.

    Attributes
    ----------
    cell
        Shape (n,): what each answer says, as an index into the flat table.
    clusters
        Part to the cluster of each answer, shape (n,), and the number of clusters.
    shape, size
        Of a table of counts.
    """

    @property
    def cell(self) -> Counts: ...  # noqa: D102
    @property
    def clusters(self) -> dict[str, tuple[Counts, int]]: ...  # noqa: D102
    @property
    def shape(self) -> tuple[int, ...]: ...  # noqa: D102
    @property
    def size(self) -> int: ...  # noqa: D102


@dataclass(frozen=True)
class CriterionVotes:
    """Answers of one criterion.

    Attributes
    ----------
    methods
        M names, sorted.
    planes
        2, or 5 with the side: see `analysis.rankings.bradley_terry.fit_model`.
    cell
        Shape (n,): what each answer says, as an index into a table of counts of
        shape (planes, M, M).
    clusters
        Part to the cluster of each answer, shape (n,), and the number of clusters.
    """

    methods: tuple[str, ...]
    planes: int
    cell: Counts
    clusters: dict[str, tuple[Counts, int]]

    @property
    def shape(self) -> tuple[int, int, int]:
        """The shape of a table of counts."""
        return self.planes, len(self.methods), len(self.methods)

    @property
    def size(self) -> int:
        """The number of cells of a table of counts."""
        return self.planes * len(self.methods) ** 2

    def counts(self) -> Array:
        """Return the table of all answers, shape (planes, M, M)."""
        found = np.bincount(self.cell, minlength=self.size)
        return found.reshape(self.shape).astype(float)

    def without_ties(self) -> "CriterionVotes":
        """Leave ties out; clusters that have nothing else can still be drawn."""
        plane = self.cell // len(self.methods) ** 2
        kept = (plane != TIED) & (plane != TIED_LEFT_FIRST)
        clusters = {
            part: (codes[kept], n) for part, (codes, n) in self.clusters.items()
        }
        return CriterionVotes(self.methods, self.planes, self.cell[kept], clusters)


def coded(column: pd.Series) -> tuple[Counts, list[str]]:
    """Return codes of a column and the sorted texts they stand for; -1 is missing.

    Examples
    --------
    >>> codes, names = coded(pd.Series(["uno", "sora", "uno"]))
    >>> codes.tolist(), names
    ([1, 0, 1], ['sora', 'uno'])
    """
    codes, values = pd.factorize(column)
    names = [str(value) for value in values]
    order = sorted(range(len(names)), key=names.__getitem__)
    place = np.empty(len(names) + 1, np.int64)
    place[order], place[-1] = np.arange(len(names)), -1
    return place[codes], [names[k] for k in order]


def choice_votes(
    choices: pd.DataFrame, *, by_majority: bool, side: bool
) -> CriterionVotes:
    """Read answers into codes.

    Parameters
    ----------
    choices
        Kept rows of one criterion, in any order.
    by_majority
        Replace the answers of a story and pair by their majority; without one, a tie.
    side
        Keep which output stood on the left, as `left_method` says. Not by majority.
    """
    story, stories = coded(choices["story"])
    (first, second), methods = _coded_methods(choices, ("method_a", "method_b"))
    M = len(methods)
    answer = _recoded(choices["choice"], OUTCOMES)
    low, high = np.minimum(first, second), np.maximum(first, second)
    key = (story * M + low) * M + high
    if by_majority:
        return _majorities(key, answer, first > second, methods, len(stories))
    kind = np.minimum(answer, TIE)
    annotator, annotators = coded(choices["annotator"])
    unit, units = pd.factorize(key, sort=True)
    clusters = {
        "stories": (story, len(stories)),
        "annotators": (annotator, len(annotators)),
        "units": (unit, len(units)),
    }
    winner = np.where(kind == 1, second, first)
    loser = np.where(kind == 1, first, second)
    plane = np.where(kind == TIE, TIED, WINS)
    if side:
        left = _recoded(choices["left_method"], methods)
        winner, loser, plane = _sided(winner, loser, plane, left)
    cell = (plane * M + winner) * M + loser
    return CriterionVotes(methods, 5 if side else 2, cell, clusters)


def _sided(
    winner: Counts, loser: Counts, plane: Counts, left: Counts
) -> tuple[Counts, Counts, Counts]:
    """Choose the plane of each answer by the side of its winner; ties: left first."""
    tie, on_left, on_right = plane == TIED, left == winner, left == loser
    turned = tie & on_right
    plane = np.select(
        [tie & (on_left | on_right), on_left, on_right],
        [TIED_LEFT_FIRST, WINS_ON_LEFT, WINS_ON_RIGHT],
        plane,
    )
    return np.where(turned, loser, winner), np.where(turned, winner, loser), plane


def _majorities(
    key: Counts, answer: Counts, turned: Mask, methods: tuple[str, ...], n_stories: int
) -> CriterionVotes:
    """Make one answer of all those of a story and pair."""
    M = len(methods)
    unit, keys = pd.factorize(key, sort=True)
    # In the order of the methods' names: a and b change places where they are turned.
    answer = np.where(turned & (answer < TIE), 1 - answer, answer)
    votes = np.bincount(unit * len(OUTCOMES) + answer, minlength=len(keys) * 4)
    decided = majority(votes.reshape(-1, len(OUTCOMES)).astype(float))
    low, high = keys // M % M, keys % M
    winner, loser = np.where(decided < 0, high, low), np.where(decided < 0, low, high)
    plane = np.where(decided == 0, TIED, WINS)
    clusters = {
        "stories": (keys // (M * M), n_stories),
        "annotators": (np.zeros(len(keys), int), 1),
        "units": (np.arange(len(keys)), len(keys)),
    }
    return CriterionVotes(methods, 2, (plane * M + winner) * M + loser, clusters)


def _coded_methods(
    choices: pd.DataFrame, columns: tuple[str, ...]
) -> tuple[list[Counts], tuple[str, ...]]:
    found = [coded(choices[column]) for column in columns]
    methods = tuple(sorted({name for _, names in found for name in names}))
    place = {name: k for k, name in enumerate(methods)}
    return [
        np.array([place[name] for name in names])[codes] for codes, names in found
    ], methods


def _recoded(column: pd.Series, known: tuple[str, ...]) -> Counts:
    """Return the place of every text in `known`, -1 for others and missing ones."""
    codes, names = coded(column)
    place = {name: k for k, name in enumerate(known)}
    return np.array([*(place.get(name, -1) for name in names), -1])[codes]


def resampled_counts(
    votes: CountedAnswers,
    parts: tuple[str, ...],
    *,
    resamples: int,
    seed: int,
    name: str,
) -> Iterator[Array]:
    """Yield tables of counts of cluster resamples, shape (b, *votes.shape).

    Parameters
    ----------
    votes
        The answers.
    parts
        Clusters to draw, of `PARTS`. An answer counts as often as the product of the
        counts of its clusters; units lie inside stories.
    resamples, seed, name
        Number of resamples, of which there are none where each part has one cluster;
        seed and name of the random streams, one a part.

    Notes
    -----
    Answers are never weighted one by one: those of an outer cluster (the part with
    fewer of them) are summed over their inner clusters as a sparse product, and these
    sums, weighted by the outer cluster, are added. All sums are whole numbers, exact
    in any order.
    """
    if not any(votes.clusters[part][1] > 1 for part in parts):
        return
    draws = _Draws(votes, parts, seed, name)
    step = max(1, CHUNK // max(votes.size, draws.largest))
    table = _nested_table(votes, draws)
    most = np.bincount(votes.cell).max(initial=0)
    for start in range(0, resamples, step):
        inner, outer = draws.next(min(step, resamples - start))
        exact = most * inner.max() * outer.max() < EXACT
        kind = np.float32 if exact else np.float64
        found = _weighted_sums(table.astype(kind), inner.astype(kind), outer, votes)
        yield found.T.reshape(-1, *votes.shape).astype(float)


class _Draws:
    """Draws clusters: of an inner part and of an outer one, which may be a single."""

    def __init__(
        self, votes: CountedAnswers, parts: tuple[str, ...], seed: int, name: str
    ) -> None:
        none = (np.zeros(len(votes.cell), int), 1)
        self._parts = {part: votes.clusters[part] for part in sorted(parts)}
        self._rng = {part: stream(seed, name, part) for part in parts}
        inside = "units" if "units" in parts else "stories"
        pair = [
            self._parts.get(inside, none),
            self._parts.get("annotators", none),
        ]
        pair.sort(key=lambda cluster: -cluster[1])
        self.inner, self.outer = pair
        self._swapped = pair[0] is self._parts.get("annotators")
        self._inside = inside
        self.largest = max(self.inner[1], self.outer[1])

    def next(self, resamples: int) -> tuple[Array, Array]:
        """Return weights of the inner and outer clusters, (clusters, resamples)."""
        drawn = {
            part: cluster_counts(n, resamples, self._rng[part]).T
            for part, (_, n) in self._parts.items()
        }
        one = np.ones((1, resamples), int)
        inside = drawn.get(self._inside, one)
        if "units" in drawn and "stories" in drawn:
            units, n = self._parts["units"]
            story_of = np.zeros(n, int)
            story_of[units] = self._parts["stories"][0]
            inside = inside * drawn["stories"][story_of]
        people = drawn.get("annotators", one)
        pair = (people, inside) if self._swapped else (inside, people)
        return np.ascontiguousarray(pair[0], float), np.asarray(pair[1], float)


def _nested_table(votes: CountedAnswers, draws: _Draws) -> sparse.csr_array:
    """Count answers by outer cluster and cell (rows) and inner cluster (columns)."""
    (inner, n_inner), (outer, n_outer) = draws.inner, draws.outer
    rows = outer.astype(np.int64) * votes.size + votes.cell
    return sparse.coo_array(
        (np.ones(len(rows), np.float32), (rows, inner)),
        shape=(n_outer * votes.size, n_inner),
    ).tocsr()


def _weighted_sums(
    table: sparse.csr_array, inner: Array, outer: Array, votes: CountedAnswers
) -> Array:
    """Return counts by cell and resample, shape (cells, b)."""
    total = np.zeros((votes.size, inner.shape[1]), inner.dtype)
    for k, weight in enumerate(outer.astype(inner.dtype)):
        block = table[k * votes.size : (k + 1) * votes.size]
        used = np.flatnonzero(np.diff(block.indptr))
        total[used] += (block[used] @ inner) * weight
    return total
