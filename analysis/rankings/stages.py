"""Rankings as codes: the choices they consist of, and whose they are."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis.rankings.choice_counts import coded
from analysis.rankings.plackett_luce import ChoiceSets, choice_sets
from analysis.reading.rankings import in_orders
from analysis.results import Array, Counts


@dataclass(frozen=True)
class Stages:
    """The choices of the rankings of one criterion: k - 1 of a ranking of k methods."""

    methods: tuple[str, ...]
    sets: ChoiceSets
    cell: Counts
    clusters: dict[str, tuple[Counts, int]]
    n_rankings: Counts
    n_stories: Counts

    @property
    def shape(self) -> tuple[int]:
        """The shape of a table of counts."""
        return (self.size,)

    @property
    def size(self) -> int:
        """The number of cells of a table of counts."""
        return self.sets.size

    def counts(self) -> Array:
        """Return how often each cell occurs, shape (cells,)."""
        return np.bincount(self.cell, minlength=self.size).astype(float)


def ranking_stages(rankings: pd.DataFrame) -> Stages:
    """Read rankings into codes."""
    rows, answer, place = in_orders(rankings)
    method, methods = coded(rows["method"])
    size = np.bincount(answer)
    firsts = np.flatnonzero(place == 0)
    orders, ranked = [], []
    for k in np.unique(size):
        which = np.flatnonzero(size == k)
        orders.append(method[firsts[which, None] + np.arange(k)])
        ranked.append(which)
    sets, cell, row = choice_sets(orders, len(methods))
    # The answer that each row of all orders is.
    of_row = np.concatenate(ranked) if ranked else np.zeros(0, int)
    story, stories = coded(rows["story"])
    annotator, annotators = coded(rows["annotator"])
    unit, n_units = _units(story[firsts], orders, of_row)
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
