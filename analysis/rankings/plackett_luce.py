"""Ranking methods by orders of several outputs: Plackett-Luce."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis.inference.crossed_clusters import crossed_covariance
from analysis.rankings.choice_votes import coded, kinds_drawn
from analysis.rankings.likelihood import (
    Maximum,
    logit,
    maximise,
    separate_parts,
    why_separated,
)
from analysis.rankings.standings import (
    ELO_MEAN,
    ELO_SCALE,
    WEAK,
    RankedMethod,
    RatedPart,
    Standings,
    no_intervals,
    prior_note,
    rated_apart,
)
from analysis.reading.rankings import in_orders
from analysis.results import Array, Counts
from analysis.sentences import sentence


@dataclass(frozen=True)
class ChoiceSets:
    """The sets of methods from which a first one was chosen, (S, size) by size."""

    n_methods: int
    members: tuple[Counts, ...]

    @property
    def size(self) -> int:
        """The number of cells."""
        return sum(sets.size for sets in self.members)

    def blocks(self, counts: Array) -> list[tuple[Counts, Array]]:
        """Return the sets of each size beside the counts of their cells."""
        ends = np.cumsum([sets.size for sets in self.members])
        parts = zip(self.members, np.split(counts, ends[:-1]), strict=True)
        return [(sets, part.reshape(sets.shape)) for sets, part in parts]

    def beats(self, counts: Array) -> Array:
        """Return how often each method stood before each other one, (M, M)."""
        found = np.zeros((self.n_methods, self.n_methods))
        for sets, own in self.blocks(counts):
            np.add.at(found, (sets[:, :, None], sets[:, None, :]), own[:, :, None])
        np.fill_diagonal(found, 0)
        return found

    def with_average_method(
        self, counts: Array, weight: float
    ) -> tuple["ChoiceSets", Array]:
        """Add a method that stood before and after each other in half of `weight`."""
        M = self.n_methods
        pairs = np.column_stack([np.arange(M), np.full(M, M)])
        sets = ChoiceSets(M + 1, (*self.members, pairs))
        return sets, np.append(counts, np.full(pairs.size, weight / 2))


def choice_sets(
    orders: Sequence[Counts], n_methods: int
) -> tuple[ChoiceSets, Counts, Counts]:
    """Split orders, an array of each length; also return each choice's cell and row."""
    found: dict[int, list[tuple[Counts, Counts]]] = defaultdict(list)
    first = 0
    for ranked in orders:
        n, k = ranked.shape
        rows = np.arange(first, first + n)
        for stage in range(k - 1):
            found[k - stage].append((ranked[:, stage:], rows))
        first += n
    members, cells, answers = [], [], []
    start = 0
    for size in sorted(found):
        left = np.concatenate([block for block, _ in found[size]])
        place = np.argsort(left, axis=1, kind="stable")
        sets, which = np.unique(
            np.take_along_axis(left, place, axis=1), axis=0, return_inverse=True
        )
        # The chosen one stood first; where it stands among the sorted ones.
        at = np.argmin(place, axis=1)
        members.append(sets)
        cells.append(start + which.ravel() * size + at)
        answers.append(np.concatenate([rows for _, rows in found[size]]))
        start += sets.size
    none = [np.zeros(0, np.int64)]
    return (
        ChoiceSets(n_methods, tuple(members)),
        np.concatenate(cells or none),
        np.concatenate(answers or none),
    )


def fit(sets: ChoiceSets, counts: Array) -> Maximum:
    r"""Fit log worths to how often each cell occurs.

    An order :math:`i_1 \succ \dots \succ i_k` has the probability

    .. math:: \prod_{j=1}^{k-1} \frac{e^{\theta_{i_j}}}{\sum_{l \ge j} e^{\theta_{i_l}}}

    (Plackett 1975, Applied Statistics 24; Luce 1959). What somebody ranks says nothing
    of methods that were not shown. Two methods are Bradley-Terry's model. Orders are
    strict: ties have no probability here. The log likelihood is concave, and has a
    maximum where the graph is strongly connected (Hunter 2004, Annals of Statistics
    32, section 5, whose iterations find the same in more steps).
    """
    one = np.eye(sets.n_methods)
    parts = [(logit(one[members]), own) for members, own in sets.blocks(counts)]
    return maximise(parts, np.zeros(sets.n_methods), sets.n_methods)


@dataclass(frozen=True)
class Stages:
    """The choices that the rankings of one criterion consist of, and whose they are."""

    methods: tuple[str, ...]
    sets: ChoiceSets
    cell: Counts
    clusters: dict[str, tuple[Counts, int]]
    n_rankings: Counts
    n_stories: Counts

    def counts(self) -> Array:
        """Return how often each cell occurs."""
        return np.bincount(self.cell, minlength=self.sets.size).astype(float)

    def beats(self) -> Array:
        """Return how often each method stood before each other one, (M, M)."""
        return self.sets.beats(self.counts())


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


@dataclass(frozen=True, kw_only=True)
class RankingLeaderboardRow(RankedMethod):
    """One method of a leaderboard of rankings."""

    log_worth: float
    n_rankings: int
    n_stories: int


def ranking_leaderboard(
    rankings: pd.DataFrame,
    *,
    criterion: str,
    parts: tuple[str, ...] = ("stories", "annotators"),
    confidence: float = 0.95,
) -> Standings[RankingLeaderboardRow]:
    """Rank the methods of one criterion by maximum likelihood: see `fit`.

    Ratings, parts, the weak prior, intervals and ranks are as in the leaderboard of
    pairs, which orders of two methods agree with. The maximum exists where from every
    method a chain of others, each ranked below the one before in some answer, leads to
    every other (Hunter 2004, Annals of Statistics 32, assumption 1 and section 5).
    """
    stages = ranking_stages(rankings)
    if not stages.methods:
        notes = [sentence("no ratings, since no answer ranks two methods.")]
        return Standings([], [], notes)
    groups = separate_parts(stages.beats())
    notes = rated_apart(stages.methods, groups, sentence("were never ranked together"))
    found: Standings[RankingLeaderboardRow] = Standings([], [], notes)
    for part, members in enumerate(groups, start=1):
        own = stages
        if len(groups) > 1:
            names = [stages.methods[k] for k in members]
            own = ranking_stages(rankings[rankings["method"].isin(names)])
        board, note = _fitted(own, parts)
        notes += [note] if note else []
        rows = [
            RankingLeaderboardRow(
                part=part,
                log_worth=float((row["rating"] - ELO_MEAN) / ELO_SCALE),
                n_rankings=int(own.n_rankings[i]),
                n_stories=int(own.n_stories[i]),
                **row,
            )
            for i, row in enumerate(
                board.standings(own.beats(), own.n_rankings, confidence)
            )
        ]
        found.add(criterion, "rankings", part, rows, board, confidence)
    if parts and all(np.isnan(row.low) for row in found.rows):
        notes.append(no_intervals(stages.clusters, parts))
    return found


def _fitted(stages: Stages, parts: tuple[str, ...]) -> tuple[RatedPart, str]:
    """Fit the methods of one part; also say on what prior, or why there is no fit."""
    M, beats = len(stages.methods), stages.beats()
    lacking = why_separated(beats, stages.methods)
    sets, counts = stages.sets, stages.counts()
    if lacking:
        sets, counts = sets.with_average_method(counts, WEAK)
    found = fit(sets, counts)
    if not found.converged:
        why = sentence("no ratings, since their maximum was not found.")
        return RatedPart(stages.methods, np.full(M, np.nan)), why
    covariance = None
    if parts:
        adds = np.concatenate(
            [own.reshape(-1, sets.n_methods) for own in found.influence]
        )
        covariance = crossed_covariance(
            adds[: stages.sets.size, :M],
            stages.cell,
            kinds_drawn(stages.clusters, parts),
            rank=M - 1,
            model=found.covariance[:M, :M],
            is_least=bool(lacking),
        )
    worth = found.parameters[:M] - found.parameters[:M].mean()
    note = prior_note(lacking) if lacking else ""
    return RatedPart(stages.methods, worth, covariance), note
