"""Objects in a picture, each with its mask, and how they are kept as one feature."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from evalcore.metrics.base import Feature

SIDE = 192  # masks and depth maps are SIDE x SIDE, whatever the picture's shape
HEAD = 6  # label, score, and four of the box


@dataclass(frozen=True)
class Instance:
    """One object."""

    label: int  # its category, as COCO numbers them; 1 is a person
    score: float  # how sure the network is, from 0 to 1
    # Left, top, right, bottom, as shares of the picture.
    box: tuple[float, float, float, float]
    mask: npt.NDArray[np.bool_]  # 192 x 192 booleans, spread over the whole picture


def packed(instances: Sequence[Instance]) -> Feature:
    """Return instances as one array of bytes, a row each; eight pixels a byte."""
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
    """Return the instances of a feature."""
    instances = []
    for row in feature:
        label, score, left, top, right, bottom = map(
            float, row[: HEAD * 4].copy().view("<f4")
        )
        mask = np.unpackbits(row[HEAD * 4 :]).reshape(SIDE, SIDE).astype(bool)
        instances.append(Instance(int(label), score, (left, top, right, bottom), mask))
    return instances
