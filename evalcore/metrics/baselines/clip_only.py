"""What plain CLIP says: the baseline that a learned metric should beat."""

from functools import cached_property
from typing import Literal

from evalcore.metrics.base import (
    Ask,
    Encoder,
    MetricInfo,
    RenderedShot,
    Rendering,
    Scoring,
    Text,
    Value,
)
from evalcore.metrics.consistency import consistency
from evalcore.metrics.encoders.published import CLIP_PACKAGES, clip_weights
from evalcore.metrics.weights import needing

# Which field of a shot says what is to be seen, the best one first.
FIELDS = ("static", "caption", "prompt", "plot", "setting")
BACKEND = "CLIP ViT-L/14 (OpenAI)"


def wording(shot: RenderedShot) -> str:
    """Return the text that says what a shot shows; empty if none does.

    Examples
    --------
    >>> wording(Shot(1, text={"plot": "A fox walks.", "camera": "close-up"}))
    'A fox walks.'
    """
    return next((shot.text[field] for field in FIELDS if shot.text.get(field)), "")


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
        backend=BACKEND,
        queue="gpu",
    )

    missing = needing(CLIP_PACKAGES, (clip_weights(),))

    @cached_property
    def encoder(self) -> Encoder:
        """Return what sees pictures."""
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
            "Whether a shot shows what its text says, as far as CLIP sees it. Only the "
            "first 77 tokens count."
        ),
        backend=BACKEND,
        queue="gpu",
    )

    missing = needing(CLIP_PACKAGES, (clip_weights(),))

    @cached_property
    def encoders(self) -> dict[Literal["picture", "text"], Encoder]:
        """Return what sees pictures, and what reads texts."""
        from evalcore.metrics.encoders.clip import clip_image_encoder, clip_text_encoder

        return {"picture": clip_image_encoder(), "text": clip_text_encoder()}

    def score(self, rendering: Rendering) -> Scoring:
        """Return one value a shot that has a picture and a text."""
        shots = [shot for shot in rendering.rendered if wording(shot)]
        if not shots:
            return [Value(None, reason="no shot has both a picture and a text")]
        images = [shot.frames[0] for shot in shots]
        pictures = yield Ask(self.encoders["picture"], images)
        texts = [Text(wording(shot)) for shot in shots]
        words = yield Ask(self.encoders["text"], texts)
        return [
            Value(float(picture @ word), shot.number)
            for shot, picture, word in zip(shots, pictures, words, strict=True)
        ]
