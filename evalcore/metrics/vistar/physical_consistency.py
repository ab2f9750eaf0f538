"""PSC: whether solid things go through each other."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
import numpy.typing as npt
from scipy import ndimage

from evalcore.metrics.base import (
    Ask,
    Encoder,
    Floats,
    MetricInfo,
    Rendering,
    Scoring,
    Value,
)
from evalcore.metrics.encoders.published import DEPTH, OBJECTS, TRANSFORMERS
from evalcore.metrics.encoders.scene_features import Instance, unpacked
from evalcore.metrics.vistar.geometric_cues import scaled_depth
from evalcore.metrics.weights import needing

Mask = npt.NDArray[np.bool_]
EPSILON = 1e-6  # of depths from 0 to 1; unpublished
ZONE = 6  # pixels of 192 around an overlap that count as contact; ours
ENCLOSED = 0.8  # share of the smaller box in the larger one from which it is attached
RELAXED = 0.5  # what a conflict counts if the smaller thing is attached; ours


def chaos(contact: tuple[float, float], rest: tuple[float, float]) -> float:
    """Return how far apart two things are where they meet, against elsewhere.

    `contact`, `rest`: mean depth of the one and of the other thing, where they meet and
    elsewhere. Result: at least 0. About 0: apart elsewhere, but at one depth where they
    meet, as if one went through the other. About 1: one stands before the other
    everywhere.

    Source: VISTAR, section 3.3.5, the equation of C.

    >>> round(chaos((0.5, 0.5), (0.2, 0.8)), 3), round(chaos((0.8, 0.2), (0.8, 0.2)), 3)
    (0.0, 1.0)
    """
    return abs(contact[0] - contact[1]) / (abs(rest[0] - rest[1]) + EPSILON)


def contact_depths(
    depth: Floats, a: Mask, b: Mask
) -> tuple[tuple[float, float], tuple[float, float]] | None:
    """Return the mean depths of two things where they meet, and elsewhere.

    `a`, `b`: masks of the same shape, with at least one pixel in common. Result: the
    contact zone is the overlap and 6 pixels around it; there each thing has the pixels
    that are its own alone. None where one has none in the zone or none outside: then
    the pair cannot be judged, and counts as if it did not overlap.

    The paper takes the means "inside and outside the overlap". Of one depth map the two
    means inside are those of the same pixels, and C would be 0 for every pair; hence
    the zone, and in it each thing's own pixels (ours).
    """
    zone = ndimage.binary_dilation(a & b, iterations=ZONE)
    parts = (a & ~b & zone, b & ~a & zone, a & ~zone, b & ~zone)
    if not all(part.any() for part in parts):
        return None
    one, other, rest_one, rest_other = (float(depth[part].mean()) for part in parts)
    return (one, other), (rest_one, rest_other)


def is_attached(
    a: tuple[float, float, float, float], b: tuple[float, float, float, float]
) -> bool:
    """Tell whether the smaller of two boxes lies largely in the larger one.

    `a`, `b`: left, top, right, bottom.

    Source: VISTAR, section 3.3.5; "largely" is 0.8 of its area (ours).

    >>> is_attached((0, 0, 1, 1), (0.4, 0.2, 0.6, 0.4))
    True
    """
    width = min(a[2], b[2]) - max(a[0], b[0])
    height = min(a[3], b[3]) - max(a[1], b[1])
    smaller = min(_area(a), _area(b))
    return width > 0 and height > 0 and width * height >= ENCLOSED * smaller


def _area(box: tuple[float, float, float, float]) -> float:
    return (box[2] - box[0]) * (box[3] - box[1])


def plausibility(value: float, confidence: float, attached: bool) -> float:
    """Return how possible a pair of things is.

    `value`: C of the pair. `confidence`: product of the two things' confidences.
    `attached`: whether the smaller one is attached to the larger one. Result: 1 -
    confidence (1 - min(C, 1)), from 0 to 1; half the conflict if attached.

    Source: VISTAR, section 3.3.5: the score is weighted with both confidences "reducing
    false positives from low-quality masks". A product confidence x C would do the
    opposite under a minimum, an unsure pair always being the worst; so the conflict 1 -
    C is weighted. That C ends at 1, and the relaxed function, are ours.

    >>> plausibility(0.0, 0.75, False), plausibility(0.0, 0.75, True)
    (0.25, 0.625)
    """
    conflict = confidence * (1 - min(value, 1.0))
    return 1 - conflict * (RELAXED if attached else 1)


@dataclass(frozen=True)
class Meeting:
    """Two things that overlap, by their places in a list, and how possible that is."""

    one: int
    other: int
    chaos: float
    attached: bool
    score: float


def meetings(depth: Floats, things: Sequence[Instance]) -> list[Meeting]:
    """Return all pairs of things that overlap and can be judged.

    `depth`: height x width, in any scale. `things`: with masks of that shape.
    """
    pairs = [
        (i, j)
        for i, j in combinations(range(len(things)), 2)
        if (things[i].mask & things[j].mask).any()
    ]
    if not pairs:
        return []
    scaled = scaled_depth(depth)
    found = []
    for i, j in pairs:
        a, b = things[i], things[j]
        depths = contact_depths(scaled, a.mask, b.mask)
        if depths is not None:
            value, attached = chaos(*depths), is_attached(a.box, b.box)
            score = plausibility(value, a.score * b.score, attached)
            found.append(Meeting(i, j, value, attached, score))
    return found


def physical_consistency(pairs: Sequence[Meeting]) -> float:
    """Return the worst of all pairs.

    Result: from 0 to 1; 1 where no two things overlap, and where none of the pairs that
    do can be judged (ours); see `contact_depths`.

    Source: VISTAR, section 3.3.5, PSC-Score.

    >>> physical_consistency([])
    1.0
    """
    return min((pair.score for pair in pairs), default=1.0)


class PhysicalConsistency:
    """Physical and spatial consistency of each shot."""

    info = MetricInfo(
        name="physical_consistency",
        title="Physical-spatial consistency (PSC)",
        family="VISTAR",
        scores="shot",
        source="VISTAR, section 3.3.5",
        measures=(
            "Whether things that overlap keep apart in depth. It knows COCO's 80 kinds "
            "of things; a picture with none of them, or no overlap, scores 1."
        ),
        backend="RF-DETR Seg medium (for YOLOv8l-seg), DPT hybrid MiDaS",
        queue="gpu",
    )

    @cached_property
    def encoders(self) -> tuple[Encoder, Encoder]:
        from evalcore.metrics.encoders.scenes import depth, objects

        return objects(), depth()

    missing = needing(TRANSFORMERS, (OBJECTS, DEPTH))

    def score(self, rendering: Rendering) -> Scoring:
        """Return one value a shot that is there; undefined for a flat depth map.

        A shot without a pair that can be judged scores 1, as one without an overlap.
        """
        things, far = self.encoders
        found = yield Ask(things, rendering.images)
        maps = yield Ask(far, rendering.images)
        return [
            _value(shot.number, unpacked(feature), depth)
            for shot, feature, depth in zip(
                rendering.rendered, found, maps, strict=True
            )
        ]


def _value(shot: int, things: Sequence[Instance], depth: Floats) -> Value:
    try:
        pairs = meetings(depth, things)
    except ValueError as error:
        return Value(None, shot, str(error))
    trace = {
        "things": [[one.label, round(one.score, 4), one.box] for one in things],
        "pairs": [asdict(pair) for pair in pairs],
    }
    return Value(physical_consistency(pairs), shot, trace=trace)
