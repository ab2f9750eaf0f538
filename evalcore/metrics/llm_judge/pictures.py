"""Pictures as a judge gets them: in a question's size and format."""

import base64
import io
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from PIL import Image as Pillow

from evalcore.metrics.base import FeatureError, Image, Picture

if TYPE_CHECKING:
    from evalcore.metrics.llm_judge.questions import JudgeQuestion


@dataclass(frozen=True)
class SentPicture:
    """The file of a picture as it is sent."""

    data: bytes
    format: str  # `jpeg` or `png`
    size: tuple[int, int]  # width and height

    def part(self, detail: str = "auto") -> dict[str, Any]:
        """Return it as a part of a message; `auto` leaves the detail to the judge."""
        data = base64.b64encode(self.data).decode()
        place = {"url": f"data:image/{self.format};base64,{data}"}
        if detail != "auto":
            place["detail"] = detail
        return {"type": "image_url", "image_url": place}


def sent_pictures(question: "JudgeQuestion") -> list[SentPicture]:
    """Return a question's pictures in order; each source is decoded once.

    A PNG that is sent whole and in its own size is the stored file, byte by byte.
    """
    whole = {
        image: file
        for image in question.images
        if (file := _stored_file(image, question)) is not None
    }
    others = [image for image in question.images if image not in whole]
    encoded = {
        image: _encoded(picture, question)
        for image, picture in zip(others, _decoded(others), strict=True)
    }
    return [
        SentPicture(whole[image], "png", image.size)
        if image in whole
        else encoded[image]
        for image in question.images
    ]


def _stored_file(image: Image, question: "JudgeQuestion") -> bytes | None:
    is_whole = image == Image(image.source)
    fits = question.size is None and question.longest is None
    if question.format != "png" or image.source.png is None or not (is_whole and fits):
        return None
    return image.source.png()


def _encoded(picture: Picture, question: "JudgeQuestion") -> SentPicture:
    image = _fit(Pillow.fromarray(picture), question)
    stream = io.BytesIO()
    if question.format == "png":
        image.save(stream, "PNG")
    else:
        image.save(stream, "JPEG", quality=question.quality)
    return SentPicture(stream.getvalue(), question.format, image.size)


def _fit(image: Pillow.Image, question: "JudgeQuestion") -> Pillow.Image:
    if question.size is not None:
        return image.resize(question.size, Pillow.Resampling.BICUBIC)
    if question.longest is None or max(image.size) <= question.longest:
        return image
    share = question.longest / max(image.size)
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
