"""Five cues of flawed geometry, each from 0 (flawed) to 1, and their minimum.

The paper (VISTAR, section 3.3.6) names the cues without their normalisation: all
definitions and constants here are ours. The sixth cue, PaDiM, is left out.
"""

import math
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy import ndimage

from evalcore.metrics.base import (
    Ask,
    Encoder,
    Feature,
    Floats,
    Rendering,
    Scoring,
    Value,
)
from evalcore.metrics.encoders.published import DEPTH, TRANSFORMERS
from evalcore.metrics.formulas import LUMA, PixelFormula, laplacian
from evalcore.metrics.registry import declared
from evalcore.metrics.weights import requires

TILE = 16  # side of the squares within which surfaces are compared, in pixels
CURVED = 0.05  # mean |Laplacian| at which the score has fallen to 1 / e
BRIGHT, PALE = 0.9, 0.2  # a highlight: lowest luminance and highest saturation
GAP = 5  # widest break in a highlight that counts as a flaw, in pixels
CANNY = (100, 200)  # thresholds for luminance from 0 to 255
WHOLE = 16  # shortest contour that is not a fragment, in pixels
EIGHT = np.ones((3, 3), dtype=bool)  # neighbours sideways and diagonally
CIRCLE = ((-1, -1), (-1, 0), (-1, 1), (0, 1), (1, 1), (1, 0), (1, -1), (0, -1))


def scaled_depth(depth: Floats) -> Floats:
    low, high = float(depth.min()), float(depth.max())
    if low == high:
        raise ValueError("the depth map is flat")
    return (np.asarray(depth, np.float64) - low) / (high - low)


def normals_score(depth: Floats) -> float:
    """Return the agreement of surface normals with their neighbours."""
    side = depth.shape[0]
    down, right = np.gradient(depth * side)
    normals = np.stack([-right, -down, np.ones_like(depth)], axis=-1)
    normals /= np.linalg.norm(normals, axis=-1, keepdims=True)
    count = side // TILE
    tiles = normals[: count * TILE, : count * TILE].reshape(count, TILE, count, TILE, 3)
    means = tiles.mean(axis=(1, 3))
    return min(1.0, float(np.linalg.norm(means, axis=-1).mean()))


def curvature_score(depth: Floats) -> float:
    """Return how flat the depth map is: exp(-mean |Laplacian| / 0.05)."""
    return math.exp(-float(np.abs(laplacian(depth)).mean()) / CURVED)


def highlight_score(rgb: Floats) -> float:
    """Return the share of highlights without narrow breaks."""
    most, least = rgb.max(axis=-1), rgb.min(axis=-1)
    saturation = (most - least) / np.maximum(most, 1)
    shining = (rgb @ LUMA >= BRIGHT * 255) & (saturation <= PALE)
    # Closing would read dark pixels beyond the edges, so the edges are repeated.
    around = np.pad(shining, GAP, mode="edge")
    closed = ndimage.binary_closing(around, np.ones((GAP, GAP), dtype=bool))[
        GAP:-GAP, GAP:-GAP
    ]
    area = int((closed | shining).sum())
    return float(shining.sum() / area) if area else 1.0


def contour_score(rgb: Floats) -> float:
    """Return the share of contours that are not fragments."""
    import cv2

    grey = np.round(rgb @ LUMA).astype(np.uint8)
    pieces, _count = ndimage.label(cv2.Canny(grey, *CANNY) > 0, EIGHT)
    sizes = np.bincount(pieces.ravel())[1:]
    return float(sizes[sizes >= WHOLE].sum() / sizes.sum()) if len(sizes) else 1.0


def texture_score(rgb: Floats) -> float:
    """Return the share of uniform local binary patterns: about 0.9 for photographs.

    A pattern is uniform if the eight neighbours of a pixel, in a circle, change between
    darker and not darker than it at most twice.

    Source: Ojala, Pietikainen and Maenpaa (2002), Multiresolution gray-scale and
    rotation invariant texture classification with local binary patterns.
    """
    grey = np.round(rgb @ LUMA)
    height, width = grey.shape
    middle = grey[1:-1, 1:-1]
    signs: npt.NDArray[np.bool_] = np.stack(
        [
            grey[1 + y : height - 1 + y, 1 + x : width - 1 + x] >= middle
            for y, x in CIRCLE
        ]
    )
    changes = (signs != np.roll(signs, 1, axis=0)).sum(axis=0)
    return float((changes <= 2).mean())


PIXEL_CUES = ("highlight", "contour", "texture")


PIXELS = PixelFormula(
    "VISTAR pixel cues 1: highlight, contour, texture",
    lambda rgb: [highlight_score(rgb), contour_score(rgb), texture_score(rgb)],
)


class GeometricCues:
    """Minimum of five cues for each shot: GC without PaDiM, under a separate name."""

    info = declared("geometric_cues")

    @cached_property
    def depth(self) -> Encoder:
        from evalcore.metrics.encoders.scenes import depth

        return depth()

    weights = (DEPTH,)
    missing = requires((*TRANSFORMERS, "cv2"), weights)

    def score(self, rendering: Rendering) -> Scoring:
        """Return one value per rendered shot; undefined for a flat depth map."""
        maps = yield Ask(self.depth, rendering.images)
        cues = yield Ask(PIXELS, rendering.images)
        return [
            self.value(shot.number, depth, pixels)
            for shot, depth, pixels in zip(rendering.rendered, maps, cues, strict=True)
        ]

    def value(self, shot: int, depth: Feature, pixels: Feature) -> Value:
        try:
            scaled = scaled_depth(depth)
        except ValueError as error:
            return Value(None, shot, str(error))
        scores = {
            "normals": normals_score(scaled),
            "curvature": curvature_score(scaled),
            **dict(zip(PIXEL_CUES, map(float, pixels), strict=True)),
        }
        return Value(min(scores.values()), shot, trace=scores)
