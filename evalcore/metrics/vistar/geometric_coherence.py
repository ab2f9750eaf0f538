"""GC without its sixth cue: the worst of five cues of flawed geometry."""

from functools import cached_property

import numpy as np

from evalcore.metrics.base import (
    Ask,
    Encoder,
    Feature,
    Floats,
    MetricInfo,
    Rendering,
    Scoring,
    Value,
)
from evalcore.metrics.encoders.published import DEPTH, TRANSFORMERS
from evalcore.metrics.pixels import PixelFormula
from evalcore.metrics.vistar.geometric_cues import (
    contour_score,
    curvature_score,
    highlight_score,
    normals_score,
    scaled_depth,
    texture_score,
)
from evalcore.metrics.weights import needing

PIXEL_CUES = ("highlight", "contour", "texture")


def _pixel_cues(rgb: Floats) -> Floats:
    return np.array([highlight_score(rgb), contour_score(rgb), texture_score(rgb)])


PIXELS = PixelFormula("VISTAR pixel cues 1: highlight, contour, texture", _pixel_cues)


class GeometricCues:
    """The worst of five cues of each shot: GC without PaDiM, under its own name."""

    info = MetricInfo(
        name="geometric_cues",
        title="Geometric cues (five of six)",
        family="stand-in",
        scores="shot",
        source="after VISTAR, section 3.3.6; stand-in for GC",
        measures=(
            "The worst of five signs of flawed geometry: rough or bent depth, broken "
            "highlights, torn contours, irregular texture. Busy pictures score low."
        ),
        backend="DPT hybrid MiDaS, OpenCV; without PaDiM",
        queue="gpu",
    )

    @cached_property
    def depth(self) -> Encoder:
        from evalcore.metrics.encoders.scenes import depth

        return depth()

    missing = needing((*TRANSFORMERS, "cv2"), (DEPTH,))

    def score(self, rendering: Rendering) -> Scoring:
        """Return one value a shot that is there; undefined for a flat depth map."""
        maps = yield Ask(self.depth, rendering.images)
        cues = yield Ask(PIXELS, rendering.images)
        return [
            self.value(shot.number, depth, pixels)
            for shot, depth, pixels in zip(rendering.rendered, maps, cues, strict=True)
        ]

    def value(self, shot: int, depth: Feature, pixels: Feature) -> Value:
        try:
            scores = five_cues(depth, pixels)
        except ValueError as error:
            return Value(None, shot, str(error))
        return Value(min(scores.values()), shot, trace=scores)


def five_cues(depth: Floats, pixels: Floats) -> dict[str, float]:
    """Return all cues but PaDiM by name."""
    scaled = scaled_depth(depth)
    return {
        "normals": normals_score(scaled),
        "curvature": curvature_score(scaled),
        **dict(zip(PIXEL_CUES, map(float, pixels), strict=True)),
    }
