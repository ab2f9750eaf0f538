"""Postures and faces from the joints of a person, by geometry."""

import numpy as np

from evalcore.metrics.base import Box, Floats

POSTURES = ("standing", "sitting", "lying")
VISIBLE = 0.3  # score of a joint that is used
LEANING = 60.0  # degrees off the vertical from which a trunk lies
SEATED = 0.5  # knees less far below the hips than this share of the trunk: sitting
# COCO's keypoints.
NOSE, EYES, EARS = 0, (1, 2), (3, 4)
SHOULDERS, HIPS, KNEES = (5, 6), (11, 12), (13, 14)
# Side of the square around a face, in distances between the ears, or else the eyes.
BY_EARS, BY_EYES = 1.6, 3.2


def posture(joints: Floats) -> str:
    """Return what a person does: stand, sit or lie.

    `joints`: 17 x 3: x, y (downwards) in pixels, score; COCO's keypoints in their
    order. Result: `lying` if the trunk, from the middle of the shoulders to that of the
    hips, leans more than 60 degrees off the vertical; `sitting` if the middle of the
    knees is less than half a trunk's length below that of the hips, which holds from
    the side and from the front; else `standing`. Empty where shoulders, hips or, for an
    upright trunk, knees are not visible (score under 0.3; one of the two is enough).

    Source: VISTAR, section 3.3.4: "rule-based geometry to classify states like standing
    or sitting". The rules and their constants are ours.

    >>> joints = np.zeros((17, 3))
    >>> joints[[5, 11, 13]] = [[0, 0, 1], [0, 40, 1], [0, 80, 1]]
    >>> posture(joints)
    'standing'
    """
    shoulders, hips, knees = (_middle(joints, of) for of in (SHOULDERS, HIPS, KNEES))
    if shoulders is None or hips is None:
        return ""
    trunk = hips - shoulders
    length = float(np.hypot(*trunk))
    if length == 0:
        return ""
    if np.degrees(np.arctan2(abs(trunk[0]), abs(trunk[1]))) > LEANING:
        return "lying"
    if knees is None:
        return ""
    return "standing" if knees[1] - hips[1] >= SEATED * length else "sitting"


def face_box(joints: Floats, size: tuple[int, int]) -> Box | None:
    """Return the square around a person's face, cut off at the picture's edges.

    `size`: width and height of the picture. Result: left, top, right, bottom: around
    the middle of the visible nose, eyes and ears, 1.6 distances between the ears wide,
    or 3.2 between the eyes where an ear is hidden. None where the nose or an eye is:
    then no face is to be seen.
    """
    eyes = _distance(joints, EYES)
    if eyes is None or joints[NOSE, 2] < VISIBLE:
        return None
    ears = _distance(joints, EARS)
    side = BY_EYES * eyes if ears is None else BY_EARS * ears
    head = joints[[NOSE, *EYES, *EARS]]
    middle = head[head[:, 2] >= VISIBLE, :2].mean(axis=0)
    corners = np.concatenate([middle - side / 2, middle + side / 2])
    left, top, right, bottom = np.clip(corners.round(), 0, [*size, *size]).astype(int)
    if right <= left or bottom <= top:
        return None
    return int(left), int(top), int(right), int(bottom)


def _middle(joints: Floats, of: tuple[int, ...]) -> Floats | None:
    chosen = joints[list(of)]
    visible = chosen[chosen[:, 2] >= VISIBLE]
    return visible[:, :2].mean(axis=0) if len(visible) else None


def _distance(joints: Floats, of: tuple[int, int]) -> float | None:
    """Return how far apart two joints are; None if one is not visible."""
    a, b = joints[list(of)]
    if min(a[2], b[2]) < VISIBLE:
        return None
    return float(np.hypot(*(a - b)[:2]))
