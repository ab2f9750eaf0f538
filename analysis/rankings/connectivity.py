"""Whether a likelihood has a maximum: comparisons connect methods and bound ties."""

import numpy as np
from scipy import sparse

from analysis.printing import counted
from analysis.results import Array, Counts
from analysis.sentences import chained, sentence


def separate_parts(answers: Array) -> list[Counts]:
    """Return the methods of each part that answers join, the largest part first."""
    n, part = sparse.csgraph.connected_components(
        sparse.csr_array(answers), directed=False
    )
    found = [np.flatnonzero(part == k) for k in range(n)]
    return sorted(found, key=lambda own: (-len(own), own[0]))


def who_stands_apart(beats: Array, methods: tuple[str, ...]) -> str:
    """Say which methods never lost to the others; empty where wins join all."""
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
    """Say of each single method that it never lost, or never won, in its n answers."""
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
    r"""Tell whether ties have a finite parameter where methods are connected.

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
