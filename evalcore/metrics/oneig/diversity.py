"""OneIG's diversity: how different the pictures of one prompt look, by DreamSim."""

from functools import cached_property

import numpy as np

from evalcore.metrics.base import Ask, Encoder, Rendering, Scoring, Value
from evalcore.metrics.encoders.published import DREAMSIM, DREAMSIM_PACKAGES
from evalcore.metrics.formulas import mean_cosine
from evalcore.metrics.oneig.alignment import seen_pictures, split_profile
from evalcore.metrics.registry import declared
from evalcore.metrics.weights import requires


class Diversity:
    """Mean of DreamSim's distance, 1 minus the cosine, over pairs of pictures.

    Source: OneIG-Bench, section on diversity, and its program, diversity_score.

    Parameters
    ----------
    profile
        Empty, or the grid in its files, such as `grid-2x2`.
    """

    weights = (DREAMSIM,)
    missing = requires(DREAMSIM_PACKAGES, weights)

    def __init__(self, profile: str = "") -> None:
        self.info = declared("oneig_diversity", profile)
        _plain, self.grid = split_profile(profile)

    @cached_property
    def encoder(self) -> Encoder:
        from evalcore.metrics.encoders.dreamsim import dreamsim_encoder

        return dreamsim_encoder()

    def score(self, rendering: Rendering) -> Scoring:
        """Return one value; undefined for fewer than two pictures."""
        pictures = yield from seen_pictures(rendering, self.grid)
        if len(pictures) < 2:
            return [Value(None, reason="fewer than two pictures")]
        features = yield Ask(self.encoder, list(pictures.values()))
        distance = 1 - mean_cosine(np.stack(features))
        return [Value(distance, trace={"pictures": len(pictures)})]
