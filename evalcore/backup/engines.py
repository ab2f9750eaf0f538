"""What each kind of database does for a backup, in its own way."""

from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from django.db import connection

from evalcore.backup import postgresql, sqlite
from evalcore.backup.snapshot import Ask


class Engine(Protocol):
    """One kind of database."""

    NAME: str
    FILE: str

    def dumped(self, path: Path) -> AbstractContextManager[Ask]:
        """Write the database into a file, and lend what asks that very state."""

    def tables(self, ask: Ask) -> list[str]:
        """Return the names of the tables."""

    def check_unused(self) -> None:
        """Refuse while another process has the database open."""

    def is_empty(self) -> bool:
        """Say whether nothing is there that could be lost."""

    def load(self, path: Path, aside: Path | None) -> str:
        """Fill the database from such a file; return where the old one is now."""


def engine() -> Engine:
    """Return that of the database in use."""
    return postgresql if connection.vendor == "postgresql" else sqlite
