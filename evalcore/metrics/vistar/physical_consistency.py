"""PSC: whether solid objects pass through each other."""

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
from evalcore.metrics.weights import requires

Mask = npt.NDArray[np.bool_]
EPSILON = 1e-6  # for depths from 0 to 1; unpublished
ZONE = 6  # contact zone around an overlap, in pixels of 192; ours
# share of the smaller box inside the larger one from which it is attached
ENCLOSED = 0.8
RELAXED = 0.5  # weight of a conflict if the smaller object is attached; ours


def chaos(contact: tuple[float, float], rest: tuple[float, float]) -> float:
    """Return the depth gap of two objects in contact, relative to the gap elsewhere.

    `contact`, `rest`: their mean depths in contact and elsewhere. About 0: one seems to
    pass through the other; about 1: one is in front of the other everywhere.

    Source: VISTAR, section 3.3.5, the equation of C.
    """
    return abs(contact[0] - contact[1]) / (abs(rest[0] - rest[1]) + EPSILON)


def contact_depths(
    depth: Floats, a: Mask, b: Mask
) -> tuple[tuple[float, float], tuple[float, float]] | None:
    """Return the mean depths of two objects in their contact zone, and elsewhere.

    The contact zone is the overlap and 6 pixels around it, without pixels that belong
    to both objects (ours: "inside the overlap" both means would use the same pixels,
    and C would always be 0). None if an object has no pixels in the zone or outside it:
    the pair cannot be judged.
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
    """Return whether the smaller of two boxes is largely inside the larger one.

    Source: VISTAR, section 3.3.5; "largely" is 0.8 of its area (ours).
    """
    width = min(a[2], b[2]) - max(a[0], b[0])
    height = min(a[3], b[3]) - max(a[1], b[1])
    smaller = min(_area(a), _area(b))
    return width > 0 and height > 0 and width * height >= ENCLOSED * smaller


def _area(box: tuple[float, float, float, float]) -> float:
    return (box[2] - box[0]) * (box[3] - box[1])


def plausibility(value: float, confidence: float, attached: bool) -> float:
    """Return the plausibility of a pair of objects: 1 - confidence (1 - min(C, 1)).

    The conflict is halved if the smaller object is attached to the larger one (ours, as
    is the limit of 1 for C). The confidences weight the conflict, not C; otherwise an
    uncertain pair would always be the worst.

    Source: VISTAR, section 3.3.5.
    """
    conflict = confidence * (1 - min(value, 1.0))
    return 1 - conflict * (RELAXED if attached else 1)


@dataclass(frozen=True)
class Meeting:
    """Two overlapping objects, by their positions in a list, and their plausibility."""

    one: int
    other: int
    chaos: float
    attached: bool
    score: float


def meetings(depth: Floats, things: Sequence[Instance]) -> list[Meeting]:
    """Return all pairs of objects that overlap and can be judged."""
    pairs = [
        (i, j)
        for i, j in combinations(range(len(things)), 2)
        if (things[i].mask & things[j].mask).any()
    ]
    if not pairs:
        return []
    scaled = scaled_depth(depth)
    comparable = []
    for i, j in pairs:
        a, b = things[i], things[j]
        depths = contact_depths(scaled, a.mask, b.mask)
        if depths is not None:
            value, attached = chaos(*depths), is_attached(a.box, b.box)
            score = plausibility(value, a.score * b.score, attached)
            comparable.append(Meeting(i, j, value, attached, score))
    return comparable


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

    weights = (OBJECTS, DEPTH)
    missing = requires(TRANSFORMERS, weights)

    def score(self, rendering: Rendering) -> Scoring:
        """Return one value per rendered shot; undefined for a flat depth map."""
        things, far = self.encoders
        features = yield Ask(things, rendering.images)
        maps = yield Ask(far, rendering.images)
        return [
            _value(shot.number, unpacked(feature), depth)
            for shot, feature, depth in zip(
                rendering.rendered, features, maps, strict=True
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
