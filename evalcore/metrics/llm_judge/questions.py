"""Questions to a judge: texts and pictures in one message, with answer settings."""

import hashlib
import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from evalcore.metrics.base import Image
from evalcore.metrics.llm_judge.pictures import (
    Detail,
    Format,
    picture_parts,
    sent_size,
)
from evalcore.metrics.llm_judge.settings import (
    MESSAGE_TOKENS,
    picture_tokens,
    text_tokens,
)


@cache
def prompts(paper: str) -> Mapping[str, str]:
    """Return this project's own instructions to judges for the metrics of a paper."""
    text = Path(__file__).with_name("prompts.toml").read_text("utf-8")
    found: Mapping[str, str] = tomllib.loads(text)[paper]
    return found


def prompt_hashes(paper: str, *names: str) -> dict[str, str]:
    """Return the SHA-256 of own instructions, by file, paper and name."""
    return {
        f"prompts.toml [{paper}] {name}": hashlib.sha256(
            prompts(paper)[name].encode()
        ).hexdigest()
        for name in names
    }


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
    format: Format = "jpeg"  # file format of pictures
    size: tuple[int, int] | None = None  # width and height to squash pictures to
    # Longer side in pixels to which larger pictures are reduced, if they are not
    # squashed; None to send them in their own size.
    longest: int | None = 1024
    quality: int = 90  # JPEG quality of pictures
    # Level of detail for pictures; `auto` leaves it to the judge.
    detail: Detail = "auto"
    # Whether even a text alone is a list of parts, as some programs send it; most
    # servers want plain text.
    listed: bool = False

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
        sent = [self.format, self.size, self.longest, self.quality, self.detail]
        said = [parts, self.system, self.listed, self.max_tokens, *sent]
        chance = [round(self.temperature, 6), self.seed, self.trial]
        return hashlib.sha256(json.dumps([said, chance]).encode()).hexdigest()


# Changes whenever the same question would be sent differently.
PACKING = "1"


@dataclass(frozen=True)
class Payload:
    """A question ready to send, with the most tokens that it can cost."""

    body: bytes
    tokens_in: int
    tokens_out: int


def payload(question: JudgeQuestion, judge: str) -> Payload:
    """Return the request body for a question."""
    pictures = iter(picture_parts(question.images, question))
    tokens = MESSAGE_TOKENS + text_tokens(question.system)
    content: list[dict[str, Any]] = []
    for part in question.parts:
        if isinstance(part, Image):
            tokens += picture_tokens(*sent_size(part.size, question))
            content.append(next(pictures))
        else:
            tokens += text_tokens(part)
            content.append(_text_part(part))
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
    """Return system and user message; a text alone is plain unless it is `listed`."""
    texts = [part["text"] for part in content if part["type"] == "text"]
    alone = len(texts) == len(content) and not question.listed
    said: dict[str, Any] = {
        "role": "user",
        "content": "\n\n".join(texts) if alone else list(content),
    }
    if not question.system:
        return [said]
    system = [_text_part(question.system)] if question.listed else question.system
    return [{"role": "system", "content": system}, said]


def _text_part(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}
