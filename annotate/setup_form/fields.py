"""Sections and fields of a form, labelled as the schema has them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from annotated_types import Ge
from django.utils.translation import gettext as _
from pydantic.fields import FieldInfo

from annotate.schema import Part
from annotate.setup_form.values import AS_YAML, FormValues
from annotate.studies import parts
from annotate.studies.definition import StudyDefinition

Choices = Sequence[tuple[str, str]]

LANGUAGES = ("en", "zh")
# The part of a study that a path without its last step leads to.
PARTS: dict[str, type[Part]] = {
    "": StudyDefinition,
    "stories": parts.StorySample,
    "pairs": parts.CellPairs,
    "subset": parts.Subset,
    "subset.stories": parts.StorySample,
    "training": parts.Training,
    "checks": parts.Checks,
    "presentation": parts.Presentation,
    "adaptive": parts.Adaptive,
    "consent": parts.Consent,
}


@dataclass
class Field:
    """One value of the form; its name is its path in the study file, or its own."""

    name: str
    label: str = ""
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
    """A part of the form, `folded` until somebody opens it; or a question's card.

    A card has its place, the question's own kind, and `more` groups that are folded.
    """

    key: str
    title: str
    groups: list[FieldGroup]
    folded: bool = False
    more: list[FieldGroup] = field(default_factory=list)
    index: int = 0
    kind: str = ""
    has_scale: bool = False
    sentence: str = ""

    @property
    def fields(self) -> list[Field]:
        return [one for group in [*self.groups, *self.more] for one in group.fields]

    @property
    def wrong(self) -> bool:
        return any(one.error for one in self.fields)

    @property
    def opened(self) -> bool:
        """Say whether it is unfolded: what is wrong must be seen."""
        return not self.folded or self.wrong

    @property
    def more_opened(self) -> bool:
        return any(one.error for group in self.more for one in group.fields)


class FieldMaker:
    """Makes fields with what a form holds of them."""

    def __init__(self, values: FormValues) -> None:
        self.values = values

    def one(self, name: str, *, usual: str | None = None, **given: Any) -> Field:
        """Return the field of a path as the schema has it, with what is given of it."""
        parent, _dot, key = name.rpartition(".")
        found = PARTS[parent].model_fields.get(key) if parent in PARTS else None
        held = self.values.getlist(name) or ([] if usual is None else [usual])
        told = _as_in_schema(name, found) if found else {}
        return Field(name, values=held, **(told | given))

    def described(self, name: str, found: FieldInfo) -> Field:
        """Return the field of a path with the words that the schema has for it."""
        held = self.values.getlist(name)
        return Field(name, values=held, **_as_in_schema(name, found))

    def row(self, *names: str, only: str = "") -> FieldGroup:
        """Return the fields of these paths, side by side."""
        return FieldGroup([self.one(name) for name in names], only)

    def texts(self, name: str, label: str, **given: Any) -> FieldGroup:
        """Return one field for each language."""
        fields = [
            self.one(
                f"{name}.{code}",
                label=f"{label} · {language_name(code)}",
                language=code,
                **given,
            )
            for code in self.languages(name)
        ]
        return FieldGroup(fields)

    def languages(self, *stems: str) -> list[str]:
        """Return English, Chinese and what else texts of these names are written in."""
        found = {
            name.rsplit(".", 1)[1]
            for name in self.values
            if name.startswith(tuple(f"{stem}." for stem in stems))
        }
        return [*LANGUAGES, *sorted(found - set(LANGUAGES) - {"version"})]


def _as_in_schema(name: str, found: FieldInfo) -> dict[str, Any]:
    told: dict[str, Any] = {
        "label": _(found.title) if found.title else "",
        "help": _(found.description) if found.description else "",
    }
    if AS_YAML.fullmatch(name):
        return told | {"kind": "code", "rows": 8}
    if found.annotation is bool:
        return told | {"kind": "tick"}
    if found.annotation is float:
        return told | {"kind": "number", "least": 0, "step": "any"}
    if found.annotation is int:
        (least,) = (one.ge for one in found.metadata if isinstance(one, Ge))
        return told | {"kind": "number", "least": least}
    return told


def language_name(code: str) -> str:
    return {"en": _("English"), "zh": _("Chinese")}.get(code, code)
