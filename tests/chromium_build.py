"""Debian's Chromium, as tests start it."""

import shutil

# The build without a window draws the same pages for two thirds of the work.
BUILDS = ("chromium-headless-shell", "chromium")
ARGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]


def path() -> str | None:
    """Return where the first build lies that is installed, if one is."""
    return next(filter(None, map(shutil.which, BUILDS)), None)
