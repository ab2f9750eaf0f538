"""From faces to vectors of length 1, and from none to none."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from evalcore.metrics.base import Feature
from evalcore.metrics.errors import FeatureError

LENGTH, DLIB_LENGTH = 512, 128


def of_faces(
    prepared: Sequence[Any],
    encode: Callable[[Sequence[Any]], Sequence[Feature | FeatureError]],
    length: int,
) -> list[Feature | FeatureError]:
    """Encode the faces that there are.

    `prepared`: a face, or None where there is none. `encode`: turns faces into vectors.
    Result: float32, 1 x length and of length 1 for a face, 0 x length for None.
    """
    faces = [face for face in prepared if face is not None]
    vectors = iter(encode(faces) if faces else ())
    return [
        np.empty((0, length), np.float32) if face is None else _unit(next(vectors))
        for face in prepared
    ]


def _unit(vector: Feature | FeatureError) -> Feature | FeatureError:
    if isinstance(vector, FeatureError):
        return vector
    length = float(np.linalg.norm(vector.astype(np.float64)))
    if not 0 < length < np.inf:
        return FeatureError(f"the network gave a face a vector of length {length}")
    return (vector / length).astype(np.float32)[None]
