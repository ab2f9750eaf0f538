"""Consistency as a network sees it that ships inside a package: a stand-in."""

from functools import cached_property

from evalcore.metrics.base import Encoder, MetricInfo, Rendering, Scoring
from evalcore.metrics.encoders.published import MOBILENET
from evalcore.metrics.formulas import consistency
from evalcore.metrics.weights import needing


class MobilenetConsistency:
    """The formula of CSD's self-similarity on features of MobileNetV2."""

    info = MetricInfo(
        name="mobilenet_self",
        title="MobileNet consistency (stand-in)",
        family="stand-in",
        scores="output",
        low=-1,
        source="formula of csd_self on MobileNetV2; stand-in of this project",
        measures=(
            "Whether the shots look alike to a small network trained on photographs. "
            "It stands in where CSD's weights are absent; no paper uses it."
        ),
        backend="MobileNetV2 (torchvision, ImageNet)",
    )

    missing = needing(("torch", "torchvision"), (MOBILENET,))

    @cached_property
    def encoder(self) -> Encoder:
        from evalcore.metrics.encoders.mobilenet import mobilenet_encoder

        return mobilenet_encoder("features")

    def score(self, rendering: Rendering) -> Scoring:
        """Return one value; undefined for fewer than two shots."""
        return (yield from consistency(self.encoder, rendering.images))


METRIC = MobilenetConsistency
