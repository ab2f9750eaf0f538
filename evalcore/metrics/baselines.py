"""Metrics without weights, and plain CLIP: what a learned metric should beat."""

from collections.abc import Sequence
from functools import cached_property
from itertools import combinations
from typing import Literal

import numpy as np

from evalcore.metrics.base import (
    Ask,
    Encoder,
    Floats,
    MetricInfo,
    Rendering,
    Scoring,
    Text,
    Value,
)
from evalcore.metrics.encoders.published import CLIP_PACKAGES, clip_weights
from evalcore.metrics.formulas import (
    LUMA,
    PixelFormula,
    ShotFormula,
    consistency,
    laplacian,
)
from evalcore.metrics.weights import requires


class ClipConsistency:
    """Mean cosine of CLIP features over all pairs of shots."""

    info = MetricInfo(
        name="clip_consistency",
        title="CLIP consistency",
        family="baseline",
        scores="output",
        low=-1,
        source="mean cosine of CLIP features over pairs of shots; baseline",
        measures=(
            "How similar the shots are to CLIP, in content and style. Copying one "
            "picture scores 1."
        ),
        backend="CLIP ViT-L/14 (OpenAI)",
        queue="gpu",
    )

    weights = (clip_weights(),)
    missing = requires(CLIP_PACKAGES, weights)

    @cached_property
    def encoder(self) -> Encoder:
        from evalcore.metrics.encoders.clip import clip_image_encoder

        return clip_image_encoder()

    def score(self, rendering: Rendering) -> Scoring:
        """Return one value; undefined for fewer than two shots."""
        return (yield from consistency(self.encoder, rendering.images))


class ClipScore:
    """Cosine of each shot with its text, in CLIP's space."""

    info = MetricInfo(
        name="clip_score",
        title="CLIP score",
        family="baseline",
        scores="shot",
        low=-1,
        source="cosine of picture and text in CLIP (Hessel et al. 2021); baseline",
        measures=(
            "How well a shot matches its text, according to CLIP. Only the "
            "first 77 tokens count."
        ),
        backend="CLIP ViT-L/14 (OpenAI)",
        queue="gpu",
    )

    weights = (clip_weights(),)
    missing = requires(CLIP_PACKAGES, weights)

    @cached_property
    def encoders(self) -> dict[Literal["picture", "text"], Encoder]:
        from evalcore.metrics.encoders.clip import clip_image_encoder, clip_text_encoder

        return {"picture": clip_image_encoder(), "text": clip_text_encoder()}

    def score(self, rendering: Rendering) -> Scoring:
        """Return one value per shot that has a picture and a text."""
        shots = [shot for shot in rendering.rendered if shot.wording]
        if not shots:
            return [Value(None, reason="no shot has both a picture and a text")]
        images = [shot.frames[0] for shot in shots]
        pictures = yield Ask(self.encoders["picture"], images)
        texts = [Text(shot.wording) for shot in shots]
        words = yield Ask(self.encoders["text"], texts)
        return [
            Value(float(picture @ word), shot.number)
            for shot, picture, word in zip(shots, pictures, words, strict=True)
        ]


def colourfulness(rgb: Floats) -> float:
    """Return the colourfulness of a picture: 0 for grey, about 100 for a vivid one.

    M = sqrt(var(rg) + var(yb)) + 0.3 sqrt(mean(rg)^2 + mean(yb)^2), with rg = R - G and
    yb = (R + G) / 2 - B.

    Source: Hasler and Suesstrunk (2003), Measuring colourfulness in natural images, eq.
    10.
    """
    red, green, blue = rgb[..., 0], rgb[..., 1], rgb[..., 2]
    rg, yb = red - green, (red + green) / 2 - blue
    spread = np.sqrt(rg.var() + yb.var())
    return float(spread + 0.3 * np.sqrt(rg.mean() ** 2 + yb.mean() ** 2))


class Colourfulness(ShotFormula):
    """Colourfulness of each shot."""

    info = MetricInfo(
        name="colourfulness",
        title="Colourfulness",
        family="baseline",
        scores="shot",
        high=None,
        version="2",
        source="Hasler and Suesstrunk 2003, equation 10; baseline",
        measures="How colourful a shot is. The story plays no role.",
    )
    encoder = PixelFormula("colourfulness 2", colourfulness)


LEVELS = 8  # number of levels per channel


def histogram(rgb: Floats) -> Floats:
    """Return the share of pixels in each of 8 x 8 x 8 colours."""
    steps = np.minimum(rgb // (256 / LEVELS), LEVELS - 1).astype(int)
    index = (steps[..., 0] * LEVELS + steps[..., 1]) * LEVELS + steps[..., 2]
    counts = np.bincount(index.ravel(), minlength=LEVELS**3)
    shares: Floats = counts / counts.sum()
    return shares


def palette_consistency(histograms: Sequence[Floats]) -> float:
    """Return the mean intersection of the histograms of all pairs of shots.

    Source: Swain and Ballard (1991), Color indexing: histogram intersection.
    """
    shared = [np.minimum(a, b).sum() for a, b in combinations(histograms, 2)]
    return float(np.mean(shared))


ENCODER = PixelFormula("palette 2", histogram)


class PaletteConsistency:
    """Palette consistency of an output."""

    info = MetricInfo(
        name="palette_consistency",
        title="Palette consistency",
        family="baseline",
        scores="output",
        version="2",
        source="histogram intersection (Swain and Ballard 1991) of shots; baseline",
        measures=(
            "How similar the shots' colours are. Copying one picture scores 1; a "
            "story that moves from day to night scores low."
        ),
    )

    missing = requires()

    def score(self, rendering: Rendering) -> Scoring:
        """Return one value; undefined for fewer than two shots."""
        histograms = yield Ask(ENCODER, rendering.images)
        if len(histograms) < 2:
            return [Value(None, reason="fewer than two shots have a picture")]
        return [Value(palette_consistency(histograms))]


def sharpness(grey: Floats) -> float:
    """Return the variance of the Laplacian of a grey picture, at least 3 x 3.

    Source: Pech-Pacheco et al. (2000), Diatom autofocusing in brightfield microscopy.
    """
    return float(laplacian(grey).var())


class Sharpness(ShotFormula):
    """Sharpness of each shot."""

    info = MetricInfo(
        name="sharpness",
        title="Sharpness",
        family="baseline",
        scores="shot",
        high=None,
        version="2",
        source="variance of the Laplacian at 256 x 256; baseline",
        measures="Amount of fine detail in a shot. Noise counts as detail.",
    )
    encoder = PixelFormula("sharpness 2", lambda rgb: sharpness(rgb @ LUMA))


class ShotsPresent:
    """Share of shots with a picture."""

    info = MetricInfo(
        name="shots_present",
        title="Shots present",
        family="baseline",
        scores="output",
        source="baseline of this project",
        measures="Share of the story's shots that have a picture.",
        backend="counting",
    )

    missing = requires()

    def score(self, rendering: Rendering) -> Scoring:
        """Return one value; undefined for a story without shots."""
        yield from ()
        if not rendering.shots:
            return [Value(None, reason="the story has no shots")]
        return [Value(len(rendering.rendered) / len(rendering.shots))]


# In the order of the list.
METRICS = (
    ClipConsistency,
    ClipScore,
    Colourfulness,
    PaletteConsistency,
    Sharpness,
    ShotsPresent,
)
