"""Face detection and recognition: SCRFD and ArcFace of insightface's antelopev2.

Both are ONNX networks that run on the processor, the same on every machine. Processing
around SCRFD follows insightface. Sources: Guo et al. (2022), Sample and computation
redistribution for efficient face detection; Deng et al. (2019), ArcFace (`glintr100`,
trained on Glint360K).
"""

import hashlib
from collections.abc import Sequence
from functools import cached_property
from threading import Lock
from typing import Any

import numpy as np
import numpy.typing as npt
import onnxruntime
from onnxruntime.capi import onnxruntime_pybind11_state as states

from evalcore.metrics.base import Feature, Floats, Picture
from evalcore.metrics.formulas import stretched
from evalcore.metrics.weights import Weights, WeightsError, fingerprint

# Errors of onnxruntime, which have no common base class.
ERRORS = (
    states.EPFail,
    states.Fail,
    states.InvalidArgument,
    states.InvalidGraph,
    states.InvalidProtobuf,
    states.NoSuchFile,
    states.NotImplemented,
    states.RuntimeException,
)


class OnnxNetwork:
    """A network loaded from a file on first use; several threads may call it."""

    def __init__(self, weights: Weights, *, outputs: int, threads: int = 0) -> None:
        self.weights = weights
        self.outputs = outputs
        self.threads = threads

    @cached_property
    def id(self) -> str:
        return fingerprint(self.weights)

    @cached_property
    def session(self) -> Any:
        path = self.weights.need()
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = self.threads
        # Published files give a fixed batch of 1 as the shape of outputs that accept
        # any; without this setting every batch would log a warning.
        options.log_severity_level = 3
        try:
            session = onnxruntime.InferenceSession(
                str(path), options, providers=["CPUExecutionProvider"]
            )
        except ERRORS as error:
            raise WeightsError(f"{path} cannot be read as ONNX ({error})") from error
        found = len(session.get_outputs())
        if found != self.outputs or len(session.get_inputs()) != 1:
            raise WeightsError(
                f"{path} is another network: it has {len(session.get_inputs())} inputs "
                f"and {found} outputs, not 1 and {self.outputs}"
            )
        return session

    def __call__(
        self, batch: npt.NDArray[np.float32]
    ) -> Sequence[npt.NDArray[np.float32]]:
        session = self.session
        try:
            outputs = session.run(None, {session.get_inputs()[0].name: batch})
        except ERRORS as error:
            raise RuntimeError(f"{self.weights.path}: {error}") from error
        return [np.asarray(output) for output in outputs]

    @property
    def fixed_batch(self) -> int | None:
        """Return the network's batch size, if it is fixed."""
        first = self.session.get_inputs()[0].shape[0]
        return first if isinstance(first, int) else None


# ArcFace ------------------------------------------------------------------------------


LENGTH = 512
BATCH = 16


class ArcFace:
    """An encoder of aligned faces, 112 x 112 RGB, into 512 numbers."""

    batch = BATCH

    def __init__(self, weights: Weights) -> None:
        self.network = OnnxNetwork(weights, outputs=1)

    @cached_property
    def id(self) -> str:
        return f"ArcFace; {self.network.id}; fp32"

    def prepare(self, item: Picture) -> Picture:
        return item

    def encode(self, prepared: Sequence[Picture]) -> list[Feature]:
        """Return 512 numbers per face, not normalised."""
        faces = np.stack(prepared).transpose(0, 3, 1, 2).astype(np.float32)
        inputs = (faces - 127.5) / 127.5
        size = self.network.fixed_batch or len(inputs)
        outputs = [
            self.network(inputs[start : start + size])[0]
            for start in range(0, len(inputs), size)
        ]
        vectors = np.concatenate(outputs)
        if vectors.shape != (len(inputs), LENGTH):
            raise WeightsError(
                f"{self.network.weights.path} is another network: {len(inputs)} faces "
                f"give an output of shape {vectors.shape}, not "
                f"{(len(inputs), LENGTH)}"
            )
        return list(vectors)


# SCRFD --------------------------------------------------------------------------------


SIDE = 640
STRIDES = (8, 16, 32)
ANCHORS = 2  # per position
POINTS = 5
# The threshold is lowered in these steps until a face appears, as in ViStoryBench's
# program.
THRESHOLDS = (0.45, 0.35, 0.25, 0.15)
REMEMBERED = 4096

Outputs = Sequence[npt.NDArray[np.float32]]


class Scrfd:
    """Detector of the best face; several threads may use it at once.

    Ties go to the finer stride, then to the position first from the top left.
    `weights`: the ONNX file of `scrfd_10g_bnkps`.
    """

    def __init__(self, weights: Weights) -> None:
        # The engine already calls from one thread per processor.
        self.network = OnnxNetwork(weights, outputs=3 * len(STRIDES), threads=1)
        self._lock = Lock()
        self._known: dict[bytes, Floats | None] = {}

    @cached_property
    def id(self) -> str:
        steps = "/".join(map(str, THRESHOLDS))
        return f"best face of SCRFD at {SIDE} above {steps}; {self.network.id}"

    def points(self, picture: Picture) -> Floats | None:
        """Return the five points of the best face; None if there is no face."""
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
    """Return the picture in the top left of a black square, and the scale."""
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
    """Return the best face's points in pixels of the square; None without a face.

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
