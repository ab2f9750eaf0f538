"""Waiting for what a browser does in its own time."""

import time

SECONDS = 30  # as long as Playwright waits


def wait_until(page, look, expected):
    """Look until what is expected is seen."""
    patience = time.monotonic() + SECONDS
    while (seen := look()) != expected:
        assert time.monotonic() < patience, f"{seen} is seen for {expected}"
        page.wait_for_timeout(20)


def stop_time(page):
    """Let time pass in the page by `page.clock` alone, which is installed."""
    # A time to come: a machine may be busy before the page hears of it.
    page.clock.pause_at(page.evaluate("Date.now() / 1000") + SECONDS)
