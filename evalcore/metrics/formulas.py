"""Formulas on pictures and texts that several metrics share."""

from collections.abc import Callable, Sequence

import numpy as np
from PIL import Image as Pillow

from evalcore.metrics.base import (
    Ask,
    Encoder,
    Feature,
    Floats,
    Image,
    Picture,
    Rendering,
    Scoring,
    Value,
)
from evalcore.metrics.weights import requires

SIDE = 256
# Weights of red, green and blue in grey (ITU-R BT.601).
LUMA = np.array([0.299, 0.587, 0.114])


def normalised(picture: Picture) -> Floats:
    """Return the picture squashed to 256 x 256, as floats from 0 to 255."""
    image = Pillow.fromarray(picture).resize((SIDE, SIDE), Pillow.Resampling.BICUBIC)
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


def stretched(picture: Picture, width: int, height: int) -> Picture:
    """Return the picture in another size, by linear interpolation without smoothing."""
    high, wide = picture.shape[:2]
    return sampled(picture, (width, height), (wide / width, 0, 0, 0, high / height, 0))


def sampled(
    picture: Picture,
    size: tuple[int, int],
    matrix: tuple[float, ...],
    border: tuple[int, int, int] = (0, 0, 0),
) -> Picture:
    image = Pillow.fromarray(np.ascontiguousarray(picture))
    how = (
        Pillow.Transform.AFFINE,
        [float(x) for x in matrix],
        Pillow.Resampling.BILINEAR,
    )
    return np.asarray(image.transform(size, *how, fillcolor=border))


class PixelFormula:
    """Encoder without weights: a formula on the pixels of a normalised picture."""

    batch = 256

    def __init__(self, id: str, formula: Callable[[Floats], object]) -> None:
        self.id = id
        self.formula = formula

    def prepare(self, item: Picture) -> Feature:
        return np.asarray(self.formula(normalised(item)), dtype=np.float64)

    def encode(self, prepared: Sequence[Feature]) -> Sequence[Feature]:
        """Return the prepared inputs, which already are the features."""
        return prepared


class ShotFormula:
    """A metric of single shots that is a formula on their pixels: always ready."""

    encoder: PixelFormula

    missing = requires()

    def score(self, rendering: Rendering) -> Scoring:
        values = yield Ask(self.encoder, rendering.images)
        return [
            Value(float(value), shot.number)
            for shot, value in zip(rendering.rendered, values, strict=True)
        ]


def mean_cosine(features: Floats) -> float:
    """Return the mean cosine over all pairs of rows.

    Source: ViStoryBench, section 3.3 and appendix J.
    """
    if len(features) < 2:
        raise ValueError("a mean over pairs needs at least two pictures")
    exact = features.astype(np.float64)
    cosines = exact @ exact.T
    return float(cosines[np.triu_indices(len(features), 1)].mean())


def consistency(encoder: Encoder, images: Sequence[Image]) -> Scoring:
    """Return the mean cosine between shots; undefined for fewer than two shots.

    ViStoryBench's program gives 0 then, which would mean that everything changes.
    """
    features = yield Ask(encoder, images)
    if len(features) < 2:
        return [Value(None, reason="fewer than two shots have a picture")]
    return [Value(mean_cosine(np.stack(features)))]


def edit_distance(a: str, b: str) -> int:
    """Return the Levenshtein distance: insertions, deletions and replacements.

    It is computed row by row; in a row an insertion costs 1 more than its left
    neighbour.

    Source: Levenshtein (1966), Binary codes capable of correcting deletions,
    insertions, and reversals.
    """
    codes = np.frombuffer(b.encode("utf-32-le", "surrogatepass"), np.uint32)
    columns = np.arange(len(b) + 1)
    row = columns
    for number, character in enumerate(a, start=1):
        changed = row[:-1] + (codes != ord(character))
        removed = row[1:] + 1
        best = np.concatenate([[number], np.minimum(changed, removed)])
        row = np.minimum.accumulate(best - columns) + columns
    return int(row[-1])
