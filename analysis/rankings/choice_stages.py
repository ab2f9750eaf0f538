"""Rankings as choices: the best of a set of methods, then of those that are left."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from analysis.rankings.choice_votes import coded
from analysis.reading.rankings import in_orders
from analysis.results import Array, Counts, Mask


@dataclass(frozen=True)
class ChoiceSets:
    """S sets of methods, and the C different choices of the best among them.

    `members` are the sets by size, (S, size) each; `source` is the set that each choice
    was made from, (C,), and `chosen` its best, several where they tie, (C, M).
    """

    members: tuple[Counts, ...]
    source: Counts
    chosen: Mask

    @property
    def n_methods(self) -> int:
        """The number of methods."""
        return int(self.chosen.shape[1])

    @property
    def n_sets(self) -> int:
        """The number of sets."""
        return sum(len(sets) for sets in self.members)

    @cached_property
    def inside(self) -> Mask:
        """The methods of each set as a mask, (S, M)."""
        found = np.zeros((self.n_sets, self.n_methods), bool)
        start = 0
        for sets in self.members:
            rows = np.arange(start, start + len(sets))
            found[rows[:, None], sets] = True
            start += len(sets)
        return found

    @cached_property
    def tied(self) -> Counts:
        """The number of methods of each choice, (C,)."""
        return np.asarray(self.chosen.sum(axis=1))

    @cached_property
    def tie_sizes(self) -> Counts:
        """The sizes of ties that occur."""
        found = np.unique(self.tied)
        return found[found > 1]

    def beats(self, counts: Array) -> Array:
        """Return how often each method stood before each other one, (M, M).

        Of two that tie, each stood before the other.
        """
        found = (self.chosen * counts[:, None]).T @ self.inside[self.source]
        np.fill_diagonal(found, 0)
        return np.asarray(found)

    def with_average_method(
        self, counts: Array, weight: float
    ) -> tuple["ChoiceSets", Array]:
        """Add a method that stood before and after each other in half of `weight`."""
        M = self.n_methods
        pairs = np.column_stack([np.arange(M), np.full(M, M)])
        source = np.repeat(self.n_sets + np.arange(M), 2)
        both = np.zeros((2 * M, M + 1), bool)
        both[np.arange(2 * M), pairs.ravel()] = True
        chosen = np.concatenate([np.pad(self.chosen, ((0, 0), (0, 1))), both])
        sets = ChoiceSets(
            (*self.members, pairs), np.concatenate([self.source, source]), chosen
        )
        return sets, np.append(counts, np.full(2 * M, weight / 2))


# Methods in order, and how many of the answer stand above each, both (answers, size).
Order = tuple[Counts, Counts]


def choice_sets(
    orders: Sequence[Order], n_methods: int
) -> tuple[ChoiceSets, Counts, Counts]:
    """Split orders, of one length each, into choices; also return their cell and row.

    An order of k outputs without ties is k - 1 choices: there is none of a single
    output that is left. Tied outputs are one choice.
    """
    found: dict[int, list[tuple[Counts, Mask, Counts]]] = defaultdict(list)
    first = 0
    for ranked, place in orders:
        n, k = ranked.shape
        for stage in range(k - 1):
            here = np.flatnonzero(place[:, stage] == stage)
            left = ranked[here, stage:]
            best = place[here, stage:] == stage
            found[k - stage].append((left, best, first + here))
        first += n
    members, sources, chosen, cells, answers = [], [], [], [], []
    n_sets = n_cells = 0
    for size in sorted(found):
        left, best, rows = map(np.concatenate, zip(*found[size], strict=True))
        order = np.argsort(left, axis=1, kind="stable")
        left, best = (np.take_along_axis(each, order, 1) for each in (left, best))
        sets, which = np.unique(left, axis=0, return_inverse=True)
        keys = np.column_stack([which.ravel(), best])
        kinds, cell = np.unique(keys, axis=0, return_inverse=True)
        own = np.zeros((len(kinds), n_methods), bool)
        np.put_along_axis(own, sets[kinds[:, 0]], kinds[:, 1:] > 0, axis=1)
        members.append(sets)
        sources.append(n_sets + kinds[:, 0])
        chosen.append(own)
        cells.append(n_cells + cell.ravel())
        answers.append(rows)
        n_sets, n_cells = n_sets + len(sets), n_cells + len(kinds)
    none = [np.zeros(0, np.int64)]
    return (
        ChoiceSets(
            tuple(members),
            np.concatenate(sources or none),
            np.concatenate([*chosen, np.zeros((0, n_methods), bool)]),
        ),
        np.concatenate(cells or none),
        np.concatenate(answers or none),
    )


@dataclass(frozen=True)
class Stages:
    """The choices that the rankings of one criterion consist of, and whose they are."""

    methods: tuple[str, ...]
    sets: ChoiceSets
    cell: Counts
    clusters: dict[str, tuple[Counts, int]]
    n_rankings: Counts
    n_stories: Counts
    n_tied: int
    n_answers: int

    def counts(self) -> Array:
        """Return how often each choice occurs."""
        n = len(self.sets.source)
        return np.bincount(self.cell, minlength=n).astype(float)

    def beats(self) -> Array:
        """Return how often each method stood before each other one, (M, M)."""
        return self.sets.beats(self.counts())


def ranking_stages(rankings: pd.DataFrame) -> Stages:
    """Read rankings into codes."""
    rows, answer, place = in_orders(rankings)
    method, methods = coded(rows["method"])
    size = np.bincount(answer)
    firsts = np.flatnonzero(np.diff(answer, prepend=-1))
    orders, ranked = [], []
    for k in np.unique(size):
        which = np.flatnonzero(size == k)
        at = firsts[which, None] + np.arange(k)
        orders.append((method[at], place[at]))
        ranked.append(which)
    sets, cell, row = choice_sets(orders, len(methods))
    # The answer that each row of all orders is.
    of_row = np.concatenate(ranked) if ranked else np.zeros(0, int)
    story, stories = coded(rows["story"])
    annotator, annotators = coded(rows["annotator"])
    unit, n_units = _units(story[firsts], [methods for methods, _ in orders], of_row)
    mine = of_row[row]
    clusters = {
        "stories": (story[firsts][mine], len(stories)),
        "annotators": (annotator[firsts][mine], len(annotators)),
        "units": (unit[mine], n_units),
    }
    shown = pd.DataFrame({"method": method, "story": story})
    return Stages(
        tuple(methods),
        sets,
        cell,
        clusters,
        np.bincount(method, minlength=len(methods)),
        shown.groupby("method")["story"].nunique().to_numpy(int),
        sum(int((np.diff(places) == 0).any(axis=1).sum()) for _, places in orders),
        len(size),
    )


def _units(story: Counts, orders: list[Counts], of_row: Counts) -> tuple[Counts, int]:
    """Give each different set of outputs of one story a number."""
    unit = np.zeros(len(of_row), int)
    start = first = 0
    for ranked in orders:
        mine = of_row[start : start + len(ranked)]
        keys = np.column_stack([story[mine], np.sort(ranked, axis=1)])
        found, which = np.unique(keys, axis=0, return_inverse=True)
        unit[mine] = first + which.ravel()
        first += len(found)
        start += len(ranked)
    return unit, first
