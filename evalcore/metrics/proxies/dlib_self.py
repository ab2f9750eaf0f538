"""Whether faces stay the same, by a network inside a package: a stand-in."""

from functools import cached_property

import numpy as np

from evalcore.metrics.base import Ask, Encoder, MetricInfo, Rendering, Scoring, Value
from evalcore.metrics.encoders import faces
from evalcore.metrics.errors import Lacks
from evalcore.metrics.formulas import mean_cosine


class FaceConsistency:
    """Mean cosine over pairs of shots of the clearest face that dlib sees in each."""

    info = MetricInfo(
        name="dlib_self",
        title="dlib face consistency (stand-in)",
        family="stand-in",
        scores="output",
        low=-1,
        source="mean cosine of dlib's face features over pairs of shots; stand-in",
        measures=(
            "Whether the clearest face of each shot is the same person, where dlib "
            "sees a face at all. It does not ask which character it is."
        ),
        backend="dlib HOG faces, ResNet features",
    )

    def missing(self) -> Lacks:
        return faces.missing(faces.DLIB)

    @cached_property
    def encoder(self) -> Encoder:
        from evalcore.metrics.encoders.dlib_faces import dlib_face_encoder

        return dlib_face_encoder()

    def score(self, rendering: Rendering) -> Scoring:
        """Return one value; undefined where fewer than two shots show a face."""
        features = yield Ask(self.encoder, rendering.images)
        seen = [feature[0] for feature in features if len(feature)]
        if len(seen) < 2:
            return [Value(None, reason="fewer than two shots show a face to dlib")]
        return [Value(mean_cosine(np.stack(seen)), trace={"faces": len(seen)})]


METRIC = FaceConsistency
