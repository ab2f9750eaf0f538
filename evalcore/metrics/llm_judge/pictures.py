"""Pictures as a judge gets them: in a question's size and format."""

import base64
import io
from collections.abc import Sequence
from itertools import islice
from typing import Any

from PIL import Image as Pillow

from evalcore.metrics.base import FeatureError, Image, Picture
from evalcore.metrics.llm_judge.questions import JudgeQuestion


def picture_parts(
    images: Sequence[Image], question: JudgeQuestion
) -> list[dict[str, Any]]:
    """Return pictures as parts of a message; each source is decoded once.

    A PNG that is sent whole and in its own size is the stored file, byte by byte.
    """
    stored = {
        image: file
        for image in images
        if (file := _stored_file(image, question)) is not None
    }
    others = [image for image in images if image not in stored]
    encoded = {
        image: _encoded(picture, question)
        for image, picture in zip(others, _decoded(others), strict=True)
    }
    return [_part((stored | encoded)[image], question) for image in images]


def sent_size(size: tuple[int, int], question: JudgeQuestion) -> tuple[int, int]:
    """Return the width and height in which a picture of this size is sent."""
    if question.size is not None:
        return question.size
    if question.longest is None or max(size) <= question.longest:
        return size
    share = question.longest / max(size)
    width, height = (max(1, round(side * share)) for side in size)
    return width, height


def _part(data: bytes, question: JudgeQuestion) -> dict[str, Any]:
    text = base64.b64encode(data).decode()
    place = {"url": f"data:image/{question.format};base64,{text}"}
    if question.detail != "auto":
        place["detail"] = question.detail
    return {"type": "image_url", "image_url": place}


def _stored_file(image: Image, question: JudgeQuestion) -> bytes | None:
    is_whole = image == Image(image.source)
    fits = question.size is None and question.longest is None
    if question.format != "png" or image.source.png is None or not (is_whole and fits):
        return None
    return image.source.png()


def _encoded(picture: Picture, question: JudgeQuestion) -> bytes:
    image = Pillow.fromarray(picture)
    # ViStoryBench's program squashes with Pillow's default, which is bicubic.
    bicubic, lanczos = Pillow.Resampling.BICUBIC, Pillow.Resampling.LANCZOS
    size = sent_size(image.size, question)
    if size != image.size:
        image = image.resize(size, lanczos if question.size is None else bicubic)
    stream = io.BytesIO()
    if question.format == "png":
        image.save(stream, "PNG")
    else:
        image.save(stream, "JPEG", quality=question.quality)
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
