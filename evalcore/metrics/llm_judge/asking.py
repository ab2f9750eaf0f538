"""Questions that are repeated until a metric can use the judge's answer."""

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, Literal, TypeVar, overload

from evalcore.metrics.base import Ask, Feature, FeatureError, MissingRequirements
from evalcore.metrics.llm_judge.attempts import RefusedError
from evalcore.metrics.llm_judge.checkouts import PromptFile, hashes, missing_prompts
from evalcore.metrics.llm_judge.client import (
    Judge,
    NotAskedError,
    missing_judge,
    the_judge,
)
from evalcore.metrics.llm_judge.questions import JudgeQuestion, prompt_hashes
from evalcore.metrics.llm_judge.replies import (
    CUT_OFF,
    UnusableReplyError,
    excerpt,
    without_thoughts,
)

T = TypeVar("T")
HOTTEST = 2.0  # The rest of the interface does not depend on it.
WARMER = 0.1
# Attempts at a question whose reply has no answer, however many a metric allows.
WITHOUT_ANSWER = 3
# A cut-off answer is asked for with twice the tokens, at most so many times.
DOUBLINGS = 3
# Metrics number their trials below this.
TRIALS_A_REPEAT = 1000


class NoUsableAnswerError(FeatureError):
    """A judge's answers cannot be used; the next run asks again."""


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
    cut: int = 0  # how many of its answers were cut off

    def again(self, reply: object, attempts: int) -> bool:
        """Change the question for another attempt; return whether one is allowed."""
        if isinstance(reply, UnusableReplyError) and reply.kind == CUT_OFF:
            self.cut += 1
            more = 2 * self.question.max_tokens
            self.question = replace(self.question, max_tokens=more)
            return self.cut <= DOUBLINGS
        if isinstance(reply, FeatureError):
            if not isinstance(reply, UnusableReplyError):
                return False
            attempts = min(attempts, WITHOUT_ANSWER)
        warmer = min(HOTTEST, round(self.question.temperature + WARMER, 6))
        is_new = warmer != self.question.temperature
        self.question = replace(self.question, temperature=warmer)
        return is_new and len(self.reasons) - self.cut < attempts


class AskingMetric:
    """Base of metrics that ask a judge: the texts that they send and what they lack."""

    # Paper and names of own instructions, sent unless there are files of a checkout.
    own: tuple[str, ...]
    files: Sequence[PromptFile] = ()

    @property
    def prompt_files(self) -> Mapping[str, str]:
        """Return the SHA-256 of each text that is sent, by its file."""
        return hashes(self.files) or prompt_hashes(*self.own)

    def missing(self) -> MissingRequirements:
        """Return the missing settings of the judge, and the missing prompts."""
        return MissingRequirements([*missing_judge(), *missing_prompts(self.files)])


@overload
def ask_judge(
    questions: Sequence[JudgeQuestion],
    parse: Callable[[str], T],
    *,
    attempts: int = ...,
    unanswered: Literal["fail"] = ...,
) -> Generator[Ask, list[Any], Sequence[JudgeAnswer[T]]]: ...


@overload
def ask_judge(
    questions: Sequence[JudgeQuestion],
    parse: Callable[[str], T],
    *,
    attempts: int = ...,
    unanswered: Literal["refuse", "collect"],
) -> Generator[Ask, list[Any], Sequence[JudgeAnswer[T] | Refusal]]: ...


def ask_judge(
    questions: Sequence[JudgeQuestion],
    parse: Callable[[str], T],
    *,
    attempts: int = 3,
    unanswered: Literal["fail", "refuse", "collect"] = "fail",
) -> Generator[Ask, list[Any], Sequence[JudgeAnswer[T] | Refusal]]:
    """Ask all questions together, and repeat those without a usable answer.

    Used inside `score`: `answers = yield from ask_judge(questions, parse)`. `parse`
    returns a value or raises ValueError with the reason; text before `</think>` is
    removed first. Only answers that it can parse are stored.

    An answer that cannot be parsed uses one of the `attempts`; each raises the
    temperature by `WARMER`. So does a reply that is empty, refuses or is not JSON, at
    most `WITHOUT_ANSWER` times. A cut-off answer uses none: the question is repeated
    with twice the tokens, at most `DOUBLINGS` times.

    Parameters
    ----------
    questions
        The questions, each asked by itself.
    parse
        Reader of an answer.
    attempts
        The most replies that are read for a question, without cut-off ones.
    unanswered
        What happens to a question without a usable answer: `fail` fails the metric, so
        that the next run asks again. `refuse` gives a Refusal in its place, but fails
        if the judge sent no reply at all. `collect` gives a Refusal in either case.

    Raises
    ------
    NoUsableAnswerError
        If `unanswered` is `fail` and some question has no usable answer.
    FeatureError
        If the judge sent no reply, or a picture is unreadable, unless `unanswered` is
        `collect`.
    """
    if attempts < 1:
        raise ValueError(f"attempts={attempts}: expected at least 1")
    judge = the_judge()
    outcomes: dict[int, JudgeAnswer[T] | Refusal] = {}
    waiting = [
        _Open[T](_repeated(question, judge.settings.repeat), i, [])
        for i, question in enumerate(questions)
    ]

    def keep(answer: Feature) -> bool:
        try:
            parse(without_thoughts(Judge.text_of(answer)))
        except ValueError:
            return False
        return True

    while waiting:
        asked = [one.question for one in waiting]
        replies = yield Ask(judge, asked, tolerant=True, keep=keep)
        again = []
        for one, reply in zip(waiting, replies, strict=True):
            if unanswered != "collect" and _is_elsewhere(reply):
                raise reply
            answer = _answer(one, reply, parse)
            if answer is not None:
                outcomes[one.place] = answer
            elif one.again(reply, attempts):
                again.append(one)
            else:
                outcomes[one.place] = Refusal(tuple(one.reasons))
        waiting = again
    refused = [o for o in outcomes.values() if isinstance(o, Refusal)]
    if refused and unanswered == "fail":
        raise NoUsableAnswerError(_failure(refused, len(questions)))
    return [outcomes[i] for i in range(len(questions))]


def _repeated(question: JudgeQuestion, repeat: int) -> JudgeQuestion:
    """Return a question of another repetition, which no stored answer belongs to."""
    return replace(question, trial=question.trial + TRIALS_A_REPEAT * repeat)


def _is_elsewhere(reply: object) -> bool:
    """Return whether an error is that of a picture or the network, not of an answer."""
    return isinstance(reply, FeatureError) and not isinstance(
        reply, (UnusableReplyError, RefusedError, NotAskedError)
    )


def _answer(
    one: _Open[T], reply: Any, parse: Callable[[str], T]
) -> JudgeAnswer[T] | None:
    """Return a usable answer; None after noting why it is none."""
    if isinstance(reply, NotAskedError):
        raise reply.fatal
    if isinstance(reply, FeatureError):
        one.reasons.append(str(reply))
        return None
    text = Judge.text_of(reply)
    said = without_thoughts(text)
    try:
        value = parse(said)
    except ValueError as error:
        one.reasons.append(f"{error}: {excerpt(said)}")
        the_judge().note_unusable(str(error), text)
        return None
    the_judge().note_usable(text)
    return JudgeAnswer(value, text, len(one.reasons) + 1)


def _failure(refused: Sequence[Refusal], questions: int) -> str:
    if questions == 1:
        return str(refused[0])
    return f"{len(refused)} of {questions} questions: {refused[0]}"
