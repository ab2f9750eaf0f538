"""SCRFD: where faces are in a picture, and their five points.

Guo et al. (2022), Sample and computation redistribution for efficient face detection.
The network is the one of insightface's antelopev2, and what surrounds it is done as
insightface does it; ViStoryBench finds faces with it for ArcFace.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
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
OVERLAP = 0.4
REMEMBERED = 4096

Outputs = Sequence[npt.NDArray[np.float32]]


@dataclass(frozen=True)
class Face:
    """A face in a picture.

    Parameters
    ----------
    score
        From 0 to 1.
    box
        Left, top, right, bottom in pixels; may reach beyond the picture.
    points
        5 x 2, in pixels: eyes, nose, corners of the mouth.
    """

    score: float
    box: Floats
    points: Floats


@dataclass(frozen=True)
class Candidates:
    """What the network holds for faces, one a row: scores, boxes, points."""

    scores: Floats
    boxes: Floats
    points: Floats

    def at(self, rows: npt.NDArray[np.intp]) -> "Candidates":
        """Return some of them."""
        return Candidates(self.scores[rows], self.boxes[rows], self.points[rows])


class Scrfd:
    """Finds faces; several threads may use it at once.

    The faces of a picture are in insightface's order, the best score first (equal
    scores: the finer stride, then from the top left). The first one is the one that
    identity encoders see. As that is the best one at each threshold, the threshold
    that it appeared at does not change which it is.

    Parameters
    ----------
    weights
        The ONNX file of `scrfd_10g_bnkps`.
    """

    def __init__(self, weights: Weights) -> None:
        # The engine calls from a thread a processor already.
        self.network = OnnxNetwork(weights, outputs=3 * len(STRIDES), threads=1)
        self._lock = Lock()
        self._known: dict[bytes, Floats | None] = {}

    @cached_property
    def id(self) -> str:
        """Name what decides the faces."""
        steps = "/".join(map(str, THRESHOLDS))
        return f"best face of SCRFD at {SIDE} above {steps}; {self.network.id}"

    def points(self, picture: Picture) -> Floats | None:
        """Return the five points of the first face; None where there is none.

        They are remembered for a while, as several encoders look at one picture.
        """
        content = hashlib.blake2b(picture.tobytes(), digest_size=16)
        key = content.digest() + repr(picture.shape).encode()
        with self._lock:
            if key in self._known:
                return self._known[key]
        faces = self.faces(picture)
        points = faces[0].points if faces else None
        with self._lock:
            while len(self._known) >= REMEMBERED:
                del self._known[next(iter(self._known))]
            self._known[key] = points
        return points

    def faces(self, picture: Picture) -> list[Face]:
        """Return the faces at the first threshold that any of them passes.

        Raises
        ------
        ValueError
            The picture has no pixels.
        evalcore.metrics.weights.WeightsError
            The weights are absent, or not those of SCRFD with key points.
        """
        letter, scale = letterboxed(picture)
        inputs = ((letter.transpose(2, 0, 1)[None] - 127.5) / 128).astype(np.float32)
        outputs = self.network(inputs)
        self._check(outputs)
        found = candidates(outputs, THRESHOLDS[-1])
        return first_faces(found, scale)

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

    Raises
    ------
    ValueError
        The picture has no pixels.
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


def candidates(outputs: Outputs, threshold: float) -> Candidates:
    """Return what scores at least the threshold, in pixels of the square.

    Parameters
    ----------
    outputs
        Scores, distances of the box's sides and offsets of the points, each at strides
        8, 16 and 32: positions row by row, two anchors each; in units of the stride.
    threshold
        From 0 to 1.
    """
    parts = []
    steps = len(STRIDES)
    for index, stride in enumerate(STRIDES):
        scores = outputs[index].reshape(-1)
        rows = np.flatnonzero(scores >= threshold)
        across = SIDE // stride
        row, column = np.divmod(rows // ANCHORS, across)
        centre = np.stack([column, row], axis=1).astype(np.float64) * stride
        sides = outputs[index + steps].reshape(-1, 4)[rows] * float(stride)
        offsets = outputs[index + 2 * steps].reshape(-1, POINTS, 2)[rows]
        parts.append(
            Candidates(
                scores[rows].astype(np.float64),
                np.hstack([centre - sides[:, :2], centre + sides[:, 2:]]),
                centre[:, None] + offsets * float(stride),
            )
        )
    return Candidates(
        np.concatenate([part.scores for part in parts]),
        np.concatenate([part.boxes for part in parts]),
        np.concatenate([part.points for part in parts]),
    )


def first_faces(found: Candidates, scale: float) -> list[Face]:
    """Return the faces at the first threshold that any passes, in the picture's pixels.

    Parameters
    ----------
    found
        In pixels of the square.
    scale
        Pixels of the square for one of the picture.
    """
    best_first = found.at(np.argsort(-found.scores, kind="stable"))
    boxes, points = best_first.boxes / scale, best_first.points / scale
    for threshold in THRESHOLDS:
        n = int(np.count_nonzero(best_first.scores >= threshold))
        if n:
            return [
                Face(float(best_first.scores[i]), boxes[i], points[i])
                for i in apart(boxes[:n])
            ]
    return []


def apart(boxes: Floats) -> list[int]:
    """Return which boxes to keep: none that overlaps a better one by more than 0.4.

    Parameters
    ----------
    boxes
        n x 4, the best first; left, top, right, bottom. As in insightface a box
        includes its last pixel, so that it is wider than right - left by one.

    Examples
    --------
    >>> apart(np.array([[0.0, 0, 9, 9], [1, 0, 10, 9], [50, 0, 59, 9]]))
    [0, 2]
    """
    low, high = boxes[:, :2], boxes[:, 2:] + 1
    areas = np.prod(high - low, axis=1)
    kept: list[int] = []
    left = np.arange(len(boxes))
    while left.size:
        best, left = left[0], left[1:]
        kept.append(int(best))
        common = np.minimum(high[best], high[left]) - np.maximum(low[best], low[left])
        shared = np.prod(np.maximum(common, 0), axis=1)
        overlap = shared / (areas[best] + areas[left] - shared)
        left = left[overlap <= OVERLAP]
    return kept
