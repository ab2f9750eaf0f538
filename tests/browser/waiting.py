"""Waiting for asynchronous actions of a browser."""

import time

SECONDS = 30  # Playwright's timeout


def wait_until(page, look, expected):
    """Repeat a check until it passes."""
    patience = time.monotonic() + SECONDS
    while (seen := look()) != expected:
        assert time.monotonic() < patience, f"{seen} is seen for {expected}"
        page.wait_for_timeout(20)


def stop_time(page):
    """Freeze the page's time; `page.clock` advances it."""
    # The time is in the future, because a busy machine may delay the page.
    page.clock.pause_at(page.evaluate("Date.now() / 1000") + SECONDS)
