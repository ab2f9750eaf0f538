"""Items for the networks of scenes, and the format of their features.

The module is separate from the networks, so that a metric imports no network library to
read a feature.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from evalcore.metrics.base import Feature, Floats, Image, Picture, Source

# Centre x, centre y, width, height, as shares of the picture.
ShareOfBox = tuple[float, ...]
WIDTH, HEIGHT = 192, 256  # size of the pose network's frame
# In the order of the face classifier.
EXPRESSIONS = ("angry", "disgust", "fear", "happy", "neutral", "sad", "surprise")
SIDE = 192  # masks and depth maps are SIDE x SIDE, whatever the picture's shape
HEAD = 6  # label, score, and four of the box


@dataclass(frozen=True)
class Boxed:
    """A whole picture with a box that marks an object."""

    image: Image
    box: ShareOfBox

    @cached_property
    def key(self) -> str:
        sides = ",".join(f"{side:.6f}" for side in self.box)
        return f"{self.image.key}<{sides}>"

    @property
    def source(self) -> Source:
        return self.image.source

    @property
    def indices(self) -> range:
        return self.image.indices

    def cut(self, pictures: Sequence[Picture]) -> tuple[Picture, ShareOfBox]:
        return self.image.cut(pictures), self.box


def place(width: int, height: int) -> tuple[int, int, int, int]:
    """Return left, top, width, height of a picture centred in the frame."""
    scale = min(WIDTH / width, HEIGHT / height)
    inner = max(1, round(width * scale)), max(1, round(height * scale))
    return (WIDTH - inner[0]) // 2, (HEIGHT - inner[1]) // 2, *inner


def unframed(joints: Feature, size: tuple[int, int]) -> Floats:
    """Return joints in pixels of the picture before framing."""
    left, top, width, height = place(*size)
    found = np.array(joints, dtype=np.float64)
    found[:, 0] = (found[:, 0] * WIDTH - left) * size[0] / width
    found[:, 1] = (found[:, 1] * HEIGHT - top) * size[1] / height
    return found


@dataclass(frozen=True)
class Instance:
    """One object."""

    label: int  # its category number in COCO; 1 is a person
    score: float  # the network's confidence, from 0 to 1
    # Left, top, right, bottom, as shares of the picture.
    box: tuple[float, float, float, float]
    mask: npt.NDArray[np.bool_]  # 192 x 192 booleans, covering the whole picture


def packed(instances: Sequence[Instance]) -> Feature:
    """Return instances as one array of bytes, one row each; eight pixels per byte."""
    rows = [
        np.concatenate(
            [
                np.array([one.label, one.score, *one.box], "<f4").view(np.uint8),
                np.packbits(one.mask),
            ]
        )
        for one in instances
    ]
    return np.stack(rows) if rows else np.zeros((0, HEAD * 4), np.uint8)


def unpacked(feature: Feature) -> list[Instance]:
    instances = []
    for row in feature:
        label, score, left, top, right, bottom = map(
            float, row[: HEAD * 4].copy().view("<f4")
        )
        mask = np.unpackbits(row[HEAD * 4 :]).reshape(SIDE, SIDE).astype(bool)
        instances.append(Instance(int(label), score, (left, top, right, bottom), mask))
    return instances
