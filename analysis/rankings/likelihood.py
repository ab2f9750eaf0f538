"""Maximum likelihood where one of several outcomes occurs, and whether there is one."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from analysis.results import Array, Counts
from analysis.sentences import chained, counted, sentence


def separate_parts(answers: Array) -> list[Counts]:
    """Return the methods of each part that answers join, the largest part first."""
    n, part = sparse.csgraph.connected_components(
        sparse.csr_array(answers), directed=False
    )
    found = [np.flatnonzero(part == k) for k in range(n)]
    return sorted(found, key=lambda own: (-len(own), own[0]))


def why_separated(beats: Array, methods: tuple[str, ...]) -> str:
    """Name the methods that never lost to the others; empty if wins join all."""
    unbeaten = _unbeaten(beats)
    if len(unbeaten) == 1 and len(unbeaten[0]) == len(methods):
        return ""
    told = [
        sentence("{names} never lost to the others", names=[methods[k] for k in own])
        for own in unbeaten
    ]
    return chained("{first} and {second}", told)


def _unbeaten(beats: Array) -> list[Counts]:
    """Return the groups of methods that no method outside the group beat."""
    linked = np.asarray(beats > 0)
    n, label = sparse.csgraph.connected_components(
        sparse.csr_array(beats), connection="strong"
    )
    return [
        np.flatnonzero(label == k)
        for k in range(n)
        if not linked[label != k][:, label == k].any()
    ]


def never_beaten(beats: Array, n: Counts) -> list[str]:
    """Name each single method that never lost, or never won, in its n answers."""
    M, beaten = len(beats), np.asarray(beats > 0)
    lost, won = np.asarray(beaten.any(axis=0)), np.asarray(beaten.any(axis=1))
    told = [""] * M
    for i in range(M):
        if n[i] and not lost[i]:
            told[i] = sentence(
                "never lost in {answers}", answers=counted(n[i], "answer")
            )
        elif n[i] and not won[i]:
            told[i] = sentence(
                "never won in {answers}", answers=counted(n[i], "answer")
            )
    return told


def bounded_ties(wins: Array, tied: Array) -> bool:
    r"""Return whether ties have a finite parameter where methods are connected.

    Davidson's likelihood never falls along :math:`\log \nu = t` where strengths
    :math:`\theta = t d` exist with :math:`d_i - d_j \ge 2` for every win of i over j
    and :math:`|d_i - d_j| \le 2` for every tie. Such d are the potentials of a graph
    whose edges weigh 1 for a win and -1 for a tie; they exist where no cycle weighs
    more than 0, which is where Bellman and Ford's longest paths stop growing.
    """
    M = len(wins)
    weight = np.where(tied + tied.T > 0, -1.0, -np.inf)
    weight[wins > 0] = 1
    longest = np.zeros(M)
    for _ in range(M):
        before = longest
        longest = np.maximum(before, (before[:, None] + weight).max(axis=0))
    return bool((longest > before).any() or not wins.any())


STEPS = 200
CONVERGED, LONGEST = 1e-10, 2.0


@dataclass(frozen=True)
class Maximum:
    """Parameters of a likelihood; the first are strengths that sum to 0."""

    parameters: Array
    converged: bool
    information: Array
    scores: Array
    n_methods: int

    @cached_property
    def covariance(self) -> Array:
        """The inverse of the information, answers being independent."""
        inverse = np.linalg.inv(self.information)
        inverse[: self.n_methods, : self.n_methods] -= 1 / self.n_methods
        return np.asarray(inverse)

    @cached_property
    def influence(self) -> Array:
        """The change of the parameters by one more choice of each kind, (C, P)."""
        return self.scores @ self.covariance


# The gradient of a log likelihood at some parameters, its information, and scores.
Derivatives = Callable[[Array], tuple[Array, Array, Array]]


def climb(derivatives: Derivatives, start: Array, n_methods: int) -> Maximum:
    """Find the maximum of a likelihood by Newton's method."""
    M, parameters, converged = n_methods, start, False

    def derived() -> tuple[Array, Array, Array]:
        gradient, information, scores = derivatives(parameters)
        # Only differences of strengths matter: fix their sum.
        information[:M, :M] += 1 / M
        return gradient, information, scores

    for _ in range(STEPS):
        gradient, information, _scores = derived()
        try:
            step = np.linalg.solve(information, gradient)
        except np.linalg.LinAlgError:
            break
        # Only rounding, which grows with the answers, moves all strengths at once.
        step[:M] -= step[:M].mean()
        largest = float(np.abs(step).max())
        if not np.isfinite(largest):
            break
        parameters = parameters + step * min(1.0, LONGEST / (largest + 1e-300))
        converged = largest < CONVERGED
        if converged:
            break
    parameters[:M] -= parameters[:M].mean()
    _, information, scores = derived()
    return Maximum(parameters, converged, information, scores, M)
