"""Requests to a judge's server: from questions to JSON bodies.

Servers differ in the parameters that they accept; `Dialect` learns them from refusals.
"""

import json
import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass
from threading import Lock
from typing import Any

from evalcore.metrics.base import Image
from evalcore.metrics.llm_judge.costs import (
    MESSAGE_TOKENS,
    picture_tokens,
    text_tokens,
)
from evalcore.metrics.llm_judge.pictures import picture_parts, sent_size
from evalcore.metrics.llm_judge.questions import JudgeQuestion
from evalcore.metrics.llm_judge.settings import JudgeSettings

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Payload:
    """A question ready to send, with the most tokens that it can cost."""

    body: Mapping[str, Any]
    tokens_in: int
    tokens_out: int


def payload(question: JudgeQuestion, settings: JudgeSettings) -> Payload:
    """Return the request for a question, with the most tokens that it can cost."""
    most = tokens_in(question), answer_tokens(question, settings)
    return Payload(body_of(question, settings), *most)


def tokens_in(question: JudgeQuestion) -> int:
    """Return the most tokens that a question itself can have."""
    texts = [part for part in question.parts if isinstance(part, str)]
    sizes = [sent_size(image.size, question) for image in question.images]
    pictures = sum(picture_tokens(*size) for size in sizes)
    return MESSAGE_TOKENS + sum(map(text_tokens, [question.system, *texts])) + pictures


def answer_tokens(question: JudgeQuestion, settings: JudgeSettings) -> int:
    """Return the longest possible answer in tokens, with thoughts."""
    return question.max_tokens + settings.extra_tokens


def body_of(question: JudgeQuestion, settings: JudgeSettings) -> dict[str, Any]:
    """Return the JSON body of the request for a question."""
    body: dict[str, Any] = {
        "model": settings.name,
        settings.token_parameter: answer_tokens(question, settings),
        "messages": _messages(question),
    }
    if settings.temperature != "none":
        own = settings.temperature == "metric"
        body["temperature"] = question.temperature if own else settings.temperature
    if question.seed is not None:
        body["seed"] = question.seed + question.trial
    if settings.effort:
        body["reasoning_effort"] = settings.effort
    if settings.structured and question.schema:
        schema = {
            "name": "answer",
            "strict": True,
            "schema": json.loads(question.schema),
        }
        body["response_format"] = {"type": "json_schema", "json_schema": schema}
    return body | (json.loads(settings.extra_body) if settings.extra_body else {})


def _messages(question: JudgeQuestion) -> list[dict[str, Any]]:
    """Return system and user message; a text alone is plain unless it is `listed`."""
    said: dict[str, Any] = {"role": "user", "content": _content(question)}
    if not question.system:
        return [said]
    system = _text_part(question.system)
    content = [system] if question.listed else system["text"]
    return [{"role": "system", "content": content}, said]


def _content(question: JudgeQuestion) -> str | list[dict[str, Any]]:
    if not question.images and not question.listed:
        return _utf8("\n\n".join(str(part) for part in question.parts))
    pictures = iter(picture_parts(question.images, question))
    return [
        next(pictures) if isinstance(part, Image) else _text_part(part)
        for part in question.parts
    ]


def _text_part(text: str) -> dict[str, Any]:
    return {"type": "text", "text": _utf8(text)}


def _utf8(text: str) -> str:
    """Return a text that can be sent: halves of characters become question marks."""
    return text.encode("utf-8", "replace").decode()


# Complaints about a parameter that a server does not know, and about a wrong value.
UNKNOWN = re.compile(
    r"unsupported|not support|unknown|unrecogni[sz]ed|unexpected|not permitted"
    r"|not allowed|deprecated|instead",
    re.IGNORECASE,
)
WRONG_VALUE = re.compile("too large|too long|context length|exceed", re.IGNORECASE)
OTHER_NAME = {
    "max_tokens": "max_completion_tokens",
    "max_completion_tokens": "max_tokens",
}


class Dialect:
    """Parameters that a server wants otherwise; thread-safe, and kept for a run."""

    def __init__(self, settings: JudgeSettings) -> None:
        self._who = settings.name
        self._tokens: str = settings.token_parameter
        self._has_switched = False
        self._without_temperature = False
        self._lock = Lock()

    @property
    def note(self) -> str:
        """Return what was left out of requests, as a part of the answers' version."""
        return "without temperature" if self._without_temperature else ""

    def adapt(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return a body as the server wants it."""
        adapted = dict(body)
        other = OTHER_NAME[self._tokens]
        if other in adapted:
            adapted[self._tokens] = adapted.pop(other)
        if self._without_temperature:
            adapted.pop("temperature", None)
        return adapted

    def learn(self, sent: Mapping[str, Any], complaint: str) -> bool:
        """Learn from a refusal; return whether the question can be sent otherwise.

        `complaint`: the server's error. Each parameter changes once.
        """
        if not UNKNOWN.search(complaint) or WRONG_VALUE.search(complaint):
            return False
        with self._lock:
            for name in set(OTHER_NAME) & set(sent):
                if re.search(rf"\b{name}\b", complaint):
                    return self._switch(name)
            if "temperature" in sent and re.search(r"\btemperature\b", complaint):
                return self._leave_out_temperature()
        return False

    def _switch(self, refused: str) -> bool:
        if self._tokens != refused:  # another question has switched already
            return True
        if self._has_switched:
            return False
        self._has_switched, self._tokens = True, OTHER_NAME[refused]
        logger.warning(
            "%s refuses %s and gets %s from now on", self._who, refused, self._tokens
        )
        return True

    def _leave_out_temperature(self) -> bool:
        if not self._without_temperature:
            self._without_temperature = True
            logger.warning(
                "%s refuses a temperature and gets none from now on: its answers vary",
                self._who,
            )
        return True
