"""Price of questions to a judge, and an example of a request."""

import base64
import hashlib
import io
import math
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from PIL import Image as Pillow

from evalcore.metrics.llm_judge.costs import TILE, dollars, text_tokens
from evalcore.metrics.llm_judge.pictures import sent_size
from evalcore.metrics.llm_judge.questions import JudgeQuestion
from evalcore.metrics.llm_judge.requests import answer_tokens, body_of, tokens_in
from evalcore.metrics.llm_judge.settings import ZERO, JudgeSettings

# Bytes of UTF-8 in a token: English and Chinese lie between.
BYTES_A_TOKEN = (4, 3)
# A picture's tokens: GPT-4o's base and tile, and the pixels of a token of Claude.
BASE, A_TILE, PIXELS_A_TOKEN = 85, 170, 750
# Shares of the answer's limit that judges use.
USED = (0.125, 0.5)


@dataclass(frozen=True)
class Estimate:
    """Dollars that questions will cost; `most` cannot be exceeded."""

    questions: int
    low: Decimal
    high: Decimal
    most: Decimal

    def __str__(self) -> str:
        asked = f"{self.questions:,} question{'s' * (self.questions != 1)}"
        if not self.questions:
            return "no new questions"
        if not self.most:
            return f"free by JUDGE_PRICE_IN and JUDGE_PRICE_OUT: {asked}"
        return (
            f"about ${self.low:,.2f} to ${self.high:,.2f} for {asked} "
            f"(at most ${self.most:,.2f})"
        )


def estimated_cost(
    questions: Iterable[JudgeQuestion], settings: JudgeSettings
) -> Estimate:
    """Return what questions will cost, each asked once.

    `low` and `high` count texts, pictures and answers as most judges do. Judges that
    count more tokens for a picture, such as GPT-4o mini, lie between `high` and `most`.
    """
    count, low, high, most = 0, ZERO, ZERO, ZERO
    for question in questions:
        longest = answer_tokens(question, settings)
        count += 1
        low += dollars(settings, *_typical(question, longest, 0))
        high += dollars(settings, *_typical(question, longest, 1))
        most += dollars(settings, tokens_in(question), longest)
    return Estimate(count, low, high, most)


def _typical(question: JudgeQuestion, longest: int, end: int) -> tuple[int, int]:
    """Return a question's usual tokens in and out, at the low (0) or high (1) end."""
    texts = [question.system, *(p for p in question.parts if isinstance(p, str))]
    tokens = sum(text_tokens(text) for text in texts) / BYTES_A_TOKEN[end]
    for image in question.images:
        width, height = sent_size(image.size, question)
        tiles = BASE + A_TILE * math.ceil(width / TILE) * math.ceil(height / TILE)
        tokens += sorted((tiles, width * height / PIXELS_A_TOKEN))[end]
    return math.ceil(tokens), math.ceil(longest * USED[end])


def example_request(question: JudgeQuestion, settings: JudgeSettings) -> dict[str, Any]:
    """Return the body of a question's request, with pictures as size and hash."""
    body = body_of(question, settings)
    for message in body["messages"]:
        if isinstance(message["content"], list):
            message["content"] = [_shortened(part) for part in message["content"]]
    return body


def _shortened(part: dict[str, Any]) -> dict[str, Any]:
    if part["type"] != "image_url":
        return part
    head, _comma, data = part["image_url"]["url"].partition(",")
    file = base64.b64decode(data)
    width, height = Pillow.open(io.BytesIO(file)).size
    sha256 = hashlib.sha256(file).hexdigest()
    said = (
        f"{head}, ({width} x {height}, {len(file):,} bytes, SHA-256 {sha256[:16]}...)"
    )
    return {**part, "image_url": {**part["image_url"], "url": said}}
