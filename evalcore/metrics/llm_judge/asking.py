"""Questions that are repeated until a metric can use the judge's answer."""

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, Literal, TypeVar

from evalcore.metrics.base import Ask, FeatureError
from evalcore.metrics.llm_judge.attempts import NoAnswerError
from evalcore.metrics.llm_judge.client import Judge, NotAskedError, the_judge
from evalcore.metrics.llm_judge.questions import JudgeQuestion
from evalcore.metrics.llm_judge.replies import (
    UnusableReplyError,
    excerpt,
    without_thoughts,
)

T = TypeVar("T")
HOTTEST = 2.0  # The rest of the interface does not depend on it.
WARMER = 0.1


@dataclass(frozen=True)
class Refusal:
    """No usable answer; `reasons` has one entry per attempt."""

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

    value: T  # the parsed value
    text: str  # the original reply
    attempt: int  # number of the successful attempt, from 1


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
    """Ask all questions together, and repeat those whose answers cannot be parsed.

    Used inside `score`: `answers = yield from ask_judge(questions, parse)`. `parse`
    returns a value or raises ValueError with the reason; text before `</think>` is
    removed first. Each of the `attempts` raises the temperature by `WARMER`, since the
    stored answer would be returned at the same temperature. `unanswered`: whether a
    missing reply fails the metric, so that another run asks again, or counts as a
    refusal.
    """
    if attempts < 1:
        raise ValueError(f"attempts={attempts}: expected at least 1")
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
                continue
            warmer = min(HOTTEST, round(one.question.temperature + WARMER, 6))
            if warmer == one.question.temperature:
                outcomes[one.place] = Refusal(tuple(one.reasons))
            else:
                question = replace(one.question, temperature=warmer)
                again.append(replace(one, question=question))
        waiting = again
    for one in waiting:
        outcomes[one.place] = Refusal(tuple(one.reasons))
    return [outcomes[i] for i in range(len(questions))]


def _outcome(
    one: _Open[T], reply: Any, parse: Callable[[str], T], attempt: int
) -> JudgeAnswer[T] | Refusal | None:
    """Return the result of an attempt; None if another attempt is allowed."""
    if isinstance(reply, NotAskedError):
        raise reply.fatal
    if isinstance(reply, FeatureError):
        one.reasons.append(str(reply))
        if isinstance(reply, UnusableReplyError):
            return None
        return Refusal(tuple(one.reasons))
    text = Judge.text_of(reply)
    said = without_thoughts(text)
    try:
        value = parse(said)
    except ValueError as error:
        one.reasons.append(f"{error}: {excerpt(said)}")
        the_judge().note_unusable(str(error), text)
        return None
    the_judge().note_usable(text)
    return JudgeAnswer(value, text, attempt)
