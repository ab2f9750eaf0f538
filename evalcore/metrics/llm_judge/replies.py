"""Reading what a judge's server replied: the answer, and what it was billed for."""

import json
from typing import Any

from evalcore.metrics.errors import FeatureError
from evalcore.metrics.llm_judge.payloads import Payload

SHOWN = 160
CUT_OFF = ("length", "max_tokens")
# What ends the thoughts of a judge that thinks aloud before its answer.
ENDS_OF_THOUGHT = ("</think>", "</thinking>")


class UnusableReplyError(FeatureError):
    """The judge did reply, but said nothing usable; it may do better another time."""


def read_reply(body: bytes, kind: str = "") -> Any:
    """Return the JSON object of a reply."""
    try:
        reply = json.loads(body)
    except (ValueError, RecursionError) as error:
        seen = excerpt(body.decode("utf-8", "replace"))
        kind = f" ({kind})" if kind else ""
        raise FeatureError(f"the judge's reply is no JSON{kind}: {seen}") from error
    if not isinstance(reply, dict):
        seen = excerpt(json.dumps(reply))
        raise FeatureError(f"the judge's reply is no JSON object: {seen}")
    return reply


def usage_of(reply: Any, most: Payload) -> tuple[int, int]:
    """Return how many tokens were read and written.

    >>> usage_of({"usage": {"prompt_tokens": 7}}, Payload(b"", 99, 50))
    (7, 50)
    """
    usage = reply.get("usage")
    if not isinstance(usage, dict):
        usage = {}
    return (
        _count(usage.get("prompt_tokens"), most.tokens_in),
        _count(usage.get("completion_tokens"), most.tokens_out),
    )


def _count(value: object, otherwise: int) -> int:
    return value if type(value) is int and value >= 0 else otherwise


def answer_of(reply: Any) -> str:
    """Return the text of an answer."""
    problem = error_of(reply)
    if problem:
        raise FeatureError(f"the judge reports an error: {problem}")
    choice = _first_choice(reply)
    message = choice.get("message")
    if not isinstance(message, dict):
        raise FeatureError("the judge's reply has no message")
    finish = choice.get("finish_reason")
    if finish == "content_filter":
        raise FeatureError("the judge's content filter withheld the answer")
    if message.get("refusal"):
        raise FeatureError(f"the judge refused: {excerpt(str(message['refusal']))}")
    if finish in CUT_OFF:
        raise UnusableReplyError("the judge's answer was cut off at its longest length")
    text = _text(message.get("content"))
    if not text.strip():
        raise UnusableReplyError("the judge's answer is empty")
    return text


def _first_choice(reply: Any) -> Any:
    choices = reply.get("choices")
    if isinstance(choices, list) and choices and isinstance(choices[0], dict):
        return choices[0]
    raise FeatureError(
        f"the judge's reply has no choices: {excerpt(json.dumps(reply))}"
    )


def _text(content: object) -> str:
    """Return the text of a message, which some servers cut into parts."""
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict)]
        content = "".join(part for part in parts if isinstance(part, str))
    if not isinstance(content, str):
        return ""
    # A stored text can hold neither half a character nor a zero at its end.
    whole = content.encode("utf-8", "replace").decode()
    return whole.replace("\0", "")


def error_of(reply: Any) -> str:
    """Return the message of an error that a reply reports; empty if it reports none.

    >>> error_of({"error": {"message": "no such model", "code": 404}})
    "'no such model'"
    """
    error = reply.get("error")
    if not error:
        return ""
    message = error.get("message") if isinstance(error, dict) else error
    return excerpt(str(message or "without a message"))


def without_thoughts(text: str) -> str:
    """Return an answer without what the judge thought aloud before it.

    >>> without_thoughts("<think>Score: 1? No.</think>Score: 3")
    'Score: 3'
    """
    for end in ENDS_OF_THOUGHT:
        text = text.rpartition(end)[2]
    return text


def excerpt(text: str) -> str:
    """Return the beginning of a text, quoted, for a message.

    >>> excerpt("a  " + 200 * "b")[:5]
    "'a bb"
    """
    words = " ".join(text[: 4 * SHOWN].split())
    return repr(words) if len(words) <= SHOWN else f"{words[:SHOWN]!r}..."
