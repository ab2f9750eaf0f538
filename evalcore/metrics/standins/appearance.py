"""Consistency as a network sees it that ships inside a package: a stand-in."""

from functools import cached_property
from typing import TYPE_CHECKING

from evalcore.metrics.base import MetricInfo, Rendering, Scoring
from evalcore.metrics.consistency import consistency
from evalcore.metrics.encoders.published import MOBILENET
from evalcore.metrics.weights import Lacks, lacking

if TYPE_CHECKING:
    from evalcore.metrics.encoders.runtime import NetworkEncoder


class MobilenetConsistency:
    """The formula of CSD's self-similarity on features of MobileNetV2."""

    info = MetricInfo(
        name="mobilenet_self",
        title="MobileNet consistency (stand-in)",
        family="stand-in",
        scores="output",
        higher_is_better=True,
        low=-1,
        high=1,
        version="1",
        source="formula of csd_self on MobileNetV2; stand-in of this project",
        measures=(
            "Whether the shots look alike to a small network trained on photographs. "
            "It stands in where CSD's weights are absent; no paper uses it."
        ),
        backend="MobileNetV2 (torchvision, ImageNet)",
    )

    def missing(self) -> Lacks:
        """Return what is lacking."""
        return lacking(("torch", "torchvision"), (MOBILENET,))

    @cached_property
    def encoder(self) -> "NetworkEncoder":
        """Return what sees pictures."""
        from evalcore.metrics.encoders.mobilenet import mobilenet_encoder

        return mobilenet_encoder("features")

    def score(self, rendering: Rendering) -> Scoring:
        """Return one value; undefined for fewer than two shots."""
        return (yield from consistency(self.encoder, rendering.images))
