"""Face recognition by dlib: a proxy that runs everywhere, with weights from a package.

It finds upright frontal faces down to about 40 pixels. Cosines of its features are
close together (0.86 between stories, 0.91 within one) and not comparable with other
networks.
"""

from collections.abc import Sequence
from functools import cache, cached_property
from threading import Lock, local
from typing import Any

import dlib
import numpy as np

from evalcore.metrics.base import Encoder, Feature, FeatureError, Picture
from evalcore.metrics.encoders.faces import of_faces
from evalcore.metrics.encoders.published import DLIB_NETWORK, DLIB_POINTS
from evalcore.metrics.weights import Weights, WeightsError, fingerprint

BATCH = 32
LENGTH = 128  # length of a feature
CHIP, PADDING = 150, 0.25
# number of times the picture is doubled, so that faces of 40 pixels are found
UPSAMPLED = 1


@cache
def dlib_face_encoder() -> Encoder:
    """Return dlib's encoder: a proxy that runs everywhere, 128 numbers."""
    return DlibFaces(DLIB_POINTS, DLIB_NETWORK)


class DlibFaces:
    """Encoder of pictures of a character: 1 x 128 for the best face, or 0 x 128.

    dlib's detector keeps internal state, so each thread has one; only one thread at a
    time uses the network.
    """

    batch = BATCH

    def __init__(self, points: Weights, network: Weights) -> None:
        self.weights = (points, network)
        self._own = local()
        self._lock = Lock()

    @cached_property
    def id(self) -> str:
        return (
            f"dlib {dlib.__version__}, best frontal face, doubled "
            f"{UPSAMPLED} times; {fingerprint(*self.weights)}"
        )

    def prepare(self, item: Picture) -> Picture | None:
        """Find the face and align it upright in 150 x 150; None without a face."""
        picture = np.ascontiguousarray(item)
        boxes, scores, _parts = self._detector.run(picture, UPSAMPLED, 0.0)
        if not boxes:
            return None
        best = boxes[int(np.argmax(scores))]
        shape = self._predictor(picture, best)
        return np.asarray(dlib.get_face_chip(picture, shape, CHIP, PADDING))

    def encode(
        self, prepared: Sequence[Picture | None]
    ) -> list[Feature | FeatureError]:
        return of_faces(prepared, self._described, LENGTH)

    def _described(self, faces: Sequence[Picture]) -> list[Feature]:
        with self._lock:
            vectors = self._network.compute_face_descriptor(list(faces))
        return [np.asarray(vector, np.float32) for vector in vectors]

    @property
    def _detector(self) -> Any:
        if not hasattr(self._own, "detector"):
            self._own.detector = dlib.get_frontal_face_detector()
        return self._own.detector

    @cached_property
    def _predictor(self) -> Any:
        return _loaded(dlib.shape_predictor, self.weights[0])

    @cached_property
    def _network(self) -> Any:
        return _loaded(dlib.face_recognition_model_v1, self.weights[1])


def _loaded(make: Any, weights: Weights) -> Any:
    path = weights.need()
    try:
        return make(str(path))
    except RuntimeError as error:
        raise WeightsError(f"{path} cannot be read by dlib ({error})") from error
