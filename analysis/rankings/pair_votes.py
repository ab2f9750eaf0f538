"""Weights that undo how an adaptive study chose its pairs."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from analysis.inference.crossed_clusters import Cluster
from analysis.inference.scaling import divided
from analysis.rankings.choice_counts import coded
from analysis.reading.rankings import OUTCOMES, majority
from analysis.results import NAN, Array, Counts

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

    with q the probability of the slot and a the number of slots available: inverse
    probabilities (Horvitz and Thompson 1952, Journal of the American Statistical
    Association 47) relative to a uniform choice, levelled for sampling without
    replacement (Farquhar, Gal and Rainforth 2021, On statistical bias in active
    learning, ICLR; the idea is Des Raj's of 1956). A pair whose slots are used up
    needs no probability: its answers are all known. Unbiased at a number of answers
    fixed beforehand, if what was available does not depend on the answers. The
    likelihood of abilities needs no weights: given the answers so far, choices do not
    depend on abilities (Rubin 1976, Biometrika 63). It is consistent, not unbiased.
    """
    relative = 1 / (np.asarray(available, float) * np.asarray(per_slot, float))
    left = slots - np.arange(1, len(relative) + 1)
    level = (slots - len(relative)) / np.maximum(left, 1)
    return np.asarray(1 + level * (relative - 1))


# What the first method of a pair gets of each outcome; of "both bad" nothing.
POINTS = np.array([1.0, 0.0, 0.5, NAN])
# A share of an answer's variance below which rounding is all that is left of it.
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
        return self._share() * (self.points - self.rates()[self.pair])

    def added_unbiased(self, lone: Array) -> Array:
        r"""Return what each answer adds, with squares that are right on average.

        Answers vary less around a rate that was made of them: one of share h by
        :math:`1 - 2h + \sum h^2` of its variance, of which it is freed (as HC2 of
        MacKinnon and White 1985, Journal of Econometrics 29, does for equal shares).
        """
        share = self._share()
        left = 1 - 2 * share + self.total(share**2)[self.pair]
        only = left < ROUNDING
        around = np.where(only, lone[self.pair], self.rates()[self.pair])
        away = (self.points - around) / np.sqrt(np.where(only, 1, left))
        return np.asarray(share * away)

    def _share(self) -> Array:
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
