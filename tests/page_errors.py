"""Errors of pages while a test drives them."""

import re
from collections.abc import Collection

from playwright.sync_api import BrowserContext


class PageErrors:
    """Exceptions that nothing caught, and errors in the console, with their place."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    def listen(self, context: BrowserContext) -> None:
        """Hear all pages of a context, those that are opened later, too."""
        context.on("weberror", lambda thrown: self.heard.append(str(thrown.error)))
        context.on("console", self._note)

    def _note(self, message) -> None:
        if message.type == "error":
            self.heard.append(f"{message.text} {message.location['url']}")

    def check(self, meant: Collection[str]) -> None:
        """Fail if anything was heard that none of the patterns means."""
        unmeant = [
            text
            for text in self.heard
            if not any(re.search(pattern, text) for pattern in meant)
        ]
        assert not unmeant, f"the pages complain: {unmeant}"
