"""Questions to a judge: texts and pictures in one message, with answer settings."""

import base64
import hashlib
import io
import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from PIL import Image as Pillow

from evalcore.metrics.base import FeatureError, Image, Picture

Detail = Literal["auto", "low", "high"]


@cache
def prompts(paper: str) -> Mapping[str, str]:
    """Return the instructions to judges for the metrics of a paper."""
    text = Path(__file__).with_name("prompts.toml").read_text("utf-8")
    found: Mapping[str, str] = tomllib.loads(text)[paper]
    return found


@dataclass(frozen=True)
class JudgeQuestion:
    """One message to a judge."""

    # Texts and pictures in the order in which the judge sees them.
    parts: tuple[str | Image, ...]
    system: str = ""  # system message; none if empty
    temperature: float = 0.0  # temperature; 0 for the likeliest answer
    max_tokens: int = 512  # longest answer in tokens
    seed: int | None = None  # seed of the judge's randomness, if it supports one
    trial: int = 0  # number of an independent repetition of the question
    # Width and height that pictures are squashed to; None to keep their proportions and
    # only reduce them, to 1024 pixels on the longer side.
    size: tuple[int, int] | None = (512, 512)
    quality: int = 90  # JPEG quality of pictures
    # Level of detail for pictures; `auto` leaves it to the judge.
    detail: Detail = "auto"
    # JSON schema of the answer, as JSON; sent if JUDGE_STRUCTURED is 1.
    schema: str = ""

    def __post_init__(self) -> None:
        if not self.parts:
            raise ValueError("a question needs a text or a picture")
        if self.max_tokens < 1:
            raise ValueError(f"an answer needs a token, not {self.max_tokens}")

    @property
    def images(self) -> list[Image]:
        return [part for part in self.parts if isinstance(part, Image)]

    @cached_property
    def key(self) -> str:
        """Return the identity of its content: everything that decides the answer."""
        parts = [
            {"image": part.key} if isinstance(part, Image) else part
            for part in self.parts
        ]
        sent = [self.size, self.quality, self.detail]
        said = [
            parts,
            self.system,
            self.max_tokens,
            *sent,
            *filter(None, [self.schema]),
        ]
        chance = [round(self.temperature, 6), self.seed, self.trial]
        return hashlib.sha256(json.dumps([said, chance]).encode()).hexdigest()


LONGEST_SIDE = 1024
# Changes whenever the same question would be sent differently.
PACKING = "1"


def picture_parts(question: JudgeQuestion) -> list[dict[str, Any]]:
    """Return the question's pictures in order, each as a part of a message."""
    return [
        _picture_part(_fit(picture, question), question)
        for picture in _decode(question.images)
    ]


def sent_size(size: tuple[int, int], question: JudgeQuestion) -> tuple[int, int]:
    """Return the width and height in which a picture of this size is sent."""
    if question.size is not None:
        return question.size
    share = min(1.0, LONGEST_SIDE / max(size))
    width, height = (max(1, round(side * share)) for side in size)
    return width, height


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
    size = sent_size(image.size, question)
    if size == image.size:
        return image
    squashed = question.size is not None
    ways = Pillow.Resampling
    return image.resize(size, ways.BICUBIC if squashed else ways.LANCZOS)


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
            raise FeatureError(f"the source has no frame {image.index}")
        pictures.append(image.cut([frame]))
    return pictures
