"""What a form shows: fields with a label, a value, help, and what is wrong with it."""

from collections.abc import Sequence
from dataclasses import dataclass, field

Choices = Sequence[tuple[str, str]]


@dataclass
class Field:
    """One value of the form; its name is its path in the study file, or its own."""

    name: str
    label: str
    # text, number, area, code (YAML), tick, radio, many, select
    kind: str = "text"
    # Only `many` holds more than one.
    values: Sequence[str] = ()
    help: str = ""
    # Value and words of each option; for text, what is suggested.
    choices: Choices = ()
    # When it matters, as a class: planned, open.
    only: str = ""
    language: str = ""
    least: int | None = None
    step: str = "1"
    rows: int = 3
    fixed: bool = False
    error: str = ""

    @property
    def id(self) -> str:
        return "id_" + self.name.replace(".", "-")

    @property
    def value(self) -> str:
        return self.values[-1] if self.values else ""

    @property
    def described_by(self) -> str:
        """Return the ids of the help and of the error."""
        helped = f"{self.id}-help " if self.help else ""
        return f"{helped}{self.id}-error"


@dataclass
class FieldGroup:
    """Fields that stand side by side."""

    fields: list[Field]
    only: str = ""


@dataclass
class Section:
    """A part of the form; `folded` until somebody opens it."""

    key: str
    title: str
    groups: list[FieldGroup]
    folded: bool = False

    @property
    def fields(self) -> list[Field]:
        return [one for group in self.groups for one in group.fields]

    @property
    def opened(self) -> bool:
        """Say whether it is unfolded: what is wrong must be seen."""
        return not self.folded or any(one.error for one in self.fields)


@dataclass
class Card(Section):
    """One question among others; `kind` is empty where it is the study's."""

    index: int = 0
    kind: str = ""
    has_scale: bool = False
    sentence: str = ""
    more: list[FieldGroup] = field(default_factory=list)

    @property
    def fields(self) -> list[Field]:
        return [one for group in [*self.groups, *self.more] for one in group.fields]

    @property
    def wrong(self) -> bool:
        return any(one.error for one in self.fields)

    @property
    def more_opened(self) -> bool:
        return any(one.error for group in self.more for one in group.fields)
