"""Whether comparisons connect all methods, which a maximum of the likelihood needs."""

import numpy as np
from scipy import sparse

from analysis.results import Array, Mask


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
        return "there is one method only"
    graph = sparse.csr_array(beats)
    n, label = sparse.csgraph.connected_components(graph, connection="strong")
    if n == 1:
        return ""
    loose, island = sparse.csgraph.connected_components(graph, directed=False)
    if loose > 1:
        groups = "; ".join(
            ", ".join(m for m, g in zip(methods, island, strict=True) if g == k)
            for k in range(loose)
        )
        return f"these groups of methods {never}: {groups}"
    linked = beats > 0
    unbeaten = [
        ", ".join(np.array(methods, object)[label == k])
        for k in range(n)
        if not linked[label != k][:, label == k].any()
    ]
    return " and ".join(f"{names} never lost to the others" for names in unbeaten)


def strongly_connected(beats: Array) -> Mask:
    """Tell which tables, shape (B, M, M), have a strongly connected graph of wins."""
    M = beats.shape[1]
    reach = (beats > 0) | np.eye(M, dtype=bool)
    for _ in range(int(np.ceil(np.log2(max(M, 2))))):
        reach = np.matmul(reach.astype(np.float32), reach.astype(np.float32)) > 0
    return np.asarray(reach.all(axis=(1, 2)))
