"""PQA: perceptual quality of a video by DOVER, as in StoryBench's program."""

from functools import cached_property
from typing import Literal

import numpy as np

from evalcore.metrics.base import Ask, Encoder, Rendering, Scoring, Value
from evalcore.metrics.encoders.published import DOVER, DOVER_PACKAGES
from evalcore.metrics.registry import declared
from evalcore.metrics.storybench.frechet import clip_of
from evalcore.metrics.weights import requires

Part = Literal["overall", "aesthetic", "technical"]
# Shares of the overall quality, and mean and deviation of each rating.
SHARES = {"aesthetic": 0.6104, "technical": 0.3896}
STANDARD = {"aesthetic": (0.1107, 0.07355), "technical": (-0.08285, 0.03774)}


def perceptual_quality(aesthetic: float, technical: float, part: Part) -> float:
    """Return the quality in percent from DOVER's two ratings.

    Each rating is standardised; overall is their weighted sum. The logistic function of
    it, times 100, is the quality.

    Source: StoryBench, section 3.4 (PQA), and its program, metrics/pqa_dover.
    """
    ratings = {"aesthetic": aesthetic, "technical": technical}
    standard = {
        name: (ratings[name] - mean) / deviation
        for name, (mean, deviation) in STANDARD.items()
    }
    if part == "overall":
        number = sum(SHARES[name] * standard[name] for name in SHARES)
    else:
        number = standard[part]
    return float(100 / (1 + np.exp(-number)))


class PerceptualQuality:
    """Quality of an output's video, from its first shot to its last one.

    Parameters
    ----------
    part
        The quality: composition and appeal (``aesthetic``), absence of noise, blur and
        artefacts (``technical``), or both (``overall``).
    """

    weights = (DOVER,)
    missing = requires(DOVER_PACKAGES, weights)

    def __init__(self, part: Part) -> None:
        self.part = part
        self.info = declared("pqa" if part == "overall" else f"pqa_{part}")

    @cached_property
    def encoder(self) -> Encoder:
        from evalcore.metrics.encoders.dover import dover_encoder

        return dover_encoder()

    def score(self, rendering: Rendering) -> Scoring:
        """Return one value; undefined for an output made of pictures."""
        if not rendering.is_video or not rendering.frames:
            return [Value(None, reason="the output is no video")]
        ((aesthetic, technical),) = yield Ask(self.encoder, [clip_of(rendering)])
        value = perceptual_quality(float(aesthetic), float(technical), self.part)
        ratings = {"aesthetic": float(aesthetic), "technical": float(technical)}
        return [Value(value, trace=ratings)]
