"""How far two texts are apart."""

import numpy as np


def edit_distance(a: str, b: str) -> int:
    """Return how many characters to insert, remove or replace to turn one into another.

    Row by row. Along a row, an insertion costs 1 more than its left neighbour: the
    minimum of (cell - column) so far, plus the column.

    Source: Levenshtein (1966), Binary codes capable of correcting deletions,
    insertions, and reversals.

    >>> edit_distance("kitten", "sitting")
    3
    """
    codes = np.frombuffer(b.encode("utf-32-le", "surrogatepass"), np.uint32)
    columns = np.arange(len(b) + 1)
    row = columns
    for number, character in enumerate(a, start=1):
        changed = row[:-1] + (codes != ord(character))
        removed = row[1:] + 1
        best = np.concatenate([[number], np.minimum(changed, removed)])
        row = np.minimum.accumulate(best - columns) + columns
    return int(row[-1])
