"""Reader of replies from a judge's server: the answer, its scores, its billing.

Judges decorate: `**Score:** 3`, `Score: 3/4`, `"score": 3`, `| Score | 3 |`. A range, a
share of another scale, or a number that counts something is refused rather than
guessed.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from evalcore.metrics.base import FeatureError

SHOWN = 160
# Kinds of unusable replies, which complete "the answers were ...".
UNREADABLE = "unreadable"
CUT_OFF = "cut off"  # at the length limit: another attempt needs more tokens
DECLINED = "refused"  # by the judge itself
WITHHELD = "withheld by a content filter"
EMPTY = "empty"  # although it may have thoughts
# Or it reports an error with status 200.
MALFORMED = "not in OpenAI's protocol"
# How a server calls the end of an answer at the length limit.
AT_LIMIT = ("length", "max_tokens")
START_OF_THOUGHT = re.compile("<(?:think|thinking|reasoning)>")
END_OF_THOUGHT = re.compile("</(?:think|thinking|reasoning)>")


class UnusableReplyError(FeatureError):
    """The judge's reply is unusable; another attempt may succeed.

    `text`: what there is of the answer.
    """

    def __init__(self, reason: str, kind: str = UNREADABLE, text: str = "") -> None:
        super().__init__(reason)
        self.kind, self.text = kind, text


def read_reply(body: bytes, kind: str = "") -> Any:
    """Return the JSON object of a reply."""
    try:
        reply = json.loads(body)
    except (ValueError, RecursionError) as error:
        said = body.decode("utf-8", "replace")
        kind = f" ({kind})" if kind else ""
        reason = f"the judge's reply is not JSON{kind}: {excerpt(said)}"
        raise UnusableReplyError(reason, MALFORMED) from error
    if not isinstance(reply, dict):
        seen = excerpt(json.dumps(reply))
        reason = f"the judge's reply is not a JSON object: {seen}"
        raise UnusableReplyError(reason, MALFORMED)
    return reply


def usage_of(reply: Any, most_in: int, most_out: int) -> tuple[int, int]:
    """Return how many tokens were read and written; the most where it is not said.

    >>> usage_of({"usage": {"prompt_tokens": 7}}, 99, 50)
    (7, 50)
    """
    usage = reply.get("usage")
    if not isinstance(usage, dict):
        usage = {}
    return (
        _count(usage.get("prompt_tokens"), most_in),
        _count(usage.get("completion_tokens"), most_out),
    )


def _count(value: object, otherwise: int) -> int:
    return value if type(value) is int and value >= 0 else otherwise


def answer_of(reply: Any, limit: int) -> str:
    """Return the text of an answer; thoughts in a field of their own are left out.

    `limit`: the most tokens that the answer was allowed.
    """
    problem = error_of(reply)
    if problem:
        raise UnusableReplyError(f"the judge reports an error: {problem}", MALFORMED)
    choice = _first_choice(reply)
    message = choice.get("message")
    if not isinstance(message, dict):
        raise UnusableReplyError("the judge's reply has no message", MALFORMED)
    text = _text(message.get("content"))
    finish = choice.get("finish_reason")
    if finish == "content_filter":
        reason = "the judge's content filter withheld the answer"
        raise UnusableReplyError(reason, WITHHELD, text)
    if refusal := message.get("refusal"):
        reason = f"the judge refused: {excerpt(str(refusal))}"
        raise UnusableReplyError(reason, DECLINED)
    if finish in AT_LIMIT:
        reason = f"the judge's answer was cut off at {limit} tokens{_thoughts(reply)}"
        raise UnusableReplyError(reason, CUT_OFF, text)
    if not without_thoughts(text).strip():
        thoughts = ", after its thoughts" if text.strip() or _thought(message) else ""
        reason = f"the judge's answer is empty{thoughts}"
        raise UnusableReplyError(reason, EMPTY, text)
    return text


def _thought(message: Mapping[str, Any]) -> bool:
    return any(message.get(name) for name in ("reasoning_content", "reasoning"))


def _thoughts(reply: Any) -> str:
    """Say how many tokens of an answer were thoughts, if the server says so."""
    usage = reply.get("usage")
    details = usage.get("completion_tokens_details") if isinstance(usage, dict) else 0
    count = details.get("reasoning_tokens") if isinstance(details, dict) else 0
    return f", {count} of them thoughts" if count else ""


def version_of(reply: Any) -> str:
    """Return the name of the model that the server says has answered.

    >>> version_of({"model": "gpt-4.1-2025-04-14", "system_fingerprint": "fp_1"})
    'gpt-4.1-2025-04-14'
    """
    return _named(reply, "model")


def fingerprint_of(reply: Any) -> str:
    """Return the fingerprint of the server that has answered; empty if there is none.

    It is no part of a version: hosted judges change it from one answer to the next.
    """
    return _named(reply, "system_fingerprint")


def _named(reply: Any, name: str) -> str:
    said = reply.get(name)
    return _text(said) if isinstance(said, str) else ""


def _first_choice(reply: Any) -> Any:
    choices = reply.get("choices")
    if isinstance(choices, list) and choices and isinstance(choices[0], dict):
        return choices[0]
    reason = f"the judge's reply has no choices: {excerpt(json.dumps(reply))}"
    raise UnusableReplyError(reason, MALFORMED)


def _text(content: object) -> str:
    """Return the text of a message, which some servers split into parts."""
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict)]
        content = "".join(part for part in parts if isinstance(part, str))
    if not isinstance(content, str):
        return ""
    # A database can store neither half a character nor a NUL.
    whole = content.encode("utf-8", "replace").decode()
    return whole.replace("\0", "")


def error_of(reply: Any) -> str:
    """Return the error message in a reply; empty if there is none.

    >>> error_of({"error": {"message": "no such model", "code": 404}})
    "'no such model'"
    """
    error = reply.get("error")
    if not error:
        return ""
    message = error.get("message") if isinstance(error, dict) else error
    return excerpt(str(message or "without a message"))


def without_thoughts(text: str) -> str:
    """Return an answer without the thoughts that a reasoning judge writes before it.

    >>> without_thoughts("<think>Score: 1? No.</think>Score: 3")
    'Score: 3'
    """
    *_thoughts, answer = END_OF_THOUGHT.split(text)
    return START_OF_THOUGHT.split(answer)[0]


def excerpt(text: str) -> str:
    """Return the beginning of a text, quoted, for a message.

    >>> excerpt("a  " + 200 * "b")[:5]
    "'a bb"
    """
    words = " ".join(text[: 4 * SHOWN].split())
    return repr(words) if len(words) <= SHOWN else f"{words[:SHOWN]!r}..."


SHOWN_REST = 16
DECORATION = r"[*_`\"']{0,9}"
OPENING = r"*_`\"'\[(<"
GAP = rf"[{OPENING} \t]*"
COLON = r"[ \t]*[:\uff1a=|]"
NUMBER = re.compile(r"(?P<number>-?\d{1,6}(?:\.\d{1,6})?)(?P<rest>[^\n]{0,80})")
OF = re.compile(r"\s*(?:[\[(]\s*)?(?:/|out\s+of|of)\s*(\d{1,6})", re.IGNORECASE)
# End of a scale in brackets before the colon: `(0-4)`, `(out of 10)`.
TOP = re.compile(
    r"(?:\d\s*(?:[-\u2010-\u2015~]|to)|/|of|max(?:imum)?:?)\s*(\d{1,6})\s*$", re.I
)
RANGE = re.compile(r"\s*(?:[-\u2013\u2014~]|to|or|and)\s*\d", re.IGNORECASE)
# Text that may follow a score; anything else means that the number counts something.
END = re.compile(r"\s*(?:points?\b|because\b|since\b|as\b|for\b|[^\w\s%]|$)", re.I)


@dataclass(frozen=True)
class Unclear:
    """A number that is not a score, with the reason."""

    reason: str


# What a judge repeats of a prompt or a picture: text in quotation marks, and lines
# after `>`. A JSON key such as `"score"` is one too, but its number lies outside.
QUOTATION = re.compile(
    r"""
    (?<!\w)"(?:[^"\\\n]|\\.|\n(?![ \t]*\n))*"(?!\w)
    | (?<!\w)'[^'\n]*'(?!\w)
    | \u201c[^\u201c\u201d]*\u201d | \u2018[^\u2018\u2019\n]*\u2019(?!\w)
    | \u00ab[^\u00ab\u00bb]*\u00bb | \u300c[^\u300c\u300d]*\u300d
    | ^[ \t]*>[^\n]*$
    """,
    re.MULTILINE | re.VERBOSE,
)


# Schema of an answer that explains and then scores, which `scores_after` reads, too.
EXPLAINED_SCORE = json.dumps(
    {
        "type": "object",
        "properties": {
            "explanation": {"type": "string"},
            "score": {"type": "number"},
        },
        "required": ["explanation", "score"],
        "additionalProperties": False,
    }
)


def scores_after(
    label: str, text: str, highest: int, *, quoted: bool = False
) -> list[float | Unclear]:
    """Return every number after a label and a colon.

    `quoted`: whether those in quotations count, as for programs that do not see these.

    >>> scores_after("score", 'The sign says "Score: 4". Score: 1', 4)
    [1.0]
    """
    found = []
    whole = QUOTATION.fullmatch(text.strip())
    spans = [] if whole or quoted else [m.span() for m in QUOTATION.finditer(text)]
    for match in _mentions(label, rf"{COLON}{GAP}(?P<next>\n\s*{GAP})?", text):
        number = NUMBER.match(text, match.end())
        if number is None:
            continue
        end = number.end("number")
        if any(first <= match.start() and end <= last for first, last in spans):
            continue
        score = _score(number, highest, match["scale"] or "")
        # On the next line a score must be alone; `1. The scene` is a list.
        if match["next"] and not re.fullmatch(r"\W*", _beyond(number)):
            continue
        found.append(score)
    return found


def digits_after(label: str, text: str) -> list[int]:
    """Return the first digit after each mention of a label."""
    mentions = _mentions(label, rf"(?:{COLON}[{OPENING}\s]*|\s*)(?P<digit>\d)", text)
    return [int(match["digit"]) for match in mentions]


def _mentions(label: str, then: str, text: str) -> Iterator[re.Match[str]]:
    """Yield each mention of a label, perhaps with a scale in brackets, and its rest.

    `label` and `then` are regular expressions.
    """
    scale = r"(?:[ \t]*\((?P<scale>[^()\n]{0,40})\))?"
    return re.finditer(
        rf"(?<![^\W_]){label}{DECORATION}{scale}{DECORATION}{then}", text, re.I
    )


def _beyond(number: re.Match[str]) -> str:
    """Return the rest of the line after a number, without `/4`."""
    rest = number["rest"]
    of = OF.match(rest)
    return rest[of.end() :] if of else rest


def _score(number: re.Match[str], highest: int, scale: str) -> float | Unclear:
    value, rest = number["number"], number["rest"]
    for top in (OF.match(rest), TOP.search(scale)):
        if top and int(top[1]) != highest:
            return Unclear(f"{value} is out of {top[1]}, not of {highest}")
    if RANGE.match(_beyond(number)):
        return Unclear(f"{value}{rest[:SHOWN_REST]} is a range")
    if not END.match(_beyond(number)):
        return Unclear(f"{value}{rest[:SHOWN_REST]} is no score")
    return float(value)
