"""Rate limit, pauses, and Retry-After."""

import random
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from email.utils import format_datetime
from threading import Thread

from evalcore.metrics.llm_judge.attempts import Pace, pause, retry_after
from tests.evalcore.metrics.llm_judge.serving import JumpingClock


class Standing(JumpingClock):
    """A clock that only notes for how long somebody wants to sleep."""

    def sleep(self, seconds):
        self.slept.append(seconds)


def test_requests_are_spread_over_the_minute():
    clock = Standing()
    pace = Pace(Decimal(30), clock)
    for _ in range(4):
        pace.wait()
    assert clock.slept == [2.0, 4.0, 6.0]  # 60 s / 30, the first at once


def test_time_that_has_passed_counts():
    clock = Standing()
    pace = Pace(Decimal(30), clock)
    pace.wait()
    clock.time += 1.5
    pace.wait()
    assert clock.slept == [0.5]
    clock.time += 100  # what was not used is not saved up
    pace.wait()
    pace.wait()
    assert clock.slept == [0.5, 2.0]


def test_turns_are_given_once_though_many_wait():
    clock = Standing()
    pace = Pace(Decimal(60), clock)
    threads = [Thread(target=pace.wait) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(clock.slept) == [float(i) for i in range(1, 20)]


def test_a_pause_that_the_judge_demands_is_for_all():
    clock = Standing()
    pace = Pace(None, clock)
    pace.hold(7)
    pace.hold(3)
    pace.wait()
    assert clock.slept == [7.0]


def test_pauses_double_and_are_bounded():
    chance = random.Random(1)
    for failures, longest in [(1, 1), (2, 2), (3, 4), (7, 60), (50, 60)]:
        waits = [pause(failures, 0, chance) for _ in range(200)]
        assert longest / 2 <= min(waits) <= max(waits) <= longest
        assert len(set(waits)) > 100  # they differ


def test_a_demanded_pause_is_never_shortened():
    chance = random.Random(1)
    assert pause(1, 30, chance) == 30
    assert pause(6, 5, chance) >= 16  # the own pause is longer


def test_retry_after_is_seconds_or_a_date():
    assert retry_after("3") == 3
    soon = datetime.now(UTC) + timedelta(seconds=90)
    assert 85 < retry_after(format_datetime(soon, usegmt=True)) <= 90
    assert retry_after("Wed, 21 Oct 2015 07:28:00 GMT") == 0
    naive = format_datetime(soon.replace(tzinfo=None))  # written with -0000
    assert 85 < retry_after(naive) <= 90
