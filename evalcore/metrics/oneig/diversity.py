"""Diversity: whether the pictures made of one prompt differ."""

from itertools import combinations

import numpy as np

from evalcore.metrics.base import (
    Ask,
    Encoder,
    Feature,
    MetricInfo,
    Rendering,
    Scoring,
    Value,
)
from evalcore.metrics.encoders.unobtainable import Unobtainable
from evalcore.metrics.oneig.grids import SeenInGrids, seen_pictures
from evalcore.metrics.weights import unobtainable

MISSING = unobtainable(
    "DreamSim",
    "its package fetches weights while it runs, which is not done here; OneIG's "
    "program runs it",
)


def mean_pairwise_distance(features: Feature) -> float:
    """Return the mean distance of all pairs of pictures.

    `features`: DreamSim's features: pictures x dimensions, at least two pictures, of
    any lengths but 0. Result: the mean of 1 - cosine: 0 for copies, 1 for unrelated
    pictures, 2 at most.

    Source: Fu et al. (2023), DreamSim; OneIG-Bench, section on diversity, and its
    program, scripts/diversity.

    >>> mean_pairwise_distance(np.array([[1.0, 0.0], [0.0, 3.0], [1.0, 0.0]]))
    0.6666666666666666
    """
    if len(features) < 2:
        raise ValueError("a distance needs two pictures")
    exact = features.astype(np.float64)
    units = exact / np.linalg.norm(exact, axis=1, keepdims=True)
    return float(np.mean([1 - a @ b for a, b in combinations(units, 2)]))


class Diversity(SeenInGrids):
    """Diversity of the pictures of a prompt of OneIG."""

    info = MetricInfo(
        name="oneig_diversity",
        title="OneIG diversity",
        family="OneIG",
        scores="output",
        high=2,
        source="OneIG-Bench, section on diversity; DreamSim (Fu et al. 2023)",
        measures=(
            "Whether the pictures of one prompt differ as people see it. Of a story it "
            "would be the opposite of consistency."
        ),
        backend="DreamSim",
        queue="gpu",
    )
    encoder: Encoder = Unobtainable(MISSING)
    missing = staticmethod(lambda: MISSING)

    def score(self, rendering: Rendering) -> Scoring:
        """Return one value; undefined for fewer than two pictures."""
        pictures = list((yield from seen_pictures(rendering, self.grid)).values())
        if len(pictures) < 2:
            return [Value(None, reason="the prompt has fewer than two pictures")]
        features = yield Ask(self.encoder, pictures)
        return [Value(mean_pairwise_distance(np.stack(features)))]
