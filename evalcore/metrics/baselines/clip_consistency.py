"""How alike the shots of a story are to plain CLIP."""

from functools import cached_property

from evalcore.metrics.base import Encoder, MetricInfo, Rendering, Scoring
from evalcore.metrics.encoders.published import CLIP_PACKAGES, clip_weights
from evalcore.metrics.formulas import consistency
from evalcore.metrics.weights import needing


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
            "Whether the shots look alike to CLIP, in what they show and how. Copying "
            "one picture scores 1."
        ),
        backend="CLIP ViT-L/14 (OpenAI)",
        queue="gpu",
    )

    missing = needing(CLIP_PACKAGES, (clip_weights(),))

    @cached_property
    def encoder(self) -> Encoder:
        from evalcore.metrics.encoders.clip import clip_image_encoder

        return clip_image_encoder()

    def score(self, rendering: Rendering) -> Scoring:
        """Return one value; undefined for fewer than two shots."""
        return (yield from consistency(self.encoder, rendering.images))


METRIC = ClipConsistency
