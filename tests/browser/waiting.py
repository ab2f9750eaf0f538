"""Waiting for what a browser does in its own time."""

import time

SECONDS = 10


def wait_until(page, look, expected):
    """Look until what is expected is seen."""
    patience = time.monotonic() + SECONDS
    while (seen := look()) != expected:
        assert time.monotonic() < patience, f"{seen} is seen for {expected}"
        page.wait_for_timeout(20)
