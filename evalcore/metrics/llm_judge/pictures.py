"""Pictures as a judge gets them: in a question's size and format."""

import base64
import io
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal, Protocol

from PIL import Image as Pillow

from evalcore.metrics.base import FeatureError, Image, Picture

Format = Literal["jpeg", "png"]


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


@dataclass(frozen=True)
class SentPicture:
    """The file of a picture as it is sent."""

    data: bytes
    format: Format
    size: tuple[int, int]  # width and height

    def part(self, detail: str = "auto") -> dict[str, Any]:
        """Return it as a part of a message; `auto` leaves the detail to the judge."""
        data = base64.b64encode(self.data).decode()
        place = {"url": f"data:image/{self.format};base64,{data}"}
        if detail != "auto":
            place["detail"] = detail
        return {"type": "image_url", "image_url": place}


def sent_pictures(
    images: Sequence[Image], settings: PictureSettings
) -> list[SentPicture]:
    """Return pictures as they are sent; each source is decoded once.

    A PNG that is sent whole and in its own size is the stored file, byte by byte.
    """
    whole = {
        image: file
        for image in images
        if (file := _stored_file(image, settings)) is not None
    }
    others = [image for image in images if image not in whole]
    encoded = {
        image: _encoded(picture, settings)
        for image, picture in zip(others, _decoded(others), strict=True)
    }
    return [
        SentPicture(whole[image], "png", image.size)
        if image in whole
        else encoded[image]
        for image in images
    ]


def _stored_file(image: Image, settings: PictureSettings) -> bytes | None:
    is_whole = image == Image(image.source)
    fits = settings.size is None and settings.longest is None
    if settings.format != "png" or image.source.png is None or not (is_whole and fits):
        return None
    return image.source.png()


def _encoded(picture: Picture, settings: PictureSettings) -> SentPicture:
    image = _fit(Pillow.fromarray(picture), settings)
    stream = io.BytesIO()
    if settings.format == "png":
        image.save(stream, "PNG")
    else:
        image.save(stream, "JPEG", quality=settings.quality)
    return SentPicture(stream.getvalue(), settings.format, image.size)


def _fit(image: Pillow.Image, settings: PictureSettings) -> Pillow.Image:
    if settings.size is not None:
        return image.resize(settings.size, Pillow.Resampling.BICUBIC)
    if settings.longest is None or max(image.size) <= settings.longest:
        return image
    share = settings.longest / max(image.size)
    width, height = (max(1, round(side * share)) for side in image.size)
    return image.resize((width, height), Pillow.Resampling.LANCZOS)


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
