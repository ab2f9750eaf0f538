"""Worths of methods by maximum likelihood from orders of some of them: Plackett-Luce.

Many tables of counts are fitted at once.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from analysis.results import Array, Counts, Mask

STEPS = 100
CONVERGED = 1e-10
# Largest change of a log worth in one step: Newton overshoots far from the top.
LONGEST_STEP = 2.0


@dataclass(frozen=True)
class ChoiceSets:
    """The sets of methods from which a first one was chosen.

    An order of k methods is k - 1 choices: the first of all k, the second of those
    that are left, and so on. A choice is a cell, the set and which of it was chosen;
    how often each cell occurs is all that the likelihood needs.
    """

    n_methods: int
    members: tuple[Counts, ...]

    @property
    def size(self) -> int:
        return sum(sets.size for sets in self.members)

    def blocks(self, counts: Array) -> Iterator[tuple[Counts, Array]]:
        """Yield the sets of each size and, of (B, cells), their counts (S, size, B)."""
        start = 0
        for sets in self.members:
            part = counts[:, start : start + sets.size].T
            yield sets, np.ascontiguousarray(part).reshape(*sets.shape, -1)
            start += sets.size

    def chosen(self, counts: Array) -> Array:
        """Return how often each method was chosen, (B, M), from (B, cells)."""
        codes = np.concatenate([sets.ravel() for sets in self.members])
        return np.asarray((_sums(codes, self.n_methods) @ counts.T).T)

    def beats(self, counts: Array) -> Array:
        """Return how often each method stood before each other one, (B, M, M)."""
        M = self.n_methods
        return np.asarray((self._before @ counts.T).T).reshape(-1, M, M)

    def with_average_method(
        self, counts: Array, weight: float
    ) -> tuple["ChoiceSets", Array]:
        """Add a method that stood before and after each other one in half of `weight`.

        Return the sets, whose first cells are those of before, and their counts.
        """
        M = self.n_methods
        pairs = np.column_stack([np.arange(M), np.full(M, M)])
        sets = ChoiceSets(M + 1, (*self.members, pairs))
        return sets, np.append(counts, np.full(pairs.size, weight / 2))

    @cached_property
    def _before(self) -> sparse.csr_array:
        """Which pairs of methods each cell orders, shape (M * M, cells)."""
        M, start = self.n_methods, 0
        pairs, cells = [], []
        for sets in self.members:
            size = sets.shape[1]
            others = ~np.eye(size, dtype=bool)
            codes = sets[:, :, None] * M + sets[:, None, :]
            pairs.append(codes[:, others].ravel())
            cells.append(np.repeat(start + np.arange(sets.size), size - 1))
            start += sets.size
        shape = (M * M, self.size)
        where = np.concatenate(pairs), np.concatenate(cells)
        return sparse.coo_array((np.ones(len(where[0])), where), shape=shape).tocsr()

    @cached_property
    def sums(self) -> list[tuple[sparse.csr_array, list[sparse.csr_array]]]:
        """What adds values of members up, and of their pairs, for each size.

        The first by method, (M, S * size); the others by pair of methods,
        (M * M, ...), of each member with all that come after it in its set.
        """
        M = self.n_methods
        return [
            (
                _sums(sets.ravel(), M),
                [
                    _sums((sets[:, a, None] * M + sets[:, a + 1 :]).ravel(), M * M)
                    for a in range(sets.shape[1] - 1)
                ],
            )
            for sets in self.members
        ]


def choice_sets(
    orders: Sequence[Counts], n_methods: int
) -> tuple[ChoiceSets, Counts, Counts]:
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


def fit(
    sets: ChoiceSets, counts: Array, *, start: Array | None = None
) -> tuple[Array, Mask]:
    r"""Fit worths to many tables of counts by Newton's method.

    An order :math:`i_1 \succ \dots \succ i_k` has the probability

    .. math:: \prod_{j=1}^{k-1} \frac{e^{\theta_{i_j}}}{\sum_{l \ge j} e^{\theta_{i_l}}}

    (Plackett 1975, Applied Statistics 24; Luce 1959). What somebody ranks says nothing
    of methods that were not shown. Two methods are Bradley-Terry's model. Orders are
    strict: ties have no probability here. The log likelihood is concave, and has a
    maximum where the graph is strongly connected (Hunter 2004, Annals of Statistics
    32, section 5, whose iterations find the same in more steps).
    """
    counts = np.asarray(counts, float)
    theta = np.zeros((len(counts), sets.n_methods))
    if start is not None:
        theta += start - start.mean()
    converged = np.zeros(len(counts), bool)
    active = np.arange(len(counts))
    for _ in range(STEPS):
        if not len(active):
            break
        gradient, information = _derivatives(theta[active], sets, counts[active])
        step = np.linalg.solve(information, gradient[:, :, None])[:, :, 0]
        # Only rounding, which grows with the answers, moves all worths at once.
        step -= step.mean(axis=1, keepdims=True)
        largest = np.abs(step).max(axis=1, keepdims=True)
        theta[active] += step * np.minimum(1, LONGEST_STEP / (largest + 1e-300))
        still = largest[:, 0] >= CONVERGED
        converged[active[~still]] = True
        active = active[still]
    return theta - theta.mean(axis=1, keepdims=True), converged


def covariance(sets: ChoiceSets, counts: Array, theta: Array) -> Array:
    """Return the inverse of the information, answers being independent.

    Answers of one story or annotator are not independent, so that intervals from this
    matrix are too narrow: leaderboards sum what answers add (`influence`).
    """
    _, information = _derivatives(theta, sets, np.asarray(counts, float))
    return np.asarray(np.linalg.inv(information) - 1 / sets.n_methods)


def influence(sets: ChoiceSets, counts: Array, theta: Array) -> Array:
    r"""Return what one more choice of each kind would add to the log worths.

    The influence is :math:`I^{-1} s`, with :math:`I` the information of all answers
    and :math:`s` the gradient of the log likelihood of the choice. Answers of one
    story or annotator are not independent: `analysis.inference.crossed_clusters`.
    """
    inverse = covariance(sets, counts, theta)[0]
    worth = np.exp(theta[0] - theta[0].max())
    found = []
    for members in sets.members:
        p = worth[members]
        p /= p.sum(axis=1, keepdims=True)
        expected = (p[:, :, None] * inverse[members]).sum(axis=1, keepdims=True)
        found.append((inverse[members] - expected).reshape(-1, sets.n_methods))
    return np.concatenate(found)


def _derivatives(theta: Array, sets: ChoiceSets, counts: Array) -> tuple[Array, Array]:
    """Return the gradient of the log likelihood and the information matrix."""
    B, M = theta.shape
    worth = np.exp(theta - theta.max(axis=1, keepdims=True)).T
    expected = np.zeros((M, B))
    crossed = np.zeros((M * M, B))
    for (members, part), (of_method, of_pair) in zip(
        sets.blocks(counts), sets.sums, strict=True
    ):
        p = worth[members]
        p /= p.sum(axis=1, keepdims=True)
        times = part.sum(axis=1)[:, None] * p
        expected += of_method @ times.reshape(-1, B)
        for a, of_rest in enumerate(of_pair):
            cross = times[:, a, None] * p[:, a + 1 :]
            crossed += of_rest @ cross.reshape(-1, B)
    covered = crossed.T.reshape(B, M, M)
    covered = covered + covered.transpose(0, 2, 1)
    # Only differences of log worths matter: fix their sum.
    information = 1 / M - covered
    diagonal = np.arange(M)
    information[:, diagonal, diagonal] += covered.sum(axis=2)
    return sets.chosen(counts) - expected.T, information


def _sums(codes: Counts, n: int) -> sparse.csr_array:
    """Return a matrix (n, len(codes)) that adds up what has the same code."""
    ones = np.ones(len(codes))
    return sparse.csr_array(
        sparse.coo_array((ones, (codes, np.arange(len(codes)))), shape=(n, len(codes)))
    )
