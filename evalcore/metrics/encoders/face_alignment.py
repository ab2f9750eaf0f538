"""Bringing a face into the place where a network expects it.

Five points of a face (the eyes, the tip of the nose, the corners of the mouth; left and
right as seen in the picture) are moved onto those of a template by turning, scaling and
shifting, and the picture with them.
"""

from dataclasses import dataclass, replace

import numpy as np
from PIL import Image

from evalcore.metrics.base import Floats, Picture


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
ARCFACE = Template(
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
    """Return the turn, scale and shift that brings points nearest to others.

    `source`, `target`: n x 2, x and y of points that belong together; n is at least 2.
    Result: 2 x 3: a point (x, y) goes to this matrix times (x, y, 1). It never mirrors.

    With points as complex numbers, centred as s and t, the least squares solution of
    a s = t is a = sum(conj(s) t) / sum(abs(s)^2). It is Umeyama's for two dimensions.

    Source: Umeyama (1991), Least-squares estimation of transformation parameters
    between two point patterns, equations 40 to 42.

    Twice as large, then moved by 1 to the right:

    >>> corners = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> similarity(corners, 2 * corners + [1, 0]).round(6) + 0.0
    array([[2., 0., 1.],
           [0., 2., 0.]])
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
    """Return the face, brought to the template.

    `picture`: height x width x 3, RGB. `points`: 5 x 2, x and y of the points in the
    picture; (0, 0) is the middle of the first pixel, as detectors count. `template`:
    where they are to lie. Result: side x side x 3, interpolated linearly between
    pixels. As in the reference programs a face is not smoothed before it is made
    smaller.
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
