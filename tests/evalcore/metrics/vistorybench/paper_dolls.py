"""A small world in which everything can be calculated by hand.

Characters are rectangles of one colour on white. The detector finds them by colour; an
encoder returns their colour as a direction. So the similarity of two figures is the
cosine of their colours, and every match is known in advance.
"""

import numpy as np

from evalcore.metrics.base import RenderedCharacter
from evalcore.metrics.vistorybench.character_matching import FigureEncoders
from tests.evalcore.metrics.asking import image_of, rendering_of

SIZE = 80, 40  # width, height
RED, GREEN, BLUE = (200, 0, 0), (0, 200, 0), (0, 0, 200)
ORANGE = (160, 120, 0)  # cosine with red .8, with green .6
FACELESS = (90, 90, 90)


def scene(*figures):
    """Return a picture with rectangles: (colour, left, top, width, height)."""
    picture = np.full((SIZE[1], SIZE[0], 3), 255, np.uint8)
    for colour, left, top, width, height in figures:
        picture[top : top + height, left : left + width] = colour
    return picture


def doll(colour, left=10):
    return colour, left, 5, 20, 30


class FindColours:
    """Detector of rectangles, the largest first; scores are shares of the picture."""

    id = "colours"
    batch = 8

    def prepare(self, item):
        height, width = item.shape[:2]
        boxes = []
        for colour in np.unique(item.reshape(-1, 3), axis=0):
            if (colour == 255).all():
                continue
            ys, xs = np.nonzero((item == colour).all(axis=2))
            left, right = xs.min() / width, (xs.max() + 1) / width
            top, bottom = ys.min() / height, (ys.max() + 1) / height
            boxes.append(
                (
                    (left + right) / 2,
                    (top + bottom) / 2,
                    right - left,
                    bottom - top,
                    len(xs) / (width * height),
                )
            )
        found = np.array(boxes, np.float64).reshape(-1, 5)
        return found[np.argsort(-found[:, 4], kind="stable")]

    def encode(self, prepared):
        return prepared


class SeeColour:
    """Encoder of the mean colour as a direction; face encoders ignore grey."""

    batch = 8

    def __init__(self, name, *, faces=False):
        self.id = name
        self.faces = faces

    def prepare(self, item):
        body = item[(item != 255).any(axis=2)]
        colour = body.mean(axis=0) if len(body) else np.ones(3)
        unit = (colour / np.linalg.norm(colour)).astype(np.float32)
        if not self.faces:
            return unit
        grey = np.ptp(colour) < 1
        return np.empty((0, 3), np.float32) if grey else unit[None]

    def encode(self, prepared):
        return prepared


FIGURE_ENCODERS = FigureEncoders(
    FindColours(),
    {"one": SeeColour("face 1", faces=True), "two": SeeColour("face 2", faces=True)},
    {"clip": SeeColour("clip")},
)


def character(key, *pictures, kind="non_human"):
    return RenderedCharacter(
        key, kind, tuple(image_of(picture) for picture in pictures)
    )


def story(shots, expected, characters):
    return rendering_of(list(shots), expected=list(expected), characters=characters)
