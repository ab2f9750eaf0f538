"""Asking a judge from within a metric, again if its answer cannot be used."""

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, Literal, TypeVar

from evalcore.metrics.base import Ask
from evalcore.metrics.errors import FeatureError
from evalcore.metrics.llm_judge.attempts import NoAnswerError
from evalcore.metrics.llm_judge.client import NotAskedError, the_judge
from evalcore.metrics.llm_judge.questions import JudgeQuestion
from evalcore.metrics.llm_judge.replies import (
    UnusableReplyError,
    excerpt,
    without_thoughts,
)

T = TypeVar("T")
HOTTEST = 2.0  # as far as the interface goes
WARMER = 0.1


@dataclass(frozen=True)
class Refusal:
    """No usable answer; `reasons` are those of each attempt."""

    reasons: tuple[str, ...]

    def __str__(self) -> str:
        if len(self.reasons) == 1:
            return f"the judge gave no usable answer: {self.reasons[0]}"
        return (
            f"the judge gave no usable answer in {len(self.reasons)} attempts; "
            f"the last: {self.reasons[-1]}"
        )


@dataclass(frozen=True)
class JudgeAnswer(Generic[T]):
    """A usable answer."""

    value: T  # what it was parsed to
    text: str  # the reply as given
    attempt: int  # on which attempt it came, from 1


@dataclass
class _Open(Generic[T]):
    question: JudgeQuestion
    place: int
    reasons: list[str]


def ask_judge(
    questions: Sequence[JudgeQuestion],
    parse: Callable[[str], T],
    *,
    attempts: int = 3,
    unanswered: Literal["fail", "refuse"] = "fail",
) -> Generator[Ask, list[Any], list[JudgeAnswer[T] | Refusal]]:
    """Ask questions at once, and those again whose answer cannot be parsed.

    Used inside a metric's `score`: `answers = yield from ask_judge(questions, parse)`.

    `parse`: turns an answer into a value, or raises ValueError with the reason. What
    the judge thought aloud before it is not handed over; `Answer.text` keeps it.
    `attempts`: how often a question is asked at most, each time at a temperature higher
    by `WARMER`: at the same one it would have the same, remembered answer.
    `unanswered`: what becomes of a question that the judge does not reply to, being
    overloaded or broken: the whole metric fails, so that nothing is stored and another
    run asks again, or it is a refusal like an answer without use. Result: one for each
    question, in order.
    """
    if attempts < 1:
        raise ValueError(f"attempts={attempts}: expected 1 or more")
    outcomes: dict[int, JudgeAnswer[T] | Refusal] = {}
    waiting = [_Open[T](question, i, []) for i, question in enumerate(questions)]
    for attempt in range(1, attempts + 1):
        if not waiting:
            break
        asked = [one.question for one in waiting]
        replies = yield Ask(the_judge(), asked, tolerant=True)
        again = []
        for one, reply in zip(waiting, replies, strict=True):
            if isinstance(reply, NoAnswerError) and unanswered == "fail":
                raise reply
            outcome = _outcome(one, reply, parse, attempt)
            if outcome is not None:
                outcomes[one.place] = outcome
            elif (warmed := _warmed(one.question)) == one.question:
                outcomes[one.place] = Refusal(tuple(one.reasons))
            else:
                again.append(replace(one, question=warmed))
        waiting = again
    for one in waiting:
        outcomes[one.place] = Refusal(tuple(one.reasons))
    return [outcomes[i] for i in range(len(questions))]


def _outcome(
    one: _Open[T], reply: Any, parse: Callable[[str], T], attempt: int
) -> JudgeAnswer[T] | Refusal | None:
    """Return what came of an attempt; None if it may be made again."""
    if isinstance(reply, NotAskedError):
        raise reply.fatal
    if isinstance(reply, FeatureError):
        one.reasons.append(str(reply))
        if isinstance(reply, UnusableReplyError):
            return None
        return Refusal(tuple(one.reasons))
    text = str(reply)
    said = without_thoughts(text)
    try:
        return JudgeAnswer(parse(said), text, attempt)
    except ValueError as error:
        one.reasons.append(f"{error}: {excerpt(said)}")
        return None


def _warmed(question: JudgeQuestion) -> JudgeQuestion:
    """Return the question at a higher temperature, as far as that goes."""
    temperature = min(HOTTEST, round(question.temperature + WARMER, 6))
    return replace(question, temperature=temperature)
