"""CPA: whether number, postures and expressions of people match the prompt."""

import difflib
from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from statistics import fmean
from typing import Any

import numpy as np

from evalcore.metrics.base import (
    Ask,
    Box,
    Encoder,
    Floats,
    Image,
    RenderedShot,
    Rendering,
    Scoring,
    Value,
)
from evalcore.metrics.encoders.published import EXPRESSION, OBJECTS, POSE, TRANSFORMERS
from evalcore.metrics.encoders.scene_features import EXPRESSIONS, unframed, unpacked
from evalcore.metrics.registry import declared
from evalcore.metrics.vistar.prompt_language import parameter
from evalcore.metrics.weights import requires

POSTURES = ("standing", "sitting", "lying")
VISIBLE = 0.3  # lowest score of a usable joint
LEANING = 60.0  # tilt of the trunk in degrees from which a person is lying
SEATED = 0.5  # sitting: knees less far below the hips than this share of the trunk
# COCO's keypoints.
NOSE, EYES, EARS = 0, (1, 2), (3, 4)
SHOULDERS, HIPS, KNEES = (5, 6), (11, 12), (13, 14)
# Side of the square around a face, in distances between the ears, or else the eyes.
BY_EARS, BY_EYES = 1.6, 3.2


def posture(joints: Floats) -> str:
    """Return whether a person is standing, sitting or lying; empty if not visible.

    `joints`: 17 x 3: x, y (downwards), score, in COCO's order. Lying: the trunk leans
    more than 60 degrees off the vertical; sitting: the middle of the knees is less than
    half a trunk's length below that of the hips. A joint is visible from a score of
    0.3.

    Source: VISTAR, section 3.3.4, which asks for rules; these and their constants are
    ours.
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
    """Return the square around a person's face, cut off at the picture's edges."""
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
    """Return the distance of two joints; None if one is not visible."""
    a, b = joints[list(of)]
    if min(a[2], b[2]) < VISIBLE:
        return None
    return float(np.hypot(*(a - b)[:2]))


PERSON = 1  # COCO's category number
WIDER = 1.25  # enlargement of a person's box, as in the pose network's training
WORDS = {"posture": POSTURES, "expression": EXPRESSIONS}


# Formulas ----------------------------------------------------------------------------


def count_match(found: int, wanted: int) -> float:
    """Return 1 if as many people were found as expected, else 0 (ours).

    >>> count_match(2, 2), count_match(3, 2)
    (1.0, 0.0)
    """
    return float(found == wanted)


def label_match(found: Sequence[str], wanted: Sequence[str]) -> float:
    """Return the share of expected labels found, counting each person once.

    Source: VISTAR, section 3.3.4: match scores averaged over the annotations; the
    assignment is ours.
    """
    if not wanted:
        raise ValueError("no label is expected")
    return (Counter(found) & Counter(wanted)).total() / len(wanted)


def character_portrayal(parts: Mapping[str, float]) -> float:
    """Return the mean of the matches of count, posture and expression, as asked for.

    The paper's weights come from an optimisation and are unpublished; equal ones are
    ours.

    Source: VISTAR, section 3.3.4, CPA-Score.
    """
    return fmean(parts.values())


@dataclass(frozen=True)
class ExpectedPeople:
    """People described by a prompt; None or empty for unspecified properties."""

    count: int | None = None
    posture: tuple[str, ...] = ()
    expression: tuple[str, ...] = ()


def expected_people(rendering: Rendering) -> ExpectedPeople:
    """Return the prompt's parameters `count`, `posture` and `expression`."""
    count = parameter(rendering, "count")
    if count and not count.isdecimal():
        raise ValueError(f"parameter count: expected a whole number, found {count!r}")
    return ExpectedPeople(
        int(count) if count else None,
        _words(rendering, "posture"),
        _words(rendering, "expression"),
    )


def _words(rendering: Rendering, key: str) -> tuple[str, ...]:
    parts = parameter(rendering, key).casefold().split(",")
    words = tuple(filter(None, map(str.strip, parts)))
    for word in words:
        if word not in WORDS[key]:
            close = difflib.get_close_matches(word, WORDS[key], 1)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            raise ValueError(
                f"parameter {key}: expected {', '.join(WORDS[key])}, found {word!r}"
                f"{hint}"
            )
    return words


# The metric --------------------------------------------------------------------------


@dataclass
class FoundPeople:
    """People found in a picture, one entry each."""

    people: list[Image]
    postures: list[str] = field(default_factory=list)
    expressions: list[str] = field(default_factory=list)


class CharacterPortrayal:
    """Character portrayal accuracy of each shot.

    The prompt's parameters apply to every shot: `count`, and `posture` and `expression`
    with one word per person, separated by commas. A person with too little visible has
    no posture; one whose face is turned away has no expression.
    """

    info = declared("character_portrayal")

    @cached_property
    def encoders(self) -> tuple[Encoder, Encoder, Encoder]:
        from evalcore.metrics.encoders.scenes import expression, objects, pose

        return objects(), pose(), expression()

    weights = (OBJECTS, POSE, EXPRESSION)
    missing = requires(TRANSFORMERS, weights)

    def score(self, rendering: Rendering) -> Scoring:
        """Return one value per rendered shot."""
        try:
            wanted = expected_people(rendering)
        except ValueError as error:
            return _undefined(rendering.rendered, str(error))
        if wanted == ExpectedPeople():
            return _undefined(
                rendering.rendered,
                "the prompt has none of the parameters count, posture, expression",
            )
        people = yield from self._look(rendering.images, wanted)
        return [
            _value(shot, one, wanted)
            for shot, one in zip(rendering.rendered, people, strict=True)
        ]

    def _look(
        self, images: Sequence[Image], wanted: ExpectedPeople
    ) -> Generator[Ask, list[Any], list[FoundPeople]]:
        """Return the people in each picture, as far as the prompt requires."""
        things, bodies, faces = self.encoders
        features = yield Ask(things, images)
        pictures = [
            FoundPeople(
                [
                    _part(image, _pixels(one.box, image.size))
                    for one in unpacked(feature)
                    if one.label == PERSON
                ]
            )
            for image, feature in zip(images, features, strict=True)
        ]
        if not wanted.posture and not wanted.expression:
            return pictures
        people = [(one, person) for one in pictures for person in one.people]
        joints = yield Ask(bodies, [person for _one, person in people])
        turned_here = []
        for (one, person), feature in zip(people, joints, strict=True):
            pixels = unframed(feature, person.size)
            one.postures.append(posture(pixels))
            face = face_box(pixels, person.size)
            if face and wanted.expression:
                turned_here.append((one, _part(person, face)))
        shares = yield Ask(faces, [face for _one, face in turned_here])
        for (one, _face), probabilities in zip(turned_here, shares, strict=True):
            one.expressions.append(EXPRESSIONS[int(np.argmax(probabilities))])
        return pictures


def _undefined(shots: Sequence[RenderedShot], reason: str) -> list[Value]:
    return [Value(None, shot.number, reason) for shot in shots]


def _value(shot: RenderedShot, people: FoundPeople, wanted: ExpectedPeople) -> Value:
    parts = {}
    if wanted.count is not None:
        parts["count"] = count_match(len(people.people), wanted.count)
    if wanted.posture:
        parts["posture"] = label_match(people.postures, wanted.posture)
    if wanted.expression:
        parts["expression"] = label_match(people.expressions, wanted.expression)
    trace = {
        "parts": parts,
        "people": [person.box for person in people.people],
        "postures": people.postures,
        "expressions": people.expressions,
    }
    return Value(character_portrayal(parts), shot.number, trace=trace)


def _pixels(shares: tuple[float, float, float, float], size: tuple[int, int]) -> Box:
    """Return a box enlarged by a quarter in whole pixels, within the picture."""
    left, top, right, bottom = shares
    width, height = size
    by_x, by_y = (right - left) * (WIDER - 1) / 2, (bottom - top) * (WIDER - 1) / 2
    start_x = min(max(0, round((left - by_x) * width)), width - 1)
    start_y = min(max(0, round((top - by_y) * height)), height - 1)
    end_x = min(width, round((right + by_x) * width))
    end_y = min(height, round((bottom + by_y) * height))
    return start_x, start_y, max(start_x + 1, end_x), max(start_y + 1, end_y)


def _part(image: Image, box: Box) -> Image:
    x, y = image.box[:2] if image.box else (0, 0)
    return replace(image, box=(box[0] + x, box[1] + y, box[2] + x, box[3] + y))
