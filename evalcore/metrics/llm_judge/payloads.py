"""Turning a question into what is sent: pictures decoded, put to size, and packed."""

import base64
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from PIL import Image as Pillow

from evalcore.metrics.base import Image, Picture
from evalcore.metrics.errors import FeatureError
from evalcore.metrics.llm_judge.costs import MESSAGE_TOKENS, picture_tokens, text_tokens
from evalcore.metrics.llm_judge.questions import JudgeQuestion

LONGEST_SIDE = 1024
# Changes whenever the same question would be sent differently.
PACKING = "1"


@dataclass(frozen=True)
class Payload:
    """A question ready to be sent, and how many tokens it can cost at most."""

    body: bytes
    tokens_in: int
    tokens_out: int


def payload(question: JudgeQuestion, judge: str) -> Payload:
    """Return what is sent for a question."""
    pictures = iter([_fit(picture, question) for picture in _decode(question.images)])
    tokens = MESSAGE_TOKENS + text_tokens(question.system)
    content: list[dict[str, Any]] = []
    for part in question.parts:
        if isinstance(part, Image):
            picture = next(pictures)
            tokens += picture_tokens(*picture.size)
            content.append(_picture_part(picture, question))
        else:
            tokens += text_tokens(part)
            content.append({"type": "text", "text": part})
    message = {
        "model": judge,
        "max_tokens": question.max_tokens,
        "temperature": question.temperature,
        "messages": _messages(question, content),
    }
    if question.seed is not None:
        message["seed"] = question.seed + question.trial
    return Payload(json.dumps(message).encode(), tokens, question.max_tokens)


def _messages(
    question: JudgeQuestion, content: Sequence[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Return system and user message; a text alone goes as plain text."""
    texts = [part["text"] for part in content if part["type"] == "text"]
    alone = len(texts) == len(content)
    said: dict[str, Any] = {
        "role": "user",
        "content": "\n\n".join(texts) if alone else list(content),
    }
    if not question.system:
        return [said]
    return [{"role": "system", "content": question.system}, said]


def _picture_part(picture: Pillow.Image, question: JudgeQuestion) -> dict[str, Any]:
    stream = io.BytesIO()
    picture.save(stream, "JPEG", quality=question.quality)
    data = base64.b64encode(stream.getvalue()).decode()
    place = {"url": f"data:image/jpeg;base64,{data}"}
    if question.detail != "auto":
        place["detail"] = question.detail
    return {"type": "image_url", "image_url": place}


def _fit(picture: Picture, question: JudgeQuestion) -> Pillow.Image:
    image = Pillow.fromarray(picture)
    if question.size is not None:
        return image.resize(question.size, Pillow.Resampling.BICUBIC)
    share = LONGEST_SIDE / max(image.size)
    if share >= 1:
        return image
    width, height = (max(1, round(side * share)) for side in image.size)
    return image.resize((width, height), Pillow.Resampling.LANCZOS)


def _decode(images: Sequence[Image]) -> list[Picture]:
    """Decode pictures, each source once."""
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
            raise FeatureError(f"there is no frame {image.index}")
        pictures.append(image.cut([frame]))
    return pictures
