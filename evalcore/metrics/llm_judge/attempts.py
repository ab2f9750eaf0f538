"""Requests for one question, repeated until it has an answer or a final error."""

import json
import logging
import random
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from email.utils import parsedate_to_datetime
from threading import Lock
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from evalcore.metrics.base import FatalError, FeatureError
from evalcore.metrics.llm_judge.costs import CostMeter
from evalcore.metrics.llm_judge.replies import (
    answer_of,
    excerpt,
    fingerprint_of,
    read_reply,
    usage_of,
    version_of,
)
from evalcore.metrics.llm_judge.requests import Dialect, Payload
from evalcore.metrics.llm_judge.settings import BudgetExceededError, JudgeSettings

if TYPE_CHECKING:
    from openai import APIStatusError

    from evalcore.metrics.llm_judge.sending import Sender

FIRST_WAIT, LONGEST_WAIT = 1.0, 60.0


class Clock:
    """The system clock."""

    def now(self) -> float:
        """Return monotonic seconds."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


class Pace:
    """Rate limiter that spreads requests evenly; several threads may wait."""

    def __init__(self, per_minute: Decimal | None, clock: Clock) -> None:
        self._interval = 60 / float(per_minute) if per_minute else 0.0
        self._clock = clock
        self._next = float("-inf")
        self._lock = Lock()

    def wait(self) -> float:
        """Wait for a turn; return the seconds waited."""
        with self._lock:
            now = self._clock.now()
            turn = max(now, self._next)
            self._next = turn + self._interval
        if turn > now:
            self._clock.sleep(turn - now)
        return turn - now

    def hold(self, seconds: float) -> None:
        """Block all turns for a time that the judge's server demanded."""
        with self._lock:
            self._next = max(self._next, self._clock.now() + seconds)


def pause(failures: int, demanded: float, chance: random.Random) -> float:
    """Return the seconds to wait after a number of failures in succession.

    They double each time, from one second up to a minute, minus a random part of up to
    a half so that requests do not return together. The pause is never shorter than the
    server's demand.
    """
    longest = min(LONGEST_WAIT, FIRST_WAIT * 2.0 ** (failures - 1))
    return max(demanded, longest * chance.uniform(0.5, 1))


def retry_after(header: str | None) -> float:
    """Return the seconds that a `Retry-After` header demands; 0 if it is invalid."""
    text = (header or "").strip()
    if text.isascii() and text.isdigit():
        return float(text[:9])
    try:
        moment = parsedate_to_datetime(text)
    except ValueError:
        return 0.0
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, (moment - datetime.now(UTC)).total_seconds())


logger = logging.getLogger(__name__)

MOST_TRIES = 6
# A question is given up after this multiple of the time limit for one reply.
PATIENCE = 5
TOO_MANY, SERVER_FAULT = 429, 500
TIMED_OUT = {504, 524}  # a gateway timed out, but the judge may have answered
REDIRECTS = range(300, 400)
QUOTA = "insufficient_quota"  # sent with 429, but waiting does not help
NO_MONEY = "its account has no money left"
# Errors that every question would meet: the key, the account, the address, the judge.
REMEDIES = {
    401: "it refuses the key: check JUDGE_API_KEY",
    402: NO_MONEY,
    404: "the address or the judge is unknown: check JUDGE_BASE_URL and JUDGE_NAME",
}


class NoAnswerError(FeatureError):
    """The judge did not answer a question after retries; later it may."""

    kind = "missing"  # completes "the answers were ..."
    text = ""


class RefusedError(FeatureError):
    """The judge's server refuses a question because of its content."""


class JudgeError(FatalError):
    """The judge cannot be asked at all: unreachable, or the key is refused."""


@dataclass(frozen=True)
class _Failure:
    """A failed request that may succeed if repeated."""

    reason: str
    demanded: float = 0.0
    sent: bool = True


class _OtherwiseError(Exception):
    """The server wants the request otherwise; it can be sent again at once."""


class _Patience:
    """Time limit of one question, counted from its first request."""

    def __init__(self, seconds: float, clock: Clock) -> None:
        self._seconds = seconds
        self._clock = clock
        self._end: float | None = None

    def begin(self) -> float:
        """Return when the limit ends; the first call starts it."""
        if self._end is None:
            self._end = self._clock.now() + self._seconds
        return self._end

    def rest(self, seconds: float) -> None:
        """Extend the limit by time spent waiting for a turn."""
        if self._end is not None:
            self._end += seconds

    def ends_within(self, seconds: float) -> bool:
        """Return whether the limit ends within so many seconds."""
        return self._clock.now() + seconds > self.begin()


class Attempts:
    """Sends questions within the limits of budget, rate and time; thread-safe."""

    def __init__(
        self,
        settings: JudgeSettings,
        meter: CostMeter,
        clock: Clock,
        dialect: Dialect,
    ) -> None:
        self.who = f"the judge {settings.name} at {settings.place}"
        self._patience = PATIENCE * settings.timeout
        self._meter = meter
        self._clock = clock
        self._dialect = dialect
        self._chance = random.Random()
        self._pace = Pace(settings.requests_per_minute, clock)
        # Of all servers that answered.
        self.fingerprints: set[str] = set()

    def ask(self, sender: "Sender", question: Payload) -> tuple[str, str]:
        """Return the text of the answer, and the version that answered."""
        patience = _Patience(self._patience, self._clock)
        failures, reason = 0, ""
        while True:
            try:
                reply = self._try(sender, question, patience)
            except _OtherwiseError:
                continue
            except BudgetExceededError as error:
                if not failures:
                    raise
                times = "once" if failures == 1 else f"{failures} times"
                before = f"{self.who}: {reason} (tried {times})"
                raise BudgetExceededError(f"{before}; {error}") from error
            if not isinstance(reply, _Failure):
                return reply
            failures, reason = failures + 1, reply.reason
            wait = pause(failures, reply.demanded, self._chance)
            if failures == MOST_TRIES or patience.ends_within(wait):
                raise self._given_up(reply, failures)
            logger.info("%s: %s; retrying in %.1f s", self.who, reply.reason, wait)
            if reply.demanded:
                self._pace.hold(reply.demanded)
            self._clock.sleep(wait)

    def _given_up(self, failure: _Failure, times: int) -> Exception:
        """Return the final error: fatal if all other questions would meet it too."""
        reason = f"{self.who}: {failure.reason}"
        if failure.demanded > self._patience:
            return JudgeError(
                f"{reason}, and asks for a pause of {failure.demanded:.0f} seconds; "
                "start again after that: answers are stored"
            )
        reason += f" (tried {times} times)"
        return NoAnswerError(reason) if failure.sent else JudgeError(reason)

    def _try(
        self, sender: "Sender", question: Payload, patience: _Patience
    ) -> tuple[str, str] | _Failure:
        """Send once; count whatever may have been billed, in any case."""
        from openai import APIStatusError

        from evalcore.metrics.llm_judge.sending import NoResponseError

        reserved = self._meter.reserve(question.tokens_in, question.tokens_out)
        billed: Decimal | None = None
        body = self._dialect.adapt(question.body)
        try:
            patience.rest(self._pace.wait())
            patience.begin()
            try:
                response = sender.post(body)
            except NoResponseError as error:
                billed = reserved if error.sent else None
                return _Failure(str(error), sent=error.sent)
            except APIStatusError as error:
                billed = reserved if error.status_code in TIMED_OUT else None
                return self._failure(error, body)
            billed = reserved
            kind = response.headers.get("content-type", "")
            reply = read_reply(response.content, kind)
            billed = self._meter.cost(
                *usage_of(reply, question.tokens_in, question.tokens_out)
            )
            said = (version_of(reply), self._dialect.note)
            text = answer_of(reply, question.tokens_out)
            self.fingerprints |= {fingerprint_of(reply)} - {""}
            return text, "; ".join(filter(None, said))
        finally:
            self._meter.settle(reserved, billed)

    def _failure(self, error: "APIStatusError", body: Mapping[str, Any]) -> _Failure:
        status, headers = error.status_code, error.response.headers
        said = _message(error)
        reason = f"status {status}" + (f", {excerpt(said)}" if said else "")
        if status in REDIRECTS:
            host = _host(headers.get("location", ""))
            to = f"it redirects to {host}: check JUDGE_BASE_URL"
            raise JudgeError(f"{self.who}: {to}")
        remedy = NO_MONEY if error.code == QUOTA else REMEDIES.get(status)
        if remedy:
            raise JudgeError(f"{self.who}: {remedy} ({reason})")
        if status == TOO_MANY or status >= SERVER_FAULT:
            return _Failure(reason, retry_after(headers.get("retry-after")))
        if self._dialect.learn(body, f"{error.param or ''} {said}"):
            raise _OtherwiseError
        raise RefusedError(f"{self.who} refuses the question ({reason})")


def _message(error: "APIStatusError") -> str:
    """Return the server's own message."""
    said = error.body
    if isinstance(said, dict):
        said = said.get("message") or json.dumps(said)
    return str(said or "")


def _host(location: str) -> str:
    try:
        return urlsplit(location).hostname or "another address"
    except ValueError:
        return "another address"
