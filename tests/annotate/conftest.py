"""A clock that tests set, and intervals that cost little."""

from datetime import timedelta

import pytest
from django.utils import timezone


class Clock:
    """A clock behind `timezone.now()`: the real time plus an offset."""

    def __init__(self):
        self.real, self.moved = timezone.now, timedelta()

    def now(self):
        return self.real() + self.moved

    def stop(self):
        """Let no time pass but what it is moved by."""
        stopped = self.real()
        self.real = lambda: stopped

    def move(self, minutes):
        self.moved += timedelta(minutes=minutes)


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(timezone, "now", clock.now)
    return clock


@pytest.fixture(scope="session", autouse=True)
def few_resamples():
    """Resample for the dashboard's intervals as often as tests need."""
    from annotate.coverage import snapshots  # once Django is set up

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(snapshots, "RESAMPLES", 40)
        yield
