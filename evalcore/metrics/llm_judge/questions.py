"""Questions to a judge: texts and pictures in one message, with answer settings."""

import hashlib
import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Literal

from evalcore.metrics.base import Image

Format = Literal["jpeg", "png"]
Detail = Literal["auto", "low", "high"]


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
        sent = [self.format, self.size, self.longest, self.quality, self.detail]
        said = [parts, self.system, self.listed, self.max_tokens, *sent]
        said += filter(None, [self.schema])
        chance = [round(self.temperature, 6), self.seed, self.trial]
        return hashlib.sha256(json.dumps([said, chance]).encode()).hexdigest()


# Changes whenever the same question would be sent differently.
PACKING = "1"
