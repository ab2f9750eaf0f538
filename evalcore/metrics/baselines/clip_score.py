"""How near a shot is to its text in plain CLIP's space."""

from functools import cached_property
from typing import Literal

from evalcore.metrics.base import (
    Ask,
    Encoder,
    MetricInfo,
    Rendering,
    Scoring,
    Text,
    Value,
)
from evalcore.metrics.encoders.published import CLIP_PACKAGES, clip_weights
from evalcore.metrics.weights import needing


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
            "Whether a shot shows what its text says, as far as CLIP sees it. Only the "
            "first 77 tokens count."
        ),
        backend="CLIP ViT-L/14 (OpenAI)",
        queue="gpu",
    )

    missing = needing(CLIP_PACKAGES, (clip_weights(),))

    @cached_property
    def encoders(self) -> dict[Literal["picture", "text"], Encoder]:
        from evalcore.metrics.encoders.clip import clip_image_encoder, clip_text_encoder

        return {"picture": clip_image_encoder(), "text": clip_text_encoder()}

    def score(self, rendering: Rendering) -> Scoring:
        """Return one value a shot that has a picture and a text."""
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


METRIC = ClipScore
