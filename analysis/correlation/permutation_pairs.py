"""Every point of each metric against all points of each metric, once for all swaps."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from analysis.correlation.coefficients import correlate
from analysis.correlation.weighted_sums import Levels, dense_levels
from analysis.results import Array, Mask

# Elements of a table of counts held at once.
CHUNK = 8_000_000


@dataclass(frozen=True)
class Points:
    """People and K metrics on N points in G groups.

    Attributes
    ----------
    human
        Shape (G, N).
    scores
        Shape (K, G, N), standardised: comparable between metrics.
    used
        Shape (G, N): which points exist.
    given
        Shape (K, G, N): the scores before. Beside large ones, standardising makes
        small ones equal that are not.
    """

    human: Array
    scores: Array
    used: Mask
    given: Array

    @cached_property
    def levels(self) -> Levels:
        """Whole numbers in the order of the scores of all metrics and groups.

        Scores of one metric that standardising made equal keep their order.
        """
        levels = dense_levels(self.scores)
        inside = np.zeros_like(levels)
        for own, given, place in zip(levels, self.given, inside, strict=True):
            values, where = np.unique(given[self.used], return_inverse=True)
            level = np.zeros(len(values), np.int64)
            level[where] = own[self.used]
            # The first of the values that share a level, which rise with the values.
            first = np.searchsorted(level, level)
            place[self.used] = (np.arange(len(values)) - first)[where]
        if not inside.any():
            return levels
        return dense_levels(levels * (int(inside.max()) + 1) + inside)

    @cached_property
    def pearson(self) -> Array:
        """Pearson's r of every metric with people in each group, (K, G)."""
        once = self.used[:, None].astype(float)
        found = correlate(self.human, self.given, once, ["pearson"])
        return found["pearson"][:, :, 0]

    @cached_property
    def codes(self) -> list[Levels]:
        """For each metric, one number a (group, score), of the points there are."""
        group = np.nonzero(self.used)[0] * (int(self.levels.max(initial=0)) + 1)
        return [group + levels[self.used] for levels in self.levels]

    @cached_property
    def values(self) -> list[Levels]:
        """The different ones of `codes`, in order."""
        return [np.unique(codes) for codes in self.codes]

    @cached_property
    def values_of_people(self) -> Array:
        """The sums of t, t^2, t^3 and 1 over people's values, shape (4, G, 1)."""
        found = np.empty((4, len(self.used), 1))
        for g, used in enumerate(self.used):
            t = np.unique(self.human[g, used], return_counts=True)[1].astype(float)
            found[:, g, 0] = t.sum(), (t**2).sum(), (t**3).sum(), len(t)
        return found


@dataclass(frozen=True)
class Contests:
    """Every point of a metric against all points of each metric, summed.

    Attributes
    ----------
    pairs
        Shape (K, K, G, N): at [a, b, g, i] the sum over j of
        sgn(a_i - b_j) sgn(h_i - h_j).
    ranks
        The same with the difference of people's centred ranks instead of its sign.
    human_ranks
        Shape (G, N): people's centred ranks, doubled.
    """

    pairs: Array
    ranks: Array
    human_ranks: Array

    def of_groups(self, some: slice) -> "Contests":
        """Return those of some groups."""
        return Contests(
            self.pairs[:, :, some], self.ranks[:, :, some], self.human_ranks[some]
        )


def contests(points: Points) -> Contests:
    """Let all points of all metrics meet once; pairs of metrics share the result."""
    groups = [_contests_of_group(points, g) for g in range(len(points.used))]
    return Contests(
        np.stack([found.pairs for found in groups], axis=2),
        np.stack([found.ranks for found in groups], axis=2),
        np.stack([found.human_ranks for found in groups]),
    )


def _contests_of_group(points: Points, g: int) -> Contests:
    K, N = len(points.scores), points.used.shape[1]
    used = np.flatnonzero(points.used[g])
    h = dense_levels(points.human[g, used])
    counts = np.bincount(h)
    before = np.cumsum(counts) - counts
    rh = np.asarray(2 * before + counts - len(used), float)[h]
    pairs, ranks = np.zeros((2, K, K, N))
    for b in range(K):
        order = np.argsort(points.levels[b, g, used], kind="stable")
        partner = points.levels[b, g, used][order]
        summed = np.concatenate([[0.0], np.cumsum(rh[order])])
        below = np.empty((K, len(used)), np.int64)
        above = np.empty((K, len(used)), np.int64)
        for a in range(K):
            own = points.levels[a, g, used]
            below[a] = np.searchsorted(partner, own, side="left")
            above[a] = np.searchsorted(partner, own, side="right")
        pairs[:, b, used] = _concordant(h, h[order], below, above)
        won = below + above - len(used)
        ranks[:, b, used] = rh * won - (summed[below] + summed[above])
    full = np.zeros(N)
    full[used] = rh
    return Contests(pairs, ranks, full)


def _concordant(h: Levels, partners: Levels, below: Levels, above: Levels) -> Array:
    """Sum sgn(h_i - h_j) over partners below point i minus those above it.

    Parameters
    ----------
    h
        People's values of N points.
    partners
        Those of the partners, in the order of the partners' scores.
    below, above
        Shape (K, N): how many partners have a smaller score than the point, and how
        many a smaller or equal one.
    """
    found = np.empty(below.shape)
    step = max(1, CHUNK // (len(partners) + 1))
    for start in range(0, int(h.max(initial=-1)) + 1, step):
        values = np.arange(start, min(start + step, int(h.max()) + 1))
        table = np.zeros((len(values), len(partners) + 1), np.int32)
        signs = np.sign(values[:, None] - partners).astype(np.int8)
        np.cumsum(signs, axis=1, dtype=np.int32, out=table[:, 1:])
        here = np.flatnonzero((h >= start) & (h < start + step))
        rows = h[here] - start
        found[:, here] = (
            table[rows, below[:, here]] + table[rows, above[:, here]] - table[rows, -1]
        )
    return found
