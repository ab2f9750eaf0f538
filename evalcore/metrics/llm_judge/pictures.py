"""Pictures as a judge gets them: in a question's size and format."""

import base64
import io
from collections.abc import Sequence
from itertools import islice
from typing import Any, Literal, Protocol

from PIL import Image as Pillow

from evalcore.metrics.base import FeatureError, Image, Picture

Format = Literal["jpeg", "png"]
Detail = Literal["auto", "low", "high"]


class PictureSettings(Protocol):
    """Settings of a question for its pictures; see `JudgeQuestion`."""

    @property
    def format(self) -> Format:
        """Return the format of the files."""

    @property
    def size(self) -> tuple[int, int] | None:
        """Return width and height to squash to; None to keep the proportions."""

    @property
    def longest(self) -> int | None:
        """Return the longest side in pixels; None for no limit."""

    @property
    def quality(self) -> int:
        """Return the quality of JPEG files."""

    @property
    def detail(self) -> Detail:
        """Return the level of detail; `auto` leaves it to the judge."""


def picture_parts(
    images: Sequence[Image], settings: PictureSettings
) -> list[dict[str, Any]]:
    """Return pictures as parts of a message; each source is decoded once.

    A PNG that is sent whole and in its own size is the stored file, byte by byte.
    """
    stored = {
        image: file
        for image in images
        if (file := _stored_file(image, settings)) is not None
    }
    others = [image for image in images if image not in stored]
    encoded = {
        image: _encoded(picture, settings)
        for image, picture in zip(others, _decoded(others), strict=True)
    }
    return [_part((stored | encoded)[image], settings) for image in images]


def sent_size(size: tuple[int, int], settings: PictureSettings) -> tuple[int, int]:
    """Return the width and height in which a picture of this size is sent."""
    if settings.size is not None:
        return settings.size
    if settings.longest is None or max(size) <= settings.longest:
        return size
    share = settings.longest / max(size)
    width, height = (max(1, round(side * share)) for side in size)
    return width, height


def _part(data: bytes, settings: PictureSettings) -> dict[str, Any]:
    text = base64.b64encode(data).decode()
    place = {"url": f"data:image/{settings.format};base64,{text}"}
    if settings.detail != "auto":
        place["detail"] = settings.detail
    return {"type": "image_url", "image_url": place}


def _stored_file(image: Image, settings: PictureSettings) -> bytes | None:
    is_whole = image == Image(image.source)
    fits = settings.size is None and settings.longest is None
    if settings.format != "png" or image.source.png is None or not (is_whole and fits):
        return None
    return image.source.png()


def _encoded(picture: Picture, settings: PictureSettings) -> bytes:
    image = Pillow.fromarray(picture)
    # ViStoryBench's program squashes with Pillow's default, which is bicubic.
    bicubic, lanczos = Pillow.Resampling.BICUBIC, Pillow.Resampling.LANCZOS
    size = sent_size(image.size, settings)
    if size != image.size:
        image = image.resize(size, lanczos if settings.size is None else bicubic)
    stream = io.BytesIO()
    if settings.format == "png":
        image.save(stream, "PNG")
    else:
        image.save(stream, "JPEG", quality=settings.quality)
    return stream.getvalue()


def _decoded(images: Sequence[Image]) -> list[Picture]:
    decoded: dict[str, dict[int, Picture]] = {}
    for image in images:
        if image.source.key in decoded:
            continue
        needed = {i.index for i in images if i.source.key == image.source.key}
        frames = islice(image.source.pictures(), max(needed) + 1)
        decoded[image.source.key] = {
            i: frame for i, frame in enumerate(frames) if i in needed
        }
    pictures = []
    for image in images:
        frame = decoded[image.source.key].get(image.index)
        if frame is None:
            raise FeatureError(f"the source has no frame {image.index}")
        pictures.append(image.cut([frame]))
    return pictures
