"""Fields of the set-up form as the schema has them."""

from typing import Any

from annotated_types import Ge
from django.utils.translation import gettext as _
from pydantic.fields import FieldInfo

from annotate.kinds.question import DEGRADATIONS
from annotate.schema import Part
from annotate.setup_form.fields import Choices, Field, FieldGroup
from annotate.setup_form.values import AS_YAML, FormValues
from annotate.studies import parts
from annotate.studies.definition import StudyDefinition

LANGUAGES = ("en", "zh")
PARTS: dict[str, type[Part]] = {
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


def filled(
    values: FormValues,
    name: str,
    label: str,
    help: str = "",
    kind: str = "text",
    *,
    usual: str | None = None,
    **more: Any,
) -> Field:
    """Return a field with what the form holds of it, or what is usual."""
    held = values.getlist(name) or ([] if usual is None else [usual])
    return Field(name, label, kind, held, help, **more)


def labelled(values: FormValues, name: str, **more: Any) -> Field:
    """Return the field of a path as the schema has it, with `more` said of it."""
    parent, _dot, key = name.rpartition(".")
    found = PARTS.get(parent, StudyDefinition).model_fields[key]
    return described(values, name, found, **more)


def described(values: FormValues, name: str, found: FieldInfo, **more: Any) -> Field:
    """Return the field of a path with the words that the schema has for it."""
    told = {
        "label": _(found.title) if found.title else "",
        "help": _(found.description) if found.description else "",
    }
    kind = {"kind": "code", "rows": 8} if AS_YAML.fullmatch(name) else _kind(found)
    return filled(values, name, **(told | kind | more))


def _kind(found: FieldInfo) -> dict[str, Any]:
    if found.annotation is bool:
        return {"kind": "tick"}
    if found.annotation is float:
        return {"kind": "number", "least": 0, "step": "any"}
    if found.annotation is int:
        (least,) = (one.ge for one in found.metadata if isinstance(one, Ge))
        return {"kind": "number", "least": least}
    return {}


def language_name(code: str) -> str:
    return {"en": _("English"), "zh": _("Chinese")}.get(code, code)


def languages(values: FormValues, *stems: str) -> list[str]:
    """Return English, Chinese and whatever else texts of these names are written in."""
    found = {
        name.rsplit(".", 1)[1]
        for name in values
        for stem in stems
        if name.startswith(f"{stem}.")
    }
    return [*LANGUAGES, *sorted(found - set(LANGUAGES) - {"version"})]


def texts(
    values: FormValues, name: str, label: str, kind: str = "text", rows: int = 3
) -> FieldGroup:
    """Return one field for each language."""
    return FieldGroup(
        [
            filled(
                values,
                f"{name}.{code}",
                f"{label} · {language_name(code)}",
                kind=kind,
                language=code,
                rows=rows,
            )
            for code in languages(values, name)
        ]
    )


def degradations() -> Choices:
    """Return the ways in which copies are degraded, in words."""
    words = {
        "shuffled": _("shots in another order"),
        "foreign_shot": _("a shot of another story"),
        "repeated_shot": _("a shot twice"),
        "blurred": _("blurred"),
        "swapped_characters": _("characters swapped"),
    }
    return [(name, words[name]) for name in DEGRADATIONS]


def named(names: list[str]) -> Choices:
    return [(name, name) for name in names]
