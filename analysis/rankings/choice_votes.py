"""Side-by-side answers as codes, as tables of counts, and as votes on pairs."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from analysis.inference.crossed_clusters import Cluster
from analysis.inference.resampling import divided
from analysis.reading.rankings import OUTCOMES, majority
from analysis.results import NAN, Array, Counts, Mask

# Planes of a table of counts (methods x methods each).
WINS, TIED = range(2)
PARTS = ("stories", "annotators", "units")
TIE = OUTCOMES.index("tie")


@dataclass(frozen=True)
class CriterionVotes:
    """Answers of one criterion."""

    methods: tuple[str, ...]
    cell: Counts
    clusters: dict[str, tuple[Counts, int]]

    @property
    def shape(self) -> tuple[int, int, int]:
        """The shape of a table of counts."""
        return 2, len(self.methods), len(self.methods)

    @property
    def size(self) -> int:
        """The number of cells of a table of counts."""
        return 2 * len(self.methods) ** 2

    def counts(self) -> Array:
        """Return the table of all answers, shape (2, M, M)."""
        found = np.bincount(self.cell, minlength=self.size)
        return found.reshape(self.shape).astype(float)

    def without_ties(self) -> "CriterionVotes":
        """Leave ties out; clusters that have nothing else can still be drawn."""
        kept = self.cell // len(self.methods) ** 2 != TIED
        clusters = {
            part: (codes[kept], n) for part, (codes, n) in self.clusters.items()
        }
        return CriterionVotes(self.methods, self.cell[kept], clusters)

    def among(self, members: Counts) -> "CriterionVotes":
        """Return the answers about some methods, which met no others."""
        M = len(self.methods)
        place = np.full(M, -1)
        place[members] = np.arange(len(members))
        plane, winner, loser = np.unravel_index(self.cell, self.shape)
        kept = place[winner] >= 0
        cell = np.ravel_multi_index(
            (plane[kept], place[winner[kept]], place[loser[kept]]),
            (2, len(members), len(members)),
        )
        clusters: dict[str, Cluster] = {}
        for part, (codes, _n) in self.clusters.items():
            found, own = np.unique(codes[kept], return_inverse=True)
            clusters[part] = own, len(found)
        methods = tuple(self.methods[k] for k in members)
        return CriterionVotes(methods, cell, clusters)


def coded(column: pd.Series) -> tuple[Counts, list[str]]:
    """Return codes of a column and the sorted texts they stand for; -1 is missing."""
    codes, values = pd.factorize(column)
    names = [str(value) for value in values]
    order = sorted(range(len(names)), key=names.__getitem__)
    place = np.empty(len(names) + 1, np.int64)
    place[order], place[-1] = np.arange(len(names)), -1
    return place[codes], [names[k] for k in order]


def choice_votes(choices: pd.DataFrame, *, by_majority: bool) -> CriterionVotes:
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
    cell = (plane * M + winner) * M + loser
    return CriterionVotes(methods, cell, clusters)


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
    return CriterionVotes(methods, (plane * M + winner) * M + loser, clusters)


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


# Columns of an adaptive study, which tell how its pairs were chosen.
PROBABILITY, ALTERNATIVES, ORDER = "probability", "alternatives", "submitted_at"


def with_weights(choices: pd.DataFrame) -> tuple[pd.DataFrame, bool]:
    """Weigh the answers of one criterion by the inverse of their probabilities."""
    if not {PROBABILITY, ALTERNATIVES, ORDER} <= set(choices.columns):
        return choices, False
    chance, free = (
        pd.to_numeric(choices[name], errors="coerce").to_numpy(float)
        for name in (PROBABILITY, ALTERNATIVES)
    )
    chosen = (chance > 0) & (free > 0)
    if not chosen.any():
        return choices, False
    order = np.argsort(choices[ORDER].astype(str).to_numpy(), kind="stable")
    slots = max(int(np.nanmax(free)), len(choices))
    chance, free = np.where(chosen, chance, 1.0), np.where(chosen, free, 1.0)
    found = inverse_weights(chance[order], free[order], slots)
    weight = np.empty(len(choices))
    weight[order] = found
    return choices.assign(weight=weight), True


def inverse_weights(
    per_slot: Sequence[float] | Array, available: Sequence[int] | Array, slots: int
) -> Array:
    r"""Return the weights that undo the choice, in the order in which it was made.

    The t-th of M choices weighs

    .. math:: 1 + \frac{N - M}{N - t} (u_t - 1), \quad u_t = 1 / (a_t q_t)

    with q the probability of the slot and a the number of slots available (Horvitz and
    Thompson 1952, JASA 47), levelled for sampling without replacement (Farquhar, Gal
    and Rainforth 2021, ICLR). Unbiased at a number of answers fixed beforehand, if what
    was available does not depend on the answers.
    """
    relative = 1 / (np.asarray(available, float) * np.asarray(per_slot, float))
    left = slots - np.arange(1, len(relative) + 1)
    level = (slots - len(relative)) / np.maximum(left, 1)
    return np.asarray(1 + level * (relative - 1))


# What the first method of a pair gets of each outcome; of "both bad" nothing.
POINTS = np.array([1.0, 0.0, 0.5, NAN])
# A share of an answer's variance below this is rounding.
ROUNDING = 1e-12


@dataclass(frozen=True)
class PairVotes:
    """Answers about P pairs of methods."""

    methods: tuple[str, ...]
    first: Counts
    second: Counts
    pair: Counts
    points: Array
    weight: Array
    clusters: dict[str, Cluster]

    def total(self, values: Array) -> Array:
        """Add up values of answers, pair by pair."""
        found = np.bincount(self.pair, values, minlength=len(self.first))
        return np.asarray(found, float)

    def rates(self) -> Array:
        """Return how much of its answers the first method of each pair won, (P,)."""
        weight = self.total(self.weight)
        rate = np.full(len(self.first), NAN)
        np.divide(self.total(self.weight * self.points), weight, rate, where=weight > 0)
        return rate

    def n_equal(self) -> Array:
        """Return as how many answers of one weight those of each pair count (Kish)."""
        squares = self.total(self.weight**2)
        found = np.zeros(len(self.first))
        np.divide(self.total(self.weight) ** 2, squares, found, where=squares > 0)
        return found

    def tied(self) -> Array:
        """Return the share of ties of each pair, by weight."""
        weight = self.total(self.weight)
        ties = self.total(self.weight * (self.points == POINTS[2]))
        return np.divide(ties, weight, out=np.zeros(len(weight)), where=weight > 0)

    def added(self) -> Array:
        """Return what each answer adds to the rate of its pair, around it."""
        return self.share() * (self.points - self.rates()[self.pair])

    def added_unbiased(self, lone: Array, cells: Array | None = None) -> Array:
        r"""Return what each answer adds, with squares that are right on average.

        `lone` is the expected rate of pairs that are known from one answer. `cells` is
        how much of its pair's rate the story of each answer is, where answers about a
        story are alike; by default each answer is taken alone.

        Answers vary less around a rate that was made of them: one of share h by
        :math:`1 - 2h + \sum h^2` of its variance, which is corrected (as HC2 of
        MacKinnon and White 1985, Journal of Econometrics 29, does for equal shares).
        """
        share = self.share()
        own = share if cells is None else cells
        left = 1 - 2 * own + self.total(share * own)[self.pair]
        only = left < ROUNDING
        around = np.where(only, lone[self.pair], self.rates()[self.pair])
        away = (self.points - around) / np.sqrt(np.where(only, 1, left))
        return np.asarray(share * away)

    def share(self) -> Array:
        """Return how much of the rate of its pair each answer is."""
        return np.asarray(self.weight / self.total(self.weight)[self.pair])


def pair_votes(choices: pd.DataFrame) -> tuple[PairVotes, PairVotes]:
    """Read side-by-side answers of one criterion, one by one and by majority."""
    story, stories = coded(choices["story"])
    annotator, annotators = coded(choices["annotator"])
    names = pd.MultiIndex.from_frame(choices[["method_a", "method_b"]])
    pair, pairs = pd.factorize(names, sort=True)
    methods = sorted({name for both in pairs for name in both})
    first, second = (
        np.array([methods.index(both[k]) for both in pairs], int) for k in (0, 1)
    )
    outcome = choices["choice"].map(OUTCOMES.index).to_numpy(int)
    unit_keys, unit = np.unique(pair * len(stories) + story, return_inverse=True)
    weight = np.ones(len(choices))
    if "weight" in choices:
        weight = choices["weight"].to_numpy(float)
    clusters = {
        "stories": (story, len(stories)),
        "annotators": (annotator, len(annotators)),
        "units": (unit, len(unit_keys)),
    }
    whole = PairVotes(
        tuple(methods), first, second, pair, POINTS[outcome], weight, clusters
    )
    votes = np.bincount(unit * 4 + outcome, minlength=4 * len(unit_keys))
    majorities = replace(
        whole,
        pair=unit_keys // len(stories),
        points=(majority(votes.reshape(-1, 4).astype(float)) + 1) / 2,
        weight=np.ones(len(unit_keys)),
        clusters={
            "stories": (unit_keys % len(stories), len(stories)),
            "annotators": (np.zeros(len(unit_keys), int), 1),
            "units": (np.arange(len(unit_keys)), len(unit_keys)),
        },
    )
    kept = np.isfinite(whole.points)
    single = replace(
        whole,
        pair=pair[kept],
        points=whole.points[kept],
        weight=weight[kept],
        clusters={part: (codes[kept], n) for part, (codes, n) in clusters.items()},
    )
    return single, majorities


def rates_by_story_weights(votes: PairVotes, weights: Array) -> Array:
    """Return the mean win rates of the methods under weights of stories."""
    M, P = len(votes.methods), len(votes.first)
    story, S = votes.clusters["stories"]
    shape = (S, P)
    at = story * P + votes.pair
    of, won = (
        np.bincount(at, values, minlength=S * P).reshape(shape)
        for values in (votes.weight, votes.weight * votes.points)
    )
    total = weights @ of
    rate = divided(weights @ won, total)
    known = total > 0
    found, n = np.zeros((2, len(weights), M))
    for side, points in ((votes.first, rate), (votes.second, 1 - rate)):
        adds = np.zeros((P, M))
        adds[np.arange(P), side] = 1
        found += np.where(known, points, 0.0) @ adds
        n += known @ adds
    return divided(found, n)
