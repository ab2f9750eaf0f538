"""Which of what a tab of a browser sent is later, in whatever order it arrives.

A request that a tab gave up may still be on its way, and come after newer ones.
"""

import re
from collections.abc import Iterable
from typing import Protocol, TypeVar

from annotate.models import Answer
from evalcore.database.prepared_writes import store

# A key of the page: milliseconds since 1970, and the tab of the browser.
PAGE_KEY = re.compile(r"([0-9]{13}) (.+)", re.ASCII)


class HasKey(Protocol):
    """What is stored under the key of the press that it came of."""

    @property
    def client_key(self) -> str:
        """Return the key."""


Stored = TypeVar("Stored", bound=HasKey)


def tab_of(key: str) -> str:
    """Return which tab of a browser a key is of; empty: the page did not make it."""
    found = PAGE_KEY.fullmatch(key)
    return found[2] if found else ""


def sent_before(key: str, rows: Iterable[Stored]) -> list[Stored]:
    """Return the rows of the same key press, or of later ones in the same tab.

    Such a request came twice, or was on its way for so long that the tab had given it
    up and sent another.
    """
    tab = tab_of(key)
    return [
        row
        for row in rows
        if key
        and (
            row.client_key == key
            or (tab and row.client_key > key and tab_of(row.client_key) == tab)
        )
    ]


def confirm(key: str, rows: Iterable[Answer]) -> None:
    """Put down that a later key press of the same tab gave answers again, or took them.

    Else one between the two that is still on its way would seem to be the last.
    """
    tab = tab_of(key)
    for row in rows:
        if tab and tab_of(row.client_key) == tab:
            row.client_key = key
            store(row, "client_key")
