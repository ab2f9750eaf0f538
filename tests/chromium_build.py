"""Debian's Chromium, as tests start it."""

import os
import shutil

# The build without a window draws the same pages for two thirds of the work.
BUILDS = ("chromium-headless-shell", "chromium")
ARGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]


def path() -> str | None:
    """Return the browser that CHROMIUM names, or the lightest one that is there."""
    found = (shutil.which(build) for build in BUILDS)
    return os.environ.get("CHROMIUM") or next(filter(None, found), None)
