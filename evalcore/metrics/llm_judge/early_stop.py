"""Early stop of a run whose first answers are all unusable."""

from collections import Counter
from threading import Lock

from evalcore.metrics.base import FatalError
from evalcore.metrics.llm_judge.attempts import NoAnswerError
from evalcore.metrics.llm_judge.replies import (
    CUT_OFF,
    DECLINED,
    EMPTY,
    MALFORMED,
    UNREADABLE,
    WITHHELD,
    UnusableReplyError,
    excerpt,
)

MORE_TOKENS = "set JUDGE_EXTRA_TOKENS=2048, or more for a judge that reasons"
OTHER_CONTENT = "try another judge, or look at the pictures and prompts"
# Answers that arrived and are unusable, and those that did not arrive.
BadAnswer = UnusableReplyError | NoAnswerError
REMEDIES = {
    NoAnswerError.kind: "wait until the judge works",
    CUT_OFF: MORE_TOKENS,
    EMPTY: MORE_TOKENS,
    DECLINED: OTHER_CONTENT,
    WITHHELD: OTHER_CONTENT,
    MALFORMED: "check JUDGE_BASE_URL",
    UNREADABLE: "look at a request with score --dry-run, or try another judge",
}


class UselessJudgeError(FatalError):
    """The first answers of a run were all unusable, so it asks nothing more."""


class FirstAnswers:
    """Watch over the first answers of a run, in the order in which they arrive.

    `most`: how many of them must all be unusable to end the run; 0 for no end.
    """

    def __init__(self, who: str, most: int) -> None:
        self._who = who
        self._most = most
        # Texts that wait for their parser.
        self._waiting: Counter[str] = Counter()
        self._kinds: Counter[str] = Counter()
        self._is_over = not most
        self._lock = Lock()

    def arrived(self, text: str) -> None:
        """Note the text of a new answer, which is parsed later."""
        with self._lock:
            if self._kinds.total() + self._waiting.total() < self._most:
                self._waiting[text] += 1

    def note_usable(self, text: str) -> None:
        """Note an answer that was parsed; a new one ends the watch."""
        with self._lock:
            self._is_over |= self._waiting[text] > 0

    def note_unusable(self, error: BadAnswer, *, parsed: bool) -> None:
        """Note an unusable answer; raise UselessJudgeError if all first ones are.

        `parsed`: whether it had arrived before, and its parser refused it.
        """
        with self._lock:
            if parsed and not self._waiting[error.text]:
                return  # it is not one of the first
            self._waiting[error.text] -= parsed
            self._kinds[error.kind] += 1
            if self._kinds.total() >= self._most and not self._is_over:
                raise UselessJudgeError(self._reason(error))

    def _reason(self, last: BadAnswer) -> str:
        count = self._kinds.total()
        (most, _number), *others = self._kinds.most_common()
        what = f"all {count} first answers were {most}"
        if others:
            each = [f"{n} {kind}" for kind, n in self._kinds.most_common()]
            what = f"none of the {count} first answers is usable ({', '.join(each)})"
        shown = f" It begins {excerpt(last.text)}." if last.text else ""
        return (
            f"{self._who}: {what}. The last: "
            f"{str(last).removeprefix(f'{self._who}: ')}.{shown} To continue, "
            f"{REMEDIES[most]}, and start again: usable answers are stored"
        )
