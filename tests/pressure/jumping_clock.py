"""The settings, on a machine whose clock is set: by the seconds in DATA_DIR/clock."""

import time
from contextlib import suppress
from datetime import timedelta

from django.utils import timezone

from evalcore.settings import *  # noqa: F403
from evalcore.settings import DATA_DIR

_time, _now = time.time, timezone.now


def seconds() -> float:
    with suppress(OSError, ValueError):
        return float((DATA_DIR / "clock").read_text())
    return 0.0


time.time = lambda: _time() + seconds()
timezone.now = lambda: _now() + timedelta(seconds=seconds())
