"""Pictures in a fixed size, so that baselines depend little on resolution.

A picture smaller than that size is enlarged smoothly: it gains no detail.
"""

from collections.abc import Callable, Sequence

import numpy as np
from PIL import Image

from evalcore.metrics.base import (
    Ask,
    Feature,
    Floats,
    Picture,
    Rendering,
    Scoring,
    Value,
)
from evalcore.metrics.weights import needing

SIDE = 256
# How much red, green and blue weigh in grey (ITU-R BT.601).
LUMA = np.array([0.299, 0.587, 0.114])


def normalised(picture: Picture) -> Floats:
    """Return the picture squashed to 256 x 256, as floats from 0 to 255.

    `picture`: height x width x 3, RGB, eight bits.
    """
    image = Image.fromarray(picture).resize((SIDE, SIDE), Image.Resampling.BICUBIC)
    return np.asarray(image, dtype=np.float64)


def laplacian(values: Floats) -> Floats:
    """Return the Laplacian of the four neighbours, on inner pixels only."""
    inner: Floats = (
        values[:-2, 1:-1]
        + values[2:, 1:-1]
        + values[1:-1, :-2]
        + values[1:-1, 2:]
        - 4 * values[1:-1, 1:-1]
    )
    return inner


class PixelFormula:
    """An encoder without weights: a formula on the pixels of a normalised picture.

    `id`: names the formula and its version. `formula`: from floats (height x width x 3,
    from 0 to 255) to numbers.
    """

    batch = 256

    def __init__(self, id: str, formula: Callable[[Floats], object]) -> None:
        self.id = id
        self.formula = formula

    def prepare(self, item: Picture) -> Feature:
        return np.asarray(self.formula(normalised(item)), dtype=np.float64)

    def encode(self, prepared: Sequence[Feature]) -> Sequence[Feature]:
        """Return what was prepared: there is nothing left to do."""
        return prepared


class ShotFormula:
    """A metric of single shots that is a formula on their pixels: always ready."""

    encoder: PixelFormula

    missing = needing()

    def score(self, rendering: Rendering) -> Scoring:
        """Return one value a shot that is there."""
        values = yield Ask(self.encoder, rendering.images)
        return [
            Value(float(value), shot.number)
            for shot, value in zip(rendering.rendered, values, strict=True)
        ]
