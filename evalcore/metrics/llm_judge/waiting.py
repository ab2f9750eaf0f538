"""Waiting: between requests, and before a failed one is tried again."""

import random
import time
from datetime import UTC, datetime
from decimal import Decimal
from email.utils import parsedate_to_datetime
from threading import Lock

FIRST_WAIT, LONGEST_WAIT = 1.0, 60.0


class Clock:
    """The clock on the wall."""

    def now(self) -> float:
        """Return seconds since some moment; they never go back."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


class Pace:
    """Spreads requests evenly over time; several threads may wait for their turn.

    `per_minute`: how many requests at most; None for no limit.
    """

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

    >>> pause(1, 7.0, random.Random())
    7.0
    """
    longest = min(LONGEST_WAIT, FIRST_WAIT * 2.0 ** (failures - 1))
    return max(demanded, longest * chance.uniform(0.5, 1))


def retry_after(header: str | None) -> float:
    """Return the seconds that a `Retry-After` header demands; 0 if it is no such.

    >>> retry_after("12"), retry_after(None), retry_after("soon")
    (12.0, 0.0, 0.0)
    """
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
