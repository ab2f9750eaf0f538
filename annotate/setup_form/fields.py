"""Sections and fields of the set-up form, with labels from the schema."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from annotated_types import Ge
from django.utils.translation import gettext as _
from pydantic.fields import FieldInfo

from annotate.people.outcomes import Outcome
from annotate.schema import Part
from annotate.setup_form.values import AS_YAML, FormValues
from annotate.studies import parts
from annotate.studies.definition import StudyDefinition
from annotate.studies.recruitment import Ending, Recruitment

Choices = Sequence[tuple[str, str]]

LANGUAGES = ("en", "zh")
# The part of a study that contains a field, by the field's path without its name.
PARTS: dict[str, type[Part]] = {
    "": StudyDefinition,
    "stories": parts.DrawnSample,
    "pairs": parts.CellPairs,
    "subset": parts.Subset,
    "subset.stories": parts.StorySample,
    "training": parts.Training,
    "checks": parts.Checks,
    "presentation": parts.Presentation,
    "adaptive": parts.Adaptive,
    "consent": parts.Consent,
    "recruitment": Recruitment,
    **{f"recruitment.outcomes.{one}": Ending for one in Outcome},
    "goals": parts.Goals,
}


@dataclass
class Field:
    """A value of the form; its name is usually its path in the study file."""

    name: str
    label: str = ""
    # text, number, date, area, code (YAML), tick, radio, many, select
    kind: str = "text"
    # Only the kind `many` has several values.
    values: Sequence[str] = ()
    help: str = ""
    # Value and label of each option; for text, suggestions.
    choices: Choices = ()
    # The assignment that needs it, as a CSS class: planned, open.
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
    """Fields that are shown side by side."""

    fields: list[Field]
    only: str = ""


@dataclass
class Section:
    """A section of the form, which may start `folded`, or the card of a question.

    A card has an index, the kind of its question, and `more` groups that start folded.
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
        """Return whether it starts open, so that errors are visible."""
        return not self.folded or self.wrong

    @property
    def more_opened(self) -> bool:
        return any(one.error for group in self.more for one in group.fields)


class FieldMaker:
    """Factory of fields with the values of a form."""

    def __init__(self, values: FormValues) -> None:
        self.values = values

    def one(self, name: str, *, usual: str | None = None, **overrides: Any) -> Field:
        """Return the field of a path, as in the schema except for `overrides`."""
        parent, _dot, key = name.rpartition(".")
        info = PARTS[parent].model_fields.get(key) if parent in PARTS else None
        values = self.values.getlist(name) or ([] if usual is None else [usual])
        attributes = _as_in_schema(name, info) if info else {}
        return Field(name, values=values, **(attributes | overrides))

    def described(self, name: str, info: FieldInfo) -> Field:
        """Return the field of a path with the texts of the schema."""
        values = self.values.getlist(name)
        return Field(name, values=values, **_as_in_schema(name, info))

    def row(self, *names: str, only: str = "") -> FieldGroup:
        """Return the fields of these paths, side by side."""
        return FieldGroup([self.one(name) for name in names], only)

    def texts(self, name: str, label: str, **overrides: Any) -> FieldGroup:
        """Return one field for each language."""
        fields = [
            self.one(
                f"{name}.{code}",
                label=f"{label} · {language_name(code)}",
                language=code,
                **overrides,
            )
            for code in self.languages(name)
        ]
        return FieldGroup(fields)

    def languages(self, *stems: str) -> list[str]:
        """Return English, Chinese and other languages of the texts with these names."""
        used = {
            name.rsplit(".", 1)[1]
            for name in self.values
            if name.startswith(tuple(f"{stem}." for stem in stems))
        }
        return [*LANGUAGES, *sorted(used - set(LANGUAGES) - {"version"})]


def _as_in_schema(name: str, info: FieldInfo) -> dict[str, Any]:
    attributes: dict[str, Any] = {
        "label": _(info.title) if info.title else "",
        "help": _(info.description) if info.description else "",
    }
    if AS_YAML.fullmatch(name):
        return attributes | {"kind": "code", "rows": 8}
    if info.annotation is bool:
        return attributes | {"kind": "tick"}
    if info.annotation is float:
        return attributes | {"kind": "number", "least": 0, "step": "any"}
    if info.annotation is int:
        (least,) = (one.ge for one in info.metadata if isinstance(one, Ge))
        return attributes | {"kind": "number", "least": least}
    return attributes


def language_name(code: str) -> str:
    return {"en": _("English"), "zh": _("Chinese")}.get(code, code)
