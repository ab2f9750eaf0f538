"""Who a figure in a picture is, by its face, aligned to where a network expects it.

Each encoder returns 1 x n numbers of length 1 for the best face, or 0 x n where it sees
none. ViStoryBench's program finds the face for ArcFace by SCRFD, and for AdaFace and
FaceNet by RetinaFace; **here all three are given SCRFD's face**, placed as in the
program, save that the turn is found by least squares. No network library is imported
until an encoder is made.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from PIL import Image

from evalcore.metrics.base import Encoder, Feature, Floats, Picture
from evalcore.metrics.errors import FeatureError, Lacks
from evalcore.metrics.weights import AnyWeights, PackagedWeights, Weights, lacking


@dataclass(frozen=True)
class Template:
    """Where the five points of an aligned face lie."""

    name: str  # names it in an encoder's id
    # x and y of the eyes, the nose and the corners of the mouth, in pixels.
    points: tuple[tuple[float, float], ...]
    side: int  # width and height of the aligned picture
    # Colour (RGB) of what lies outside the original picture.
    border: tuple[int, int, int] = (0, 0, 0)

    def resized(self, side: int) -> "Template":
        """Return it for an aligned picture of another size."""
        factor = side / self.side
        points = tuple((x * factor, y * factor) for x, y in self.points)
        return replace(self, points=points, side=side)


# Where ArcFace and AdaFace were trained to find a face.
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
# Where facexlib's FaceRestoreHelper puts a face: smaller, with more around it.
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
    """Return the turn, scale and shift (2 x 3) that brings points nearest to others.

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
        raise ValueError("the points of a face coincide: there is nothing to align")
    turn = np.sum(centred.conj() * (second - second.mean())) / spread
    if not abs(turn) > np.finfo(np.float32).eps:
        raise ValueError(f"no turn brings the points {source.tolist()} to the template")
    shift = second.mean() - turn * first.mean()
    return np.array(
        [[turn.real, -turn.imag, shift.real], [turn.imag, turn.real, shift.imag]]
    )


def aligned(picture: Picture, points: Floats, template: Template) -> Picture:
    """Return the face (RGB), brought to the template by linear interpolation.

    `points`: 5 x 2, where (0, 0) is the middle of the first pixel. As in the reference
    programs a face is not smoothed before it is made smaller.
    """
    matrix = similarity(np.asarray(points, np.float64), np.array(template.points))
    inverse = np.linalg.inv(matrix[:, :2])
    # Pillow counts from the corner of the first pixel.
    start = 0.5 - inverse @ (matrix[:, 2] + 0.5)
    return _sampled(
        picture,
        (template.side, template.side),
        (*inverse[0], start[0], *inverse[1], start[1]),
        template.border,
    )


def stretched(picture: Picture, width: int, height: int) -> Picture:
    """Return the picture in another size, interpolated linearly and not smoothed."""
    high, wide = picture.shape[:2]
    return _sampled(picture, (width, height), (wide / width, 0, 0, 0, high / height, 0))


def _sampled(
    picture: Picture,
    size: tuple[int, int],
    matrix: tuple[float, ...],
    border: tuple[int, int, int] = (0, 0, 0),
) -> Picture:
    """Return the picture seen through an affine map from output to input."""
    image = Image.fromarray(np.ascontiguousarray(picture))
    how = Image.Transform.AFFINE, [float(x) for x in matrix], Image.Resampling.BILINEAR
    return np.asarray(image.transform(size, *how, fillcolor=border))


# Who a figure in a picture is, by its face --------------------------------------------


CODE, PAPER = "vsb-code-2026.02", "vsb-paper"
SIDE, FACENET_SIDE = 112, 160
LENGTH = 512  # of a feature


# What is needed ----------------------------------------------------------------------


@dataclass(frozen=True)
class AntelopeWeights(Weights):
    """A file of insightface's antelopev2.

    Its archive often unpacks to a folder of that name within one of that name; both
    places will do.
    """

    def find(self) -> Path | None:
        return super().find() or Weights(f"antelopev2/{self.path}", "", "").find()


def _antelope(name: str, sha256: str) -> AntelopeWeights:
    return AntelopeWeights(
        path=f"antelopev2/{name}",
        licence="non-commercial research only (insightface)",
        origin=(
            "antelopev2.zip of deepinsight/insightface's release v0.7, or: hf download "
            f"DIAMONIK7777/antelopev2 {name} "
            "--local-dir $EVALCORE_WEIGHTS_DIR/antelopev2"
        ),
        sha256=sha256,
        hub="DIAMONIK7777/antelopev2",
        hub_file=name,
    )


SCRFD_WEIGHTS = _antelope("scrfd_10g_bnkps.onnx", "5838f7fe053675b1")
ARCFACE_WEIGHTS = _antelope("glintr100.onnx", "4ab1d6435d639628")
ADAFACE_WEIGHTS = Weights(
    path="adaface/adaface_ir101_webface12m.ckpt",
    licence=(
        "MIT (code); trained on WebFace12M, which is for non-commercial research only"
    ),
    origin=(
        "'R100, WebFace12M' in the README of mk-minchul/AdaFace: gdown "
        "1dswnavflETcnAuplZj1IOKKP0eM8ITgT "
        "-O $EVALCORE_WEIGHTS_DIR/adaface/adaface_ir101_webface12m.ckpt"
    ),
    # Many strangers who took it from there write down this one; its authors none.
    sha256="0e7a3238d2a50f3f",
)
FACENET_WEIGHTS = Weights(
    path="facenet/20180402-114759-vggface2.pt",
    licence=(
        "MIT (code); trained on VGGFace2, pictures of people from the web whose rights "
        "stay with their owners: for research only"
    ),
    origin="a file of timesler/facenet-pytorch's release v2.2.9",
    sha256="281cebca8662831a",
)


def _dlib(name: str) -> PackagedWeights:
    return PackagedWeights("face_recognition_models", f"models/{name}", "CC0-1.0")


DLIB_POINTS = _dlib("shape_predictor_5_face_landmarks.dat")
DLIB_NETWORK = _dlib("dlib_face_recognition_resnet_model_v1.dat")


@dataclass(frozen=True)
class Needs:
    """Packages, by the name they are imported under, and weights of an encoder."""

    packages: tuple[str, ...]
    weights: tuple[AnyWeights, ...]


ARCFACE = Needs(("onnxruntime",), (SCRFD_WEIGHTS, ARCFACE_WEIGHTS))
ADAFACE = Needs(("onnxruntime", "torch"), (SCRFD_WEIGHTS, ADAFACE_WEIGHTS))
FACENET = Needs(("onnxruntime", "torch"), (SCRFD_WEIGHTS, FACENET_WEIGHTS))
DLIB = Needs(("dlib",), (DLIB_POINTS, DLIB_NETWORK))


def missing(*needs: Needs) -> Lacks:
    """Return what is lacking of all that, each thing once; empty if nothing."""
    packages = dict.fromkeys(name for one in needs for name in one.packages)
    weights = dict.fromkeys(file for one in needs for file in one.weights)
    return lacking(packages, weights)


# Encoders ----------------------------------------------------------------------------


class Finder(Protocol):
    """Finds the face that counts in a picture; several threads may call it."""

    @property
    def id(self) -> str:
        """Name what decides the face."""
        ...

    def points(self, picture: Picture) -> Floats | None:
        """Return its five points, 5 x 2; None where there is no face."""
        ...


class FaceEncoder:
    """An encoder of pictures of a figure into 1 x 512, or 0 x 512 without a face.

    `template`: where the network expects its points.
    """

    def __init__(self, network: Encoder, finder: Finder, template: Template) -> None:
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
        """Find and align the face; None where there is none."""
        points = self.finder.points(item)
        if points is None:
            return None
        return self.network.prepare(aligned(item, points, self.template))

    def encode(self, prepared: Sequence[Any]) -> list[Feature | FeatureError]:
        return of_faces(prepared, self.network.encode, LENGTH)


@cache
def scrfd() -> Finder:
    """Return what finds faces for all three networks."""
    from evalcore.metrics.encoders.antelope import Scrfd

    return Scrfd(SCRFD_WEIGHTS)


@cache
def arcface_encoder() -> FaceEncoder:
    """Return ArcFace: SCRFD, ArcFace's template in 112 x 112, `glintr100`."""
    from evalcore.metrics.encoders.antelope import ArcFace

    return FaceEncoder(ArcFace(ARCFACE_WEIGHTS), scrfd(), ARCFACE_TEMPLATE)


@cache
def adaface_encoder(profile: str = CODE) -> FaceEncoder:
    """Return AdaFace; its face is found by SCRFD, not by RetinaFace as in the program.

    `profile`: `vsb-code-2026.02`: the face is placed as facexlib does it (FFHQ's
    template, grey around it), where the network never saw faces in its training.
    `vsb-paper`: on ArcFace's template, as AdaFace's authors do. The paper is silent on
    it.
    """
    from evalcore.metrics.encoders.face_networks import adaface

    return FaceEncoder(adaface(ADAFACE_WEIGHTS), scrfd(), _template(profile))


@cache
def facenet_encoder(profile: str = CODE) -> FaceEncoder:
    """Return FaceNet; its face is found by SCRFD, not by RetinaFace as in the program.

    `profile`: `vsb-code-2026.02`: what the program feeds it, AdaFace's 112 x 112 in BGR
    from 0 to 1. `vsb-paper`: RGB from -1 to 1 in 160 x 160, which the network was
    trained with, on ArcFace's template. The paper is silent on it.
    """
    from evalcore.metrics.encoders.face_networks import facenet

    as_trained = profile != CODE
    template = _template(profile)
    if as_trained:
        template = template.resized(FACENET_SIDE)
    network = facenet(FACENET_WEIGHTS, as_trained=as_trained)
    return FaceEncoder(network, scrfd(), template)


def _template(profile: str) -> Template:
    if profile not in (CODE, PAPER):
        raise ValueError(f"profile {profile!r}: there are {CODE} and {PAPER}")
    return FFHQ.resized(SIDE) if profile == CODE else ARCFACE_TEMPLATE


def of_faces(
    prepared: Sequence[Any],
    encode: Callable[[Sequence[Any]], Sequence[Feature | FeatureError]],
    length: int,
) -> list[Feature | FeatureError]:
    """Encode the faces that there are.

    `prepared`: a face, or None where there is none. `encode`: turns faces into vectors.
    Result: float32, 1 x length and of length 1 for a face, 0 x length for None.
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
