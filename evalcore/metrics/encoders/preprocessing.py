"""Preprocessing of pictures for networks.

Resizing and cutting run on eight-bit pictures in Pillow, the same on every machine;
scaling and normalising run on the device, in one place.
"""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import torch
from PIL import Image

from evalcore.metrics.base import Picture

BICUBIC = Image.Resampling.BICUBIC
BILINEAR = Image.Resampling.BILINEAR
# Rounding of the crop's position if an odd number of pixels is left: torchvision and
# open_clip round its half (to an even number), the processors of transformers floor it.
Half = Literal["rounded", "floored"]
# A narrower picture would be enlarged to gigabytes before its middle is cut out.
THINNEST = 100
Statistics = tuple[Sequence[float], Sequence[float]]  # mean and deviation per channel
CLIP: Statistics = (
    (0.48145466, 0.4578275, 0.40821073),
    (0.26862954, 0.26130258, 0.27577711),
)
IMAGENET: Statistics = ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
HALF: Statistics = ((0.5, 0.5, 0.5), (0.5, 0.5, 0.5))


def resized(
    picture: Picture, size: tuple[int, int], how: Image.Resampling = BICUBIC
) -> Picture:
    """Return the picture in that width and height, ignoring its aspect ratio."""
    image = Image.fromarray(np.ascontiguousarray(picture))
    return np.asarray(image.resize(size, how))


def resized_in_fractions(picture: Picture, size: tuple[int, int]) -> Any:
    """Return the picture in that width and height, from about 0 to 255.

    Bicubic with antialiasing, neither rounded nor clamped: as torchvision resizes
    tensors, in which sharp edges overshoot.
    """
    width, height = size
    pixels = torch.from_numpy(np.ascontiguousarray(picture)).permute(2, 0, 1)
    found = torch.nn.functional.interpolate(
        pixels[None].float(), (height, width), mode="bicubic", antialias=True
    )
    return found[0].permute(1, 2, 0).numpy()


def short_side(
    picture: Picture,
    side: int,
    how: Image.Resampling = BICUBIC,
    longest: int | None = None,
) -> Picture:
    """Return the picture with its shorter side resized to a length, aspect ratio kept.

    If the longer side would exceed `longest`, it gets that length instead, or a pixel
    less: the shorter side is rounded first, as in Grounding DINO's program (and not in
    its port in transformers).
    """
    height, width = picture.shape[:2]
    short, long = min(width, height), max(width, height)
    if longest is None and long > THINNEST * short:
        raise ValueError(f"{width} x {height} pixels are too narrow to be processed")
    if longest is not None and long / short * side > longest:
        side = round(longest * short / long)
    other = max(1, int(side * long / short))
    size = (side, other) if width <= height else (other, side)
    return resized(picture, size, how)


def centre_crop(picture: Picture, side: int, half: Half = "rounded") -> Picture:
    """Return the middle square of a picture that is at least that large."""
    halves = [(length - side) / 2 for length in picture.shape[:2]]
    top, left = (round(x) if half == "rounded" else int(x) for x in halves)
    return np.ascontiguousarray(picture[top : top + side, left : left + side])


def middle(
    picture: Picture,
    side: int,
    how: Image.Resampling = BICUBIC,
    half: Half = "rounded",
    *,
    short: int | None = None,
) -> Picture:
    """Return the middle square after resizing the shorter side to `short` or `side`."""
    return centre_crop(short_side(picture, short or side, how), side, half)


def normalised(batch: torch.Tensor, statistics: Statistics) -> torch.Tensor:
    """Return batch x 3 x height x width, from batch x height x width x 3, 0 to 255."""
    mean, deviation = (
        torch.tensor(values, device=batch.device).view(3, 1, 1) for values in statistics
    )
    return (batch.permute(0, 3, 1, 2) / 255 - mean) / deviation
