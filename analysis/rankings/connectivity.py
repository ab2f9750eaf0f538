"""Whether a likelihood has a maximum: comparisons connect methods and bound ties."""

import numpy as np
from scipy import sparse

from analysis.results import Array, Mask
from analysis.sentences import chained, sentence


def who_stands_apart(beats: Array, methods: tuple[str, ...], never: str) -> str:
    """Say which methods stand apart from the others; empty where none does.

    Parameters
    ----------
    beats
        Shape (M, M): how often the method of the row beat that of the column.
    methods
        M names.
    never
        What methods without any path between them never were, in words.

    Examples
    --------
    >>> who_stands_apart(np.array([[0, 2.0], [0, 0]]), ("uno", "sora"), "never met")
    'uno never lost to the others'
    """
    if len(methods) < 2:
        return sentence("there is one method only")
    graph = sparse.csr_array(beats)
    n, label = sparse.csgraph.connected_components(graph, connection="strong")
    if n == 1:
        return ""
    loose, island = sparse.csgraph.connected_components(graph, directed=False)
    if loose > 1:
        groups = [
            [m for m, g in zip(methods, island, strict=True) if g == k]
            for k in range(loose)
        ]
        told = [sentence("{names}", names=each) for each in groups]
        return sentence(
            "these groups of methods {never}: {groups}",
            never=never,
            groups=chained("{first}; {second}", told),
        )
    linked = beats > 0
    unbeaten = [
        [*np.array(methods, object)[label == k]]
        for k in range(n)
        if not linked[label != k][:, label == k].any()
    ]
    told = [
        sentence("{names} never lost to the others", names=names) for names in unbeaten
    ]
    return chained("{first} and {second}", told)


def strongly_connected(beats: Array) -> Mask:
    """Tell which tables, shape (B, M, M), have a strongly connected graph of wins."""
    M = beats.shape[1]
    reach = (beats > 0) | np.eye(M, dtype=bool)
    for _ in range(int(np.ceil(np.log2(max(M, 2))))):
        reach = np.matmul(reach.astype(np.float32), reach.astype(np.float32)) > 0
    return np.asarray(reach.all(axis=(1, 2)))


def bounded_ties(wins: Array, tied: Array) -> Mask:
    r"""Tell in which tables ties have a finite parameter, methods being connected.

    Parameters
    ----------
    wins
        Shape (B, M, M): how often the method of the row beat that of the column.
    tied
        Shape (B, M, M): their ties, in either triangle.

    Returns
    -------
    array of shape (B,)
        Whether some chain of answers from a method back to itself, each won or tied by
        the method before, holds more wins than ties. True also where there are only
        wins, and where there are only ties: neither has a parameter to fit.

    Notes
    -----
    Davidson's likelihood never falls along :math:`\log \nu = t` where strengths
    :math:`\theta = t d` exist with :math:`d_i - d_j \ge 2` for every win of i over j
    and :math:`|d_i - d_j| \le 2` for every tie. Such d are the potentials of a graph
    whose edges weigh 1 for a win and -1 for a tie; they exist where no cycle weighs
    more than 0, which is where Bellman and Ford's longest paths stop growing.

    Examples
    --------
    >>> wins, tied = np.array([[[0, 3.0], [0, 0]]]), np.array([[[0, 2.0], [0, 0]]])
    >>> bounded_ties(wins, tied), bounded_ties(wins + wins.transpose(0, 2, 1), tied)
    (array([False]), array([ True]))
    """
    B, M, _ = wins.shape
    weight = np.where(tied + tied.transpose(0, 2, 1) > 0, -1.0, -np.inf)
    weight[wins > 0] = 1
    longest = np.zeros((B, M))
    for _ in range(M):
        before = longest
        longest = np.maximum(before, (before[:, :, None] + weight).max(axis=1))
    grows = (longest > before).any(axis=1)
    return np.asarray(grows | ~wins.any(axis=(1, 2)))
