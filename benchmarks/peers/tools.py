"""What a tool has to do to be measured."""

from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

Stored = dict[str, list[int]]  # the three values, by the name they are stored under


@dataclass
class Served:
    """A server at work, what its people need to come in, and all its processes."""

    base: str
    people: list[str]
    pids: list[int]


class Tool(Protocol):
    """A row of the table: a tool, served in one way."""

    kind: str  # whose seats its people take
    name: str
    most: int  # stories a second that it surely stays below: so many people come

    def versions(self) -> str:
        """Say what is measured."""

    def ready(self, folder: Path) -> AbstractContextManager[None]:
        """Install what is missing, and have what all its measurements share."""

    def served(
        self, name: str, people: int, each: int
    ) -> AbstractContextManager[Served]:
        """Serve a new study of that name, of which each judges so many stories."""

    def stored(self) -> Stored:
        """Return what is on the disk of that study, after its server was killed."""
