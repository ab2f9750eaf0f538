"""SCRFD: where faces are in a picture, and their five points.

Guo et al. (2022), Sample and computation redistribution for efficient face detection.
The network is the one of insightface's antelopev2, and what surrounds it is done as
insightface does it; ViStoryBench finds faces with it for ArcFace.
"""

import hashlib
from collections.abc import Sequence
from functools import cached_property
from threading import Lock

import numpy as np
import numpy.typing as npt

from evalcore.metrics.base import Floats, Picture
from evalcore.metrics.encoders.face_alignment import stretched
from evalcore.metrics.encoders.onnx_network import OnnxNetwork
from evalcore.metrics.weights import Weights, WeightsError

SIDE = 640
STRIDES = (8, 16, 32)
ANCHORS = 2  # at each position
POINTS = 5
# Lowered in these steps until a face appears, as ViStoryBench's program does.
THRESHOLDS = (0.45, 0.35, 0.25, 0.15)
REMEMBERED = 4096

Outputs = Sequence[npt.NDArray[np.float32]]


class Scrfd:
    """Finds the best face; several threads may use it at once.

    That is insightface's first one: of equal scores the one at the finer stride, then
    from the top left. As it is the best one at each threshold, the threshold that it
    appeared at does not change which it is.

    `weights`: the ONNX file of `scrfd_10g_bnkps`.
    """

    def __init__(self, weights: Weights) -> None:
        # The engine calls from a thread a processor already.
        self.network = OnnxNetwork(weights, outputs=3 * len(STRIDES), threads=1)
        self._lock = Lock()
        self._known: dict[bytes, Floats | None] = {}

    @cached_property
    def id(self) -> str:
        steps = "/".join(map(str, THRESHOLDS))
        return f"best face of SCRFD at {SIDE} above {steps}; {self.network.id}"

    def points(self, picture: Picture) -> Floats | None:
        """Return the five points of the best face; None where there is none.

        They are remembered for a while, as several encoders look at one picture.
        """
        content = hashlib.blake2b(picture.tobytes(), digest_size=16)
        key = content.digest() + repr(picture.shape).encode()
        with self._lock:
            if key in self._known:
                return self._known[key]
        points = self._found(picture)
        with self._lock:
            while len(self._known) >= REMEMBERED:
                del self._known[next(iter(self._known))]
            self._known[key] = points
        return points

    def _found(self, picture: Picture) -> Floats | None:
        letter, scale = letterboxed(picture)
        inputs = ((letter.transpose(2, 0, 1)[None] - 127.5) / 128).astype(np.float32)
        outputs = self.network(inputs)
        self._check(outputs)
        points = best_points(outputs)
        return None if points is None else points / scale

    def _check(self, outputs: Outputs) -> None:
        sizes = [
            ANCHORS * (SIDE // stride) ** 2 * numbers
            for numbers in (1, 4, 2 * POINTS)
            for stride in STRIDES
        ]
        if [output.size for output in outputs] != sizes:
            raise WeightsError(
                f"{self.network.weights.path} is another network: its outputs hold "
                f"{[output.size for output in outputs]} numbers, not {sizes}"
            )


def letterboxed(picture: Picture) -> tuple[Picture, float]:
    """Return the picture in the top left of a black square, and the scale.

    The longer side becomes 640; smaller pictures are enlarged. The scale is that of the
    height, for both directions, as in insightface.
    """
    height, width = picture.shape[:2]
    if not picture.size:
        raise ValueError(f"a picture of {width} x {height} pixels shows nothing")
    if height > width:
        high, wide = SIDE, max(1, int(SIDE / (height / width)))
    else:
        high, wide = max(1, int(SIDE * (height / width))), SIDE
    square = np.zeros((SIDE, SIDE, 3), np.uint8)
    square[:high, :wide] = stretched(picture, wide, high)
    return square, high / height


def best_points(outputs: Outputs) -> Floats | None:
    """Return the points of what scores best, in pixels of the square; None: nothing.

    `outputs`: scores, distances of the box's sides and offsets of the points, each at
    strides 8, 16 and 32: positions row by row, two anchors each; in units of the
    stride.
    """
    highest, points = 0.0, None
    for index, stride in enumerate(STRIDES):
        scores = outputs[index].reshape(-1)
        rows = np.flatnonzero(scores >= THRESHOLDS[-1])
        if not rows.size:
            continue
        best = rows[np.argmax(scores[rows])]
        if scores[best] > highest:
            highest = scores[best]
            row, column = np.divmod(best // ANCHORS, SIDE // stride)
            offsets = outputs[index + 2 * len(STRIDES)].reshape(-1, POINTS, 2)[best]
            anchor = np.array([column, row], np.float64) * stride
            points = anchor + offsets * float(stride)
    return points
