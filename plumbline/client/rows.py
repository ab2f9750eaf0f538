"""Rows that the client returns."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, TypeVar

Row = TypeVar("Row")


@dataclass(frozen=True)
class Study:
    """A study as lists show it."""

    slug: str
    title: str
    benchmark: str
    state: str
    redundancy: int


@dataclass(frozen=True)
class Invitation:
    """A personal link of somebody."""

    person: str
    link: str

    @property
    def token(self) -> str:
        """Return the secret of the link, which `Session` takes."""
        return self.link.rstrip("/").rpartition("/")[2]


@dataclass(frozen=True)
class MethodProgress:
    """A method of a study, with the ratings that its items need and have."""

    method: str
    items: int
    wanted: int
    submitted: int
    is_withdrawn: bool


def row_of(kind: type[Row], found: Mapping[str, Any]) -> Row:
    """Return a dataclass from the server's fields, which may be more."""
    names = [field.name for field in fields(kind)]  # type: ignore[arg-type]
    return kind(**{name: found[name] for name in names})
