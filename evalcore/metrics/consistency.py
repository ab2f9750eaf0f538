"""How alike the pictures of a story are: the mean cosine over all pairs.

CSD's self-similarity is that, and so are the baseline and the stand-ins beside it.
"""

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
