"""Early stop of a run whose first answers are all unusable."""

from collections import Counter
from threading import Lock

from evalcore.metrics.llm_judge.attempts import JudgeError
from evalcore.metrics.llm_judge.replies import (
    CutOffError,
    DeclinedError,
    EmptyReplyError,
    MalformedReplyError,
    UnusableReplyError,
    WithheldError,
    excerpt,
)

CONTENT = "try another judge, or look at the pictures and prompts"
REMEDIES: dict[type[UnusableReplyError], str] = {
    CutOffError: "set JUDGE_EXTRA_TOKENS=2048, or more if it reasons",
    EmptyReplyError: "set JUDGE_EXTRA_TOKENS=2048 if it reasons, or try another judge",
    DeclinedError: CONTENT,
    WithheldError: CONTENT,
    MalformedReplyError: "check JUDGE_BASE_URL",
    UnusableReplyError: "try a larger judge; one full request: score --dry-run",
}


class UselessJudgeError(JudgeError):
    """The first answers of a run were all unusable, so it asks nothing more."""


class FirstAnswers:
    """Watch over the first answers of a run; thread-safe.

    `most`: how many unusable answers in succession, from the first one, end the run; 0
    for any number.
    """

    def __init__(self, who: str, most: int) -> None:
        self._who = who
        self._most = most
        self._watching = most > 0
        self._kinds: Counter[type[UnusableReplyError]] = Counter()
        self._lock = Lock()

    def note_usable(self) -> None:
        """Note a usable answer, which ends the watch."""
        self._watching = False

    def note_unusable(self, error: UnusableReplyError) -> None:
        """Note an unusable answer; raise UselessJudgeError if it is one too many."""
        with self._lock:
            self._kinds[type(error)] += 1
            if self._watching and self._kinds.total() >= self._most:
                raise UselessJudgeError(self._reason(error))

    def _reason(self, last: UnusableReplyError) -> str:
        count = self._kinds.total()
        if len(self._kinds) == 1:
            kinds = f"all {count} first answers were {last.kind}"
        else:
            each = ", ".join(f"{n} {kind.kind}" for kind, n in self._kinds.items())
            kinds = f"none of the {count} first answers is usable ({each})"
        (most, _n), *_others = self._kinds.most_common()
        shown = f"; the last begins {excerpt(last.text)}" if last.text else ""
        return (
            f"{self._who}: {kinds}: {last}{shown}. To continue, {REMEDIES[most]}, "
            "and start again"
        )
