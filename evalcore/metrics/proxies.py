"""Proxy metrics on networks that come with a package, marked as stand-ins."""

from functools import cached_property

import numpy as np

from evalcore.metrics.base import (
    Ask,
    Encoder,
    MetricInfo,
    Rendering,
    Run,
    Scoring,
    Value,
)
from evalcore.metrics.encoders.published import (
    DLIB_NETWORK,
    DLIB_POINTS,
    MOBILENET,
)
from evalcore.metrics.formulas import consistency, mean_cosine
from evalcore.metrics.weights import requires


class FaceConsistency:
    """Mean cosine over pairs of shots between the clearest faces found by dlib."""

    info = MetricInfo(
        name="dlib_self",
        title="dlib face consistency (stand-in)",
        family="stand-in",
        scores="output",
        low=-1,
        source="mean cosine of dlib's face features over pairs of shots; stand-in",
        measures=(
            "How similar the clearest faces of the shots are, where dlib finds a "
            "face at all. It does not check which character it is."
        ),
        backend="dlib HOG faces, ResNet features",
    )
    exact = True  # its networks never round to bf16

    weights = (DLIB_POINTS, DLIB_NETWORK)
    missing = requires(("dlib",), weights)

    @cached_property
    def encoder(self) -> Encoder:
        from evalcore.metrics.encoders.dlib_faces import dlib_face_encoder

        return dlib_face_encoder()

    def score(self, rendering: Rendering) -> Scoring:
        """Return one value; undefined if fewer than two shots show a face."""
        features = yield Ask(self.encoder, rendering.images)
        seen = [feature[0] for feature in features if len(feature)]
        if len(seen) < 2:
            return [Value(None, reason="fewer than two shots show a face to dlib")]
        return [Value(mean_cosine(np.stack(seen)), trace={"faces": len(seen)})]


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
            "Whether a method's pictures are clear and varied, to a small network "
            "trained on photographs. Its values are not Inception Scores."
        ),
        backend="MobileNetV2 (torchvision, ImageNet)",
    )

    weights = (MOBILENET,)
    missing = requires(("torch", "torchvision"), weights)

    @cached_property
    def encoder(self) -> Encoder:
        from evalcore.metrics.encoders.torchvision_networks import mobilenet_encoder

        return mobilenet_encoder("probabilities")

    def score(self, run: Run) -> Scoring:
        """Return one value; undefined for a method without pictures."""
        from evalcore.metrics.vistorybench.pictures import inception_score

        images = [image for output in run.outputs for image in output.images]
        if not images:
            return [Value(None, reason="no output of the method has a picture")]
        shares = yield Ask(self.encoder, images)
        return [Value(inception_score(np.stack(shares), 1)[0])]


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
            "How similar the shots are to a small network trained on photographs. "
            "It replaces CSD where its weights are missing; no paper uses it."
        ),
        backend="MobileNetV2 (torchvision, ImageNet)",
    )

    weights = (MOBILENET,)
    missing = requires(("torch", "torchvision"), weights)

    @cached_property
    def encoder(self) -> Encoder:
        from evalcore.metrics.encoders.torchvision_networks import mobilenet_encoder

        return mobilenet_encoder("features")

    def score(self, rendering: Rendering) -> Scoring:
        """Return one value; undefined for fewer than two shots."""
        return (yield from consistency(self.encoder, rendering.images))


# In the order of the list.
METRICS = (
    FaceConsistency,
    MobilenetDiversity,
    MobilenetConsistency,
)
