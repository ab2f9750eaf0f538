"""Judge over HTTP: any server with OpenAI's `/v1/chat/completions`.

The caller that keeps account of the money chooses the judge: `with
asking(Judge(settings, meter))`. Answers are features, stored by the content of the
question. If a budget is spent or a key is refused within a batch, existing answers are
returned and the other questions marked `NotAskedError`; a batch without any answer
raises at once.
"""

import os
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np

from evalcore.metrics.base import (
    FatalError,
    Feature,
    FeatureError,
    MissingRequirement,
    MissingRequirements,
)
from evalcore.metrics.llm_judge.attempts import (
    Attempts,
    Clock,
    JudgeError,
    RefusedError,
)
from evalcore.metrics.llm_judge.costs import CostMeter
from evalcore.metrics.llm_judge.early_stop import BadAnswer, FirstAnswers
from evalcore.metrics.llm_judge.questions import PACKING, JudgeQuestion
from evalcore.metrics.llm_judge.replies import UnusableReplyError
from evalcore.metrics.llm_judge.requests import Dialect, Payload, payload
from evalcore.metrics.llm_judge.settings import (
    JudgeSettings,
    JudgeSettingsError,
    read_settings,
)
from evalcore.metrics.weights import missing_requirements

if TYPE_CHECKING:
    from evalcore.metrics.llm_judge.sending import Sender

# Batches are larger than the concurrency, so that few requests wait for the slowest.
ROUNDS_A_BATCH = 4
# Changes with the form of stored answers.
FORM = "text and version"
UNNAMED = "judge"


class NotAskedError(FeatureError):
    """A question was not asked, since the error `fatal` came first."""

    def __init__(self, fatal: FatalError) -> None:
        super().__init__(f"not asked: {fatal}")
        self.fatal = fatal


class Judge:
    """A judge as an encoder: from questions to answers, each a text and a version.

    `dialect`: what is known of its server, perhaps shared with other judges.
    """

    def __init__(
        self,
        settings: JudgeSettings,
        meter: CostMeter | None = None,
        *,
        clock: Clock | None = None,
        dialect: Dialect | None = None,
    ) -> None:
        self.settings = settings
        self.meter = meter or CostMeter(settings)
        self._clock = clock or Clock()
        dialect = dialect or Dialect(settings)
        self._attempts = Attempts(settings, self.meter, self._clock, dialect)
        self._first_answers = FirstAnswers(self._attempts.who, settings.stop_after)
        self._has_answered = False

    @property
    def id(self) -> str:
        decisive = [f"{n}={value}" for n, value in self.settings.identity.items()]
        return "; ".join([f"judge {self.settings.name}", *decisive, FORM, PACKING])

    @property
    def fingerprints(self) -> list[str]:
        """Return the fingerprints of the servers that have answered."""
        return sorted(self._attempts.fingerprints)

    @staticmethod
    def text_of(feature: Feature) -> str:
        """Return the text of an answer."""
        return str(feature[0])

    @staticmethod
    def version_of(feature: Feature) -> str:
        """Return the name that answered, as the server says; empty if it does not."""
        return str(feature[1])

    def note_usable(self, text: str) -> None:
        """Note that an answer with this text was parsed."""
        self._first_answers.note_usable(text)

    def note_unusable(self, reason: str, text: str) -> None:
        """Note that an answer with this text could not be parsed, and why.

        Raises UselessJudgeError, a FatalError, if all first answers are unusable. The
        judge itself counts those that are UnusableReplyErrors.
        """
        error = UnusableReplyError(reason, text=text)
        self._first_answers.note_unusable(error, parsed=True)

    @property
    def batch(self) -> int:
        return ROUNDS_A_BATCH * self.settings.concurrency

    def prepare(self, item: JudgeQuestion) -> Payload:
        """Decode the question's pictures and pack it; called in several threads."""
        return payload(item, self.settings)

    def encode(self, prepared: Sequence[Payload]) -> list[Feature | FeatureError]:
        replies = dict(self.stream(prepared))
        return [replies[place] for place in range(len(prepared))]

    def stream(
        self, prepared: Sequence[Payload]
    ) -> Generator[tuple[int, Feature | FeatureError]]:
        """Yield each answer with its position as it arrives; otherwise as `encode`."""
        from evalcore.metrics.llm_judge.sending import Sender

        halt, answered = _Halt(), False
        refused: RefusedError | None = None
        costs = [self.meter.cost(one.tokens_in, one.tokens_out) for one in prepared]
        try:
            with (
                self.meter.setting_aside(costs),
                Sender(self.settings) as sender,
                ThreadPoolExecutor(self.settings.concurrency) as pool,
            ):
                tasks = {
                    pool.submit(self._ask, sender, one, halt): place
                    for place, one in enumerate(prepared)
                }
                try:
                    for task in as_completed(tasks):
                        reply = task.result()
                        answered |= not isinstance(reply, FeatureError)
                        if isinstance(reply, RefusedError):
                            refused = reply
                        self._note(reply)
                        yield tasks[task], reply
                        self.meter.report()
                except BaseException:
                    halt.at(JudgeError(f"{self._attempts.who}: interrupted"))
                    raise
        finally:
            self.meter.report()
        self._has_answered |= answered
        if halt.why and not answered:
            raise halt.why
        if refused and not self._has_answered:
            # Not the question's fault, or all questions would fail for now.
            raise JudgeError(f"{refused}, and has answered none so far")

    def _note(self, reply: Feature | FeatureError) -> None:
        """Count a new answer among the first ones."""
        if isinstance(reply, BadAnswer):
            self._first_answers.note_unusable(reply, parsed=False)
        elif not isinstance(reply, FeatureError):
            self._first_answers.arrived(self.text_of(reply))

    def _ask(
        self, sender: "Sender", question: Payload, halt: "_Halt"
    ) -> Feature | FeatureError:
        """Ask one question; a fatal error stops all that have not begun."""
        if halt.why:
            return NotAskedError(halt.why)
        try:
            return np.array(self._attempts.ask(sender, question))  # text, version
        except FeatureError as error:
            return error
        except FatalError as error:
            return NotAskedError(halt.at(error))


class _Halt:
    """Stops the remaining questions of a batch; the first reason stays."""

    def __init__(self) -> None:
        self.why: FatalError | None = None
        self._lock = Lock()

    def at(self, why: FatalError) -> FatalError:
        """Stop; return the reason."""
        with self._lock:
            self.why = self.why or why
            return self.why


_chosen: ContextVar[Judge | None] = ContextVar("chosen judge", default=None)


@contextmanager
def asking(judge: Judge) -> Iterator[Judge]:
    """Use this judge, with its meter, for calls in this thread inside the block."""
    token = _chosen.set(judge)
    try:
        yield judge
    finally:
        _chosen.reset(token)


def the_judge() -> Judge:
    """Return the judge that `asking` chose, or else the environment's."""
    return _chosen.get() or _judge(read_settings())


@lru_cache(maxsize=8)
def _judge(settings: JudgeSettings) -> Judge:
    """Return one judge for equal settings, so that it keeps counting costs."""
    return Judge(settings)


def judge_name() -> str:
    """Return the judge's name, as the backend of a metric."""
    chosen = _chosen.get()
    if chosen is not None:
        return chosen.settings.name
    return os.environ.get("JUDGE_NAME", "").strip() or UNNAMED


def missing_judge() -> MissingRequirements:
    """Return the settings that are missing before a judge can be asked."""
    if _chosen.get() is None:
        try:
            read_settings()
        except JudgeSettingsError as error:
            return MissingRequirements([MissingRequirement("a judge", str(error))])
    return missing_requirements(("openai",))
