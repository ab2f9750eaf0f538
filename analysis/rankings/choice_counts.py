"""Side-by-side answers as codes, and their tables of counts."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis.inference.crossed_clusters import Cluster
from analysis.rankings.bradley_terry import (
    TIED,
    TIED_LEFT_FIRST,
    WINS,
    WINS_ON_LEFT,
    WINS_ON_RIGHT,
)
from analysis.reading.rankings import OUTCOMES, majority
from analysis.results import Array, Counts, Mask

PARTS = ("stories", "annotators", "units")
TIE = OUTCOMES.index("tie")


@dataclass(frozen=True)
class CriterionVotes:
    """Answers of one criterion."""

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

    def among(self, members: Counts) -> "CriterionVotes":
        """Return the answers about some methods, which met no others."""
        M = len(self.methods)
        place = np.full(M, -1)
        place[members] = np.arange(len(members))
        plane, winner, loser = np.unravel_index(self.cell, self.shape)
        kept = place[winner] >= 0
        cell = np.ravel_multi_index(
            (plane[kept], place[winner[kept]], place[loser[kept]]),
            (self.planes, len(members), len(members)),
        )
        clusters: dict[str, Cluster] = {}
        for part, (codes, _n) in self.clusters.items():
            found, own = np.unique(codes[kept], return_inverse=True)
            clusters[part] = own, len(found)
        methods = tuple(self.methods[k] for k in members)
        return CriterionVotes(methods, self.planes, cell, clusters)


def coded(column: pd.Series) -> tuple[Counts, list[str]]:
    """Return codes of a column and the sorted texts they stand for; -1 is missing."""
    codes, values = pd.factorize(column)
    names = [str(value) for value in values]
    order = sorted(range(len(names)), key=names.__getitem__)
    place = np.empty(len(names) + 1, np.int64)
    place[order], place[-1] = np.arange(len(names)), -1
    return place[codes], [names[k] for k in order]


def choice_votes(
    choices: pd.DataFrame, *, by_majority: bool, side: bool
) -> CriterionVotes:
    """Read answers into codes."""
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


def kinds_drawn(clusters: dict[str, Cluster], parts: Iterable[str]) -> list[Cluster]:
    """Return the clusters to draw: units lie inside stories."""
    wanted = set(parts)
    if "stories" in wanted:
        wanted -= {"units"}
    return [clusters[part] for part in sorted(wanted)]
