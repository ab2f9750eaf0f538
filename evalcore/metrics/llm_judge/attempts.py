"""Asking one question until there is an answer, or a reason why there is none."""

import logging
import random
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from email.utils import parsedate_to_datetime
from threading import Lock
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from evalcore.metrics.base import FatalError, FeatureError
from evalcore.metrics.llm_judge.questions import Payload
from evalcore.metrics.llm_judge.replies import (
    answer_of,
    error_of,
    excerpt,
    read_reply,
    usage_of,
)
from evalcore.metrics.llm_judge.settings import CostMeter, JudgeSettings

if TYPE_CHECKING:
    from evalcore.metrics.llm_judge.sending import Response, Sender

FIRST_WAIT, LONGEST_WAIT = 1.0, 60.0


class Clock:
    """The clock on the wall."""

    def now(self) -> float:
        """Return seconds since some moment; they never go back."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


class Pace:
    """Spreads requests evenly over time; several threads may wait for their turn."""

    def __init__(self, per_minute: Decimal | None, clock: Clock) -> None:
        self._interval = 60 / float(per_minute) if per_minute else 0.0
        self._clock = clock
        self._next = float("-inf")
        self._lock = Lock()

    def wait(self) -> float:
        """Wait for one's turn; return for how many seconds."""
        with self._lock:
            now = self._clock.now()
            turn = max(now, self._next)
            self._next = turn + self._interval
        if turn > now:
            self._clock.sleep(turn - now)
        return turn - now

    def hold(self, seconds: float) -> None:
        """Let nobody have a turn for so long: the judge has asked for a pause."""
        with self._lock:
            self._next = max(self._next, self._clock.now() + seconds)


def pause(failures: int, demanded: float, chance: random.Random) -> float:
    """Return how many seconds to wait after so many failures in succession.

    It doubles each time, from one second up to a minute, and is shortened by up to a
    half by chance, so that those who failed together do not return together; it is
    never shorter than what the judge demanded.
    """
    longest = min(LONGEST_WAIT, FIRST_WAIT * 2.0 ** (failures - 1))
    return max(demanded, longest * chance.uniform(0.5, 1))


def retry_after(header: str | None) -> float:
    """Return the seconds that a `Retry-After` header demands; 0 if it is no such."""
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
# A question is given up after so many times what one reply may take.
PATIENCE = 5
TOO_MANY, SERVER_FAULT = 429, 500
TIMED_OUT = {504, 524}  # a gateway gave up waiting; the judge may have answered
SUCCESSES, REDIRECTS = range(200, 300), range(300, 400)
QUOTA = b'"insufficient_quota"'  # sent with 429, though waiting does not help
NO_MONEY = "its account has no money left"
# What no other question can change: the key, the account, the address, the judge.
REMEDIES = {
    401: "it refuses the key: check JUDGE_API_KEY",
    402: NO_MONEY,
    404: "it knows no such address or judge: check JUDGE_BASE_URL and JUDGE_NAME",
}


class NoAnswerError(FeatureError):
    """The judge did not answer a question, though it was asked again: later it may."""


class RefusedError(FeatureError):
    """The judge's server refuses a question, for what it shows or says."""


class JudgeError(FatalError):
    """The judge cannot be asked anything: not reached, or the key refused."""


@dataclass(frozen=True)
class _Failure:
    """Why a request failed that may succeed if it is repeated."""

    reason: str
    demanded: float = 0.0
    sent: bool = True


class _Patience:
    """Time limit of one question, from when it is sent first."""

    def __init__(self, seconds: float, clock: Clock) -> None:
        self._seconds = seconds
        self._clock = clock
        self._end: float | None = None

    def begin(self) -> float:
        """Return when it ends; it begins with the first call."""
        if self._end is None:
            self._end = self._clock.now() + self._seconds
        return self._end

    def rest(self, seconds: float) -> None:
        """Add what was spent waiting for a turn."""
        if self._end is not None:
            self._end += seconds

    def ends_within(self, seconds: float) -> bool:
        """Return whether it is over when so many seconds have passed."""
        return self._clock.now() + seconds > self.begin()


class Attempts:
    """Sends questions within the bounds of money, rate and time; several threads may.

    `settings`: which judge is asked.
    """

    def __init__(
        self,
        settings: JudgeSettings,
        meter: CostMeter,
        clock: Clock,
    ) -> None:
        self.who = f"the judge {settings.name} at {settings.place}"
        self._patience = PATIENCE * settings.timeout
        self._meter = meter
        self._clock = clock
        self._chance = random.Random()
        self._pace = Pace(settings.requests_per_minute, clock)

    def ask(self, sender: "Sender", question: Payload) -> str:
        patience = _Patience(self._patience, self._clock)
        failures = 0
        while True:
            reply = self._try(sender, question, patience)
            if isinstance(reply, str):
                return reply
            failures += 1
            wait = pause(failures, reply.demanded, self._chance)
            if failures == MOST_TRIES or patience.ends_within(wait):
                raise self._given_up(reply, failures)
            logger.info("%s: %s; again in %.1f s", self.who, reply.reason, wait)
            if reply.demanded:
                self._pace.hold(reply.demanded)
            self._clock.sleep(wait)

    def _given_up(self, failure: _Failure, times: int) -> Exception:
        """Return the error that ends it: fatal where it would befall all others too."""
        reason = f"{self.who}: {failure.reason}"
        if failure.demanded > self._patience:
            return JudgeError(
                f"{reason}, and wants to be left alone for {failure.demanded:.0f} "
                "seconds; start again then: what was answered is remembered"
            )
        reason += f" (tried {times} times)"
        return NoAnswerError(reason) if failure.sent else JudgeError(reason)

    def _try(
        self, sender: "Sender", question: Payload, patience: _Patience
    ) -> str | _Failure:
        """Send once; what may have been billed is counted, whatever comes back."""
        from evalcore.metrics.llm_judge.sending import NoResponseError

        reserved = self._meter.reserve(question.tokens_in, question.tokens_out)
        billed: Decimal | None = None
        try:
            patience.rest(self._pace.wait())
            try:
                response = sender.post(question.body, patience.begin())
            except NoResponseError as error:
                billed = reserved if error.sent else None
                return _Failure(str(error), sent=error.sent)
            if response.status not in SUCCESSES:
                billed = reserved if response.status in TIMED_OUT else None
                return self._failure(response)
            billed = reserved
            reply = read_reply(response.body, response.kind)
            billed = self._meter.cost(*usage_of(reply, question))
            return answer_of(reply)
        finally:
            self._meter.settle(reserved, billed)

    def _failure(self, response: "Response") -> _Failure:
        status = response.status
        said = _reported(response)
        reason = f"status {status}" + (f", {said}" if said else "")
        if status in REDIRECTS:
            to = f"it redirects to {_host(response.location)}: check JUDGE_BASE_URL"
            raise JudgeError(f"{self.who}: {to}")
        remedy = NO_MONEY if QUOTA in response.body else REMEDIES.get(status)
        if remedy:
            raise JudgeError(f"{self.who}: {remedy} ({reason})")
        if status == TOO_MANY or status >= SERVER_FAULT:
            return _Failure(reason, retry_after(response.retry_after))
        raise RefusedError(f"{self.who} refuses the question ({reason})")


def _reported(response: "Response") -> str:
    """Return what the server says of an error; empty if it says nothing readable."""
    try:
        return error_of(read_reply(response.body))
    except FeatureError:
        return excerpt(response.body.decode("utf-8", "replace")) * bool(response.body)


def _host(location: str) -> str:
    try:
        return urlsplit(location).hostname or "another address"
    except ValueError:
        return "another address"
