"""How beautiful a shot is, as Aesthetic Predictor V2.5 rates it."""

from functools import cached_property
from typing import Literal

from evalcore.metrics.base import Ask, Encoder, MetricInfo, Rendering, Scoring, Value
from evalcore.metrics.encoders.published import AESTHETIC_HEAD, SIGLIP, TRANSFORMERS
from evalcore.metrics.weights import needing

Profile = Literal["vsb-code-2026.02", "vsb-paper"]


class Aesthetic:
    """The rating of each shot, about 1 to 10; 5.5 and more is good.

    Profile `vsb-paper` rates as the predictor's author does; `vsb-code-2026.02` as the
    reference program does, whose pictures are smaller and never normalised, so that its
    numbers are not the predictor's own.
    """

    def __init__(self, profile: Profile) -> None:
        self.info = MetricInfo(
            name="aesthetic",
            title="Aesthetics",
            family="ViStoryBench",
            scores="shot",
            low=None,
            high=None,
            source="ViStoryBench, section 3.3; Aesthetic Predictor V2.5",
            measures="How beautiful people would find a shot. It knows no story.",
            backend="SigLIP so400m/14 384, Aesthetic Predictor V2.5",
            profile=profile,
            queue="gpu",
        )

    missing = needing(TRANSFORMERS, (SIGLIP, AESTHETIC_HEAD))

    @cached_property
    def encoder(self) -> Encoder:
        from evalcore.metrics.encoders.siglip import aesthetic_encoder

        official = self.info.profile == "vsb-paper"
        return aesthetic_encoder("official" if official else "vsb")

    def score(self, rendering: Rendering) -> Scoring:
        """Return one value a shot; undefined for an output without pictures."""
        ratings = yield Ask(self.encoder, rendering.images)
        if not ratings:
            return [Value(None, reason="no shot has a picture")]
        return [
            Value(rating.item(), shot.number)
            for shot, rating in zip(rendering.rendered, ratings, strict=True)
        ]
