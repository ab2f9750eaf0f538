"""What a judge is asked: texts and pictures in one message, and how it is to answer."""

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from evalcore.metrics.base import Image

Detail = Literal["auto", "low", "high"]


@dataclass(frozen=True)
class JudgeQuestion:
    """One message to a judge."""

    # Texts and pictures in the order in which the judge sees them.
    parts: tuple[str | Image, ...]
    system: str = ""  # what it is told beforehand; nothing where empty
    temperature: float = 0.0  # how freely it answers; 0 for the likeliest answer
    max_tokens: int = 512  # how long the answer may be
    seed: int | None = None  # what its randomness starts from, where it heeds that
    trial: int = 0  # independent repetitions of a question differ in it
    # Width and height that pictures are squashed to; None to keep their proportions and
    # only reduce them, to 1024 pixels on the longer side.
    size: tuple[int, int] | None = (512, 512)
    quality: int = 90  # of the JPEG that a picture is sent as
    # How closely the judge looks at pictures; `auto` leaves it to the judge.
    detail: Detail = "auto"

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
        """Name its content: all of it decides the answer."""
        parts = [
            {"image": part.key} if isinstance(part, Image) else part
            for part in self.parts
        ]
        sent = [self.size, self.quality, self.detail]
        said = [parts, self.system, self.max_tokens, *sent]
        chance = [round(self.temperature, 6), self.seed, self.trial]
        return hashlib.sha256(json.dumps([said, chance]).encode()).hexdigest()
