"""What several metrics compute: how alike pictures are, how far apart two texts."""

from collections.abc import Sequence

import numpy as np

from evalcore.metrics.base import Ask, Encoder, Floats, Image, Scoring, Value


def mean_cosine(features: Floats) -> float:
    """Return the mean cosine over all pairs of rows.

    `features`: pictures x numbers, rows of length 1, at least two.

    Source: ViStoryBench, section 3.3 and appendix J.

    >>> mean_cosine(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]))
    0.3333333333333333
    """
    if len(features) < 2:
        raise ValueError("a mean over pairs needs two pictures")
    exact = features.astype(np.float64)
    cosines = exact @ exact.T
    return float(cosines[np.triu_indices(len(features), 1)].mean())


def consistency(encoder: Encoder, images: Sequence[Image]) -> Scoring:
    """Score how alike shots are to an encoder; undefined for fewer than two.

    ViStoryBench's program gives 0 there, which would say that everything changes.
    """
    features = yield Ask(encoder, images)
    if len(features) < 2:
        return [Value(None, reason="fewer than two shots have a picture")]
    return [Value(mean_cosine(np.stack(features)))]


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
