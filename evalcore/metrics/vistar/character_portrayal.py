"""CPA: whether as many people are there as wanted, and do and feel what was wanted."""

import difflib
from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from evalcore.metrics.base import (
    Ask,
    Box,
    Encoder,
    Image,
    MetricInfo,
    RenderedShot,
    Rendering,
    Scoring,
    Value,
)
from evalcore.metrics.encoders.published import EXPRESSION, OBJECTS, POSE, TRANSFORMERS
from evalcore.metrics.encoders.scene_features import EXPRESSIONS, unframed, unpacked
from evalcore.metrics.vistar.posture import POSTURES, face_box, posture
from evalcore.metrics.vistar.story_request import parameter
from evalcore.metrics.weights import needing

PERSON = 1  # COCO's number
WIDER = 1.25  # a person's box for the pose network, as it was trained
PARTS = ("count", "posture", "expression")
WORDS = {"posture": POSTURES, "expression": EXPRESSIONS}
# The paper's weights come from an optimisation and are unpublished; these are ours.
WEIGHTS = dict.fromkeys(PARTS, 1 / 3)


# Formulas ----------------------------------------------------------------------------


def count_match(found: int, wanted: int) -> float:
    """Return 1 if as many people were found as wanted, else 0 (ours).

    >>> count_match(2, 2), count_match(3, 2)
    (1.0, 0.0)
    """
    return float(found == wanted)


def label_match(found: Sequence[str], wanted: Sequence[str]) -> float:
    """Return the share of wanted labels that were found, each person serving once.

    `found`: a label a person; labels that nobody asked for do no harm.

    Source: VISTAR, section 3.3.4: match scores averaged over the annotations; who
    matches whom is ours.

    >>> label_match(["sitting", "standing"], ["sitting", "sitting"])
    0.5
    """
    if not wanted:
        raise ValueError("no label is wanted")
    return (Counter(found) & Counter(wanted)).total() / len(wanted)


def character_portrayal(
    parts: Mapping[str, float], weights: Mapping[str, float] = WEIGHTS
) -> float:
    """Return the weighted sum of the matches of count, posture and expression.

    `parts`: matches from 0 to 1 by name; at least one. What the prompt says nothing of
    is left out, and the others share its weight in proportion (ours). `weights`: by
    name, at least 0; a third each by default.

    Source: VISTAR, section 3.3.4, CPA-Score.

    >>> character_portrayal({"count": 1.0, "posture": 0.5})
    0.75
    """
    total = sum(weights[name] for name in parts)
    if not total:
        raise ValueError(f"of {', '.join(PARTS)} there is none with a weight")
    return sum(weights[name] * match for name, match in parts.items()) / total


# What the prompt wants ---------------------------------------------------------------


@dataclass(frozen=True)
class WantedPeople:
    """What a prompt says of its people; None or empty where it says nothing."""

    count: int | None = None
    posture: tuple[str, ...] = ()
    expression: tuple[str, ...] = ()


def wanted_people(rendering: Rendering) -> WantedPeople:
    """Return what the prompt's parameters `count`, `posture`, `expression` say."""
    count = parameter(rendering, "count")
    if count and not count.isdecimal():
        raise ValueError(f"parameter count: expected a whole number, found {count!r}")
    return WantedPeople(
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
class SeenPeople:
    """What was found in a picture: a person each."""

    people: list[Image]
    postures: list[str] = field(default_factory=list)
    expressions: list[str] = field(default_factory=list)


class CharacterPortrayal:
    """Character portrayal accuracy of each shot.

    The prompt's parameters hold for every shot: `count`, and `posture` and `expression`
    with one word a person, separated by commas. A person of whom too little is visible
    has no posture, one whose face is turned away no expression.
    """

    info = MetricInfo(
        name="character_portrayal",
        title="Character portrayal accuracy (CPA)",
        family="VISTAR",
        scores="shot",
        source="VISTAR, section 3.3.4",
        measures=(
            "Whether number, postures and facial expressions of the people are the "
            "wanted ones. Drawn people and animals are often not seen as people."
        ),
        backend=(
            "RF-DETR Seg (for YOLOv8), ViTPose (for MediaPipe), ViT expressions "
            "(for DeepFace)"
        ),
        queue="gpu",
    )

    @cached_property
    def encoders(self) -> tuple[Encoder, Encoder, Encoder]:
        from evalcore.metrics.encoders.people import expression, pose
        from evalcore.metrics.encoders.scenes import objects

        return objects(), pose(), expression()

    missing = needing(TRANSFORMERS, (OBJECTS, POSE, EXPRESSION))

    def score(self, rendering: Rendering) -> Scoring:
        """Return one value a shot that is there.

        Undefined where the prompt says nothing of its people, or what cannot be
        recognised.
        """
        try:
            wanted = wanted_people(rendering)
        except ValueError as error:
            return _undefined(rendering.rendered, str(error))
        if wanted == WantedPeople():
            return _undefined(
                rendering.rendered,
                f"the prompt has none of the parameters {', '.join(PARTS)}",
            )
        seen = yield from self._look(rendering.images, wanted)
        return [
            _value(shot, one, wanted)
            for shot, one in zip(rendering.rendered, seen, strict=True)
        ]

    def _look(
        self, images: Sequence[Image], wanted: WantedPeople
    ) -> Generator[Ask, list[Any], list[SeenPeople]]:
        """Return what is in each picture, as far as it is wanted."""
        things, bodies, faces = self.encoders
        found = yield Ask(things, images)
        seen = [
            SeenPeople(
                [
                    _part(image, _pixels(one.box, image.size))
                    for one in unpacked(feature)
                    if one.label == PERSON
                ]
            )
            for image, feature in zip(images, found, strict=True)
        ]
        if not wanted.posture and not wanted.expression:
            return seen
        people = [(one, person) for one in seen for person in one.people]
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
        return seen


def _undefined(shots: Sequence[RenderedShot], reason: str) -> list[Value]:
    return [Value(None, shot.number, reason) for shot in shots]


def _value(shot: RenderedShot, seen: SeenPeople, wanted: WantedPeople) -> Value:
    parts = {}
    if wanted.count is not None:
        parts["count"] = count_match(len(seen.people), wanted.count)
    if wanted.posture:
        parts["posture"] = label_match(seen.postures, wanted.posture)
    if wanted.expression:
        parts["expression"] = label_match(seen.expressions, wanted.expression)
    trace = {
        "parts": parts,
        "people": [person.box for person in seen.people],
        "postures": seen.postures,
        "expressions": seen.expressions,
    }
    return Value(character_portrayal(parts), shot.number, trace=trace)


def _pixels(shares: tuple[float, float, float, float], size: tuple[int, int]) -> Box:
    """Return a box a quarter wider and higher in whole pixels, within the picture."""
    left, top, right, bottom = shares
    width, height = size
    by_x, by_y = (right - left) * (WIDER - 1) / 2, (bottom - top) * (WIDER - 1) / 2
    start_x = min(max(0, round((left - by_x) * width)), width - 1)
    start_y = min(max(0, round((top - by_y) * height)), height - 1)
    end_x = min(width, round((right + by_x) * width))
    end_y = min(height, round((bottom + by_y) * height))
    return start_x, start_y, max(start_x + 1, end_x), max(start_y + 1, end_y)


def _part(image: Image, box: Box) -> Image:
    """Return a part of a picture that may be a part itself."""
    x, y = image.box[:2] if image.box else (0, 0)
    return replace(image, box=(box[0] + x, box[1] + y, box[2] + x, box[3] + y))
