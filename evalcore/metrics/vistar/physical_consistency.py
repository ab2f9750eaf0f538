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
    Rendering,
    Scoring,
    Value,
)
from evalcore.metrics.encoders.published import DEPTH, OBJECTS, TRANSFORMERS
from evalcore.metrics.encoders.scene_features import Instance, unpacked
from evalcore.metrics.registry import declared
from evalcore.metrics.vistar.geometric_cues import scaled_depth
from evalcore.metrics.weights import needing

Mask = npt.NDArray[np.bool_]
EPSILON = 1e-6  # of depths from 0 to 1; unpublished
ZONE = 6  # pixels of 192 around an overlap that count as contact; ours
ENCLOSED = 0.8  # share of the smaller box in the larger one from which it is attached
RELAXED = 0.5  # what a conflict counts if the smaller thing is attached; ours


def chaos(contact: tuple[float, float], rest: tuple[float, float]) -> float:
    """Return how far apart two things are where they meet, against elsewhere.

    Their mean depths in contact and elsewhere. About 0: as if one went through the
    other; about 1: one stands before the other everywhere.

    Source: VISTAR, section 3.3.5, the equation of C.
    """
    return abs(contact[0] - contact[1]) / (abs(rest[0] - rest[1]) + EPSILON)


def contact_depths(
    depth: Floats, a: Mask, b: Mask
) -> tuple[tuple[float, float], tuple[float, float]] | None:
    """Return the mean depths of two things where they meet, and elsewhere.

    The contact zone is the overlap and 6 pixels around it; there each thing has the
    pixels that are its own alone (ours: "inside the overlap" both means would be of the
    same pixels, and C always 0). None where one has none in the zone or outside: the
    pair cannot be judged.
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

    Source: VISTAR, section 3.3.5; "largely" is 0.8 of its area (ours).
    """
    width = min(a[2], b[2]) - max(a[0], b[0])
    height = min(a[3], b[3]) - max(a[1], b[1])
    smaller = min(_area(a), _area(b))
    return width > 0 and height > 0 and width * height >= ENCLOSED * smaller


def _area(box: tuple[float, float, float, float]) -> float:
    return (box[2] - box[0]) * (box[3] - box[1])


def plausibility(value: float, confidence: float, attached: bool) -> float:
    """Return how possible a pair of things is: 1 - confidence (1 - min(C, 1)).

    Half the conflict if the smaller thing is attached to the larger one (ours, as that
    C ends at 1). The conflict is weighted with both confidences, not C: under a minimum
    an unsure pair would always be the worst.

    Source: VISTAR, section 3.3.5.
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
    """Return all pairs of things that overlap and can be judged."""
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

    Source: VISTAR, section 3.3.5, PSC-Score.
    """
    return min((pair.score for pair in pairs), default=1.0)


class PhysicalConsistency:
    """Physical and spatial consistency of each shot."""

    info = declared("physical_consistency")

    @cached_property
    def encoders(self) -> tuple[Encoder, Encoder]:
        from evalcore.metrics.encoders.scenes import depth, objects

        return objects(), depth()

    missing = needing(TRANSFORMERS, (OBJECTS, DEPTH))

    def score(self, rendering: Rendering) -> Scoring:
        """Return one value a shot that is there; undefined for a flat depth map."""
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
