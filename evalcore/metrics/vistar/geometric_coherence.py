"""GC: the worst of six cues of flawed geometry, and of five that can be computed."""

from collections.abc import Mapping
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
from evalcore.metrics.encoders.unobtainable import Unobtainable
from evalcore.metrics.pixels import PixelFormula
from evalcore.metrics.vistar.geometric_cues import (
    anomaly_score,
    contour_score,
    curvature_score,
    highlight_score,
    normals_score,
    scaled_depth,
    texture_score,
)
from evalcore.metrics.weights import Lack, Lacks, WeightsError, needing

CUES = ("normals", "curvature", "highlight", "contour", "texture", "anomaly")
PIXEL_CUES = CUES[2:5]
NO_ANOMALY = (
    "the sixth cue, PaDiM, compares with a set of pictures without flaws, which is not "
    "published; `geometric_cues` is the worst of the other five"
)
NO_PADIM = Lacks([Lack("PaDiM's set of flawless pictures", NO_ANOMALY)])


def geometric_coherence(scores: Mapping[str, float]) -> float:
    """Return the worst of the six cues.

    `scores`: from 0 to 1, of all of normals, curvature, highlight, contour, texture,
    anomaly.

    Source: VISTAR, section 3.3.6, GC-Score.

    >>> geometric_coherence(dict.fromkeys(CUES, 0.5) | {"contour": 0.25})
    0.25
    """
    missing = [cue for cue in CUES if cue not in scores]
    if missing:
        raise ValueError(f"GC needs all six cues; missing: {', '.join(missing)}")
    return min(scores[cue] for cue in CUES)


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
        """Return what tells how far away things are."""
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
        """Return the value of one shot."""
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


class GeometricCoherence(GeometricCues):
    """Geometric coherence of each shot; never ready, PaDiM's reference being absent.

    A minimum of fewer cues is higher, so that no value may go by the paper's name
    without the sixth.
    """

    info = MetricInfo(
        name="geometric_coherence",
        title="Geometric coherence (GC)",
        family="VISTAR",
        scores="shot",
        source="VISTAR, section 3.3.6",
        measures="The worst of six signs of flawed geometry.",
        backend="none: PaDiM's reference set is unpublished",
        queue="gpu",
    )

    def __init__(self) -> None:
        # From a picture to PaDiM's features: places x numbers.
        self.places: Encoder = Unobtainable(NO_PADIM)

    @cached_property
    def reference(self) -> tuple[Floats, Floats]:
        """Say that means and precisions of flawless pictures are lacking."""
        raise WeightsError(str(NO_PADIM))

    def missing(self) -> Lacks:
        """Return what is lacking, always."""
        return Lacks([*super().missing(), *NO_PADIM])

    def score(self, rendering: Rendering) -> Scoring:
        """Return one value a shot that is there; undefined for a flat depth map."""
        features = yield Ask(self.places, rendering.images)
        values = yield from super().score(rendering)
        return [
            self._with_sixth(five, places)
            for five, places in zip(values, features, strict=True)
        ]

    def _with_sixth(self, five: Value, places: Feature) -> Value:
        if five.trace is None:
            return five
        scores = {**five.trace, "anomaly": anomaly_score(places, *self.reference)}
        return Value(geometric_coherence(scores), five.shot, trace=scores)
