"""The formula of the Inception Score on a network inside a package: a stand-in."""

from functools import cached_property

import numpy as np

from evalcore.metrics.base import Ask, Encoder, MetricInfo, Run, Scoring, Value
from evalcore.metrics.encoders.published import MOBILENET
from evalcore.metrics.vistorybench.inception_score import inception_score
from evalcore.metrics.weights import needing


class MobilenetDiversity:
    """The Inception Score's formula on MobileNetV2, over all pictures of a method."""

    info = MetricInfo(
        name="mobilenet_diversity",
        title="MobileNet diversity (stand-in)",
        family="stand-in",
        scores="run",
        low=1,
        high=1000,
        source="formula of inception_score on MobileNetV2; stand-in of this project",
        measures=(
            "Whether a method's pictures are clear and of many kinds, to a small "
            "network trained on photographs. Its values are not Inception Scores."
        ),
        backend="MobileNetV2 (torchvision, ImageNet)",
    )

    missing = needing(("torch", "torchvision"), (MOBILENET,))

    @cached_property
    def encoder(self) -> Encoder:
        from evalcore.metrics.encoders.mobilenet import mobilenet_encoder

        return mobilenet_encoder("probabilities")

    def score(self, run: Run) -> Scoring:
        """Return one value; undefined for a method without pictures."""
        images = [image for output in run.outputs for image in output.images]
        if not images:
            return [Value(None, reason="no output of the method has a picture")]
        shares = yield Ask(self.encoder, images)
        return [Value(inception_score(np.stack(shares), 1)[0])]


METRIC = MobilenetDiversity
