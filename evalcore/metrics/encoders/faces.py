"""Identity of a character in a picture by the face, aligned as each network expects.

Each encoder returns 1 x n numbers of length 1 for the best face, or 0 x n without one.
ViStoryBench's program detects faces by SCRFD for ArcFace, and by RetinaFace for AdaFace
and FaceNet; **here all three get SCRFD's face**, aligned as in the program, except that
the rotation is found by least squares. No network library is imported until an encoder
is made.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from evalcore.metrics.base import (
    Encoder,
    Feature,
    FeatureError,
    Floats,
    Picture,
)
from evalcore.metrics.encoders import published
from evalcore.metrics.formulas import sampled

if TYPE_CHECKING:
    from evalcore.metrics.encoders.antelope import Scrfd


@dataclass(frozen=True)
class Template:
    """Positions of the five points of an aligned face."""

    name: str  # its name in an encoder's id
    # x and y of the eyes, the nose and the corners of the mouth, in pixels.
    points: tuple[tuple[float, float], ...]
    side: int  # width and height of the aligned picture
    # Colour (RGB) outside the original picture.
    border: tuple[int, int, int] = (0, 0, 0)

    def resized(self, side: int) -> "Template":
        """Return it for an aligned picture of another size."""
        factor = side / self.side
        points = tuple((x * factor, y * factor) for x, y in self.points)
        return replace(self, points=points, side=side)


# Template in the training of ArcFace and AdaFace.
ARCFACE_TEMPLATE = Template(
    "ArcFace template",
    (
        (38.2946, 51.6963),
        (73.5318, 51.5014),
        (56.0252, 71.7366),
        (41.5493, 92.3655),
        (70.7299, 92.2041),
    ),
    side=112,
)
# Template of facexlib's FaceRestoreHelper: a smaller face with more around it.
FFHQ = Template(
    "FFHQ template",
    (
        (192.98138, 239.94708),
        (318.90277, 240.1936),
        (256.63416, 314.01935),
        (201.26117, 371.41043),
        (313.08905, 371.15118),
    ),
    side=512,
    border=(132, 133, 135),
)


def similarity(source: Floats, target: Floats) -> Floats:
    """Return the rotation, scale and shift (2 x 3) that best maps points to others.

    `source`, `target`: n x 2, at least two points. With points as centred complex
    numbers s and t, the least squares solution of a s = t is a = sum(conj(s) t) /
    sum(abs(s)^2).

    Source: Umeyama (1991), Least-squares estimation of transformation parameters
    between two point patterns, equations 40 to 42.
    """
    first, second = source @ (1, 1j), target @ (1, 1j)
    centred = first - first.mean()
    spread = np.sum(np.abs(centred) ** 2)
    if not spread > 0:
        raise ValueError("the points of a face coincide, so it cannot be aligned")
    turn = np.sum(centred.conj() * (second - second.mean())) / spread
    if not abs(turn) > np.finfo(np.float32).eps:
        raise ValueError(f"no rotation aligns the points {source.tolist()}")
    shift = second.mean() - turn * first.mean()
    return np.array(
        [[turn.real, -turn.imag, shift.real], [turn.imag, turn.real, shift.imag]]
    )


def aligned(picture: Picture, points: Floats, template: Template) -> Picture:
    """Return the face (RGB), mapped to the template by linear interpolation.

    `points`: 5 x 2, where (0, 0) is the middle of the first pixel. As in the reference
    programs, a face is not smoothed before it is reduced.
    """
    matrix = similarity(np.asarray(points, np.float64), np.array(template.points))
    inverse = np.linalg.inv(matrix[:, :2])
    # Pillow counts from the corner of the first pixel.
    start = 0.5 - inverse @ (matrix[:, 2] + 0.5)
    return sampled(
        picture,
        (template.side, template.side),
        (*inverse[0], start[0], *inverse[1], start[1]),
        template.border,
    )


CODE, PAPER = "vsb-code-2026.02", "vsb-paper"
SIDE, FACENET_SIDE = 112, 160
LENGTH = 512  # length of a feature


class FaceEncoder:
    """Encoder of pictures of a character: 1 x 512, or 0 x 512 without a face."""

    def __init__(self, network: Encoder, finder: "Scrfd", template: Template) -> None:
        self.network = network
        self.finder = finder
        self.template = template

    @cached_property
    def id(self) -> str:
        place = f"{self.template.name} in {self.template.side}"
        return f"{self.network.id}; {place}; {self.finder.id}"

    @property
    def batch(self) -> int:
        return self.network.batch

    def prepare(self, item: Picture) -> Any:
        """Find and align the face; None without a face."""
        points = self.finder.points(item)
        if points is None:
            return None
        return self.network.prepare(aligned(item, points, self.template))

    def encode(self, prepared: Sequence[Any]) -> list[Feature | FeatureError]:
        return of_faces(prepared, self.network.encode, LENGTH)


@cache
def scrfd() -> "Scrfd":
    """Return the face detector for all three networks."""
    from evalcore.metrics.encoders.antelope import Scrfd

    return Scrfd(published.SCRFD)


@cache
def arcface_encoder() -> FaceEncoder:
    """Return ArcFace: SCRFD, ArcFace's template in 112 x 112, `glintr100`."""
    from evalcore.metrics.encoders.antelope import ArcFace

    return FaceEncoder(ArcFace(published.ARCFACE), scrfd(), ARCFACE_TEMPLATE)


@cache
def adaface_encoder(profile: str = CODE) -> FaceEncoder:
    """Return AdaFace with SCRFD's face (the program takes RetinaFace's).

    `profile`: `vsb-code-2026.02`: the face is aligned as by facexlib (FFHQ's template,
    grey around it), unlike the network's training. `vsb-paper`: ArcFace's template, as
    by AdaFace's authors. The paper does not specify it.
    """
    from evalcore.metrics.encoders.face_networks import adaface

    return FaceEncoder(adaface(published.ADAFACE), scrfd(), _template(profile))


@cache
def facenet_encoder(profile: str = CODE) -> FaceEncoder:
    """Return FaceNet with SCRFD's face (the program takes RetinaFace's).

    `profile`: `vsb-code-2026.02`: the program's input, AdaFace's 112 x 112 in BGR from
    0 to 1. `vsb-paper`: the input in training, RGB from -1 to 1 in 160 x 160, on
    ArcFace's template. The paper does not specify it.
    """
    from evalcore.metrics.encoders.face_networks import facenet

    as_trained = profile != CODE
    template = _template(profile)
    if as_trained:
        template = template.resized(FACENET_SIDE)
    network = facenet(published.FACENET, as_trained=as_trained)
    return FaceEncoder(network, scrfd(), template)


def _template(profile: str) -> Template:
    if profile not in (CODE, PAPER):
        raise ValueError(f"profile {profile!r}: known are {CODE} and {PAPER}")
    return FFHQ.resized(SIDE) if profile == CODE else ARCFACE_TEMPLATE


def of_faces(
    prepared: Sequence[Any],
    encode: Callable[[Sequence[Any]], Sequence[Feature | FeatureError]],
    length: int,
) -> list[Feature | FeatureError]:
    """Encode the detected faces.

    `prepared`: a face, or None without one. `encode`: turns faces into vectors. Result:
    float32, 1 x length, normalised, for a face; 0 x length for None.
    """
    faces = [face for face in prepared if face is not None]
    vectors = iter(encode(faces) if faces else ())
    return [
        np.empty((0, length), np.float32) if face is None else _unit(next(vectors))
        for face in prepared
    ]


def _unit(vector: Feature | FeatureError) -> Feature | FeatureError:
    if isinstance(vector, FeatureError):
        return vector
    length = float(np.linalg.norm(vector.astype(np.float64)))
    if not 0 < length < np.inf:
        return FeatureError(f"the network gave a face a vector of length {length}")
    return (vector / length).astype(np.float32)[None]
