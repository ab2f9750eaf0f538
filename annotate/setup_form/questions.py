"""The questions of the set-up form, each a card of its own."""

import re
from collections.abc import Callable

from django.utils.translation import get_language
from django.utils.translation import gettext as _

from annotate.setup_form.fields import Card, Field, FieldGroup
from annotate.setup_form.sections import degradations, filled, number, texts
from annotate.setup_form.values import FormValues, kind_at, questions, steps
from evalcore.metrics import registry

WHOLE = re.compile(r"-?[0-9]{1,9}")


def cards(values: FormValues) -> list[Card]:
    return [_card(values, i) for i in range(len(questions(values)))]


def _card(values: FormValues, index: int) -> Card:
    name = f"questions.{index}"
    kind = kind_at(values, index)
    key = filled(
        values,
        f"{name}.key",
        _("Key"),
        _("Names the question in tables: letters, digits, - and _."),
    )
    title = _shown(values, f"{name}.title") or values.get(f"{name}.key")
    metric = filled(
        values,
        f"{name}.metric",
        _("Metric"),
        _("The metric that is meant to measure this."),
        choices=[(known, known) for known in registry.names()],
    )
    asked = filled(
        values,
        f"{name}.stories",
        _("Only for stories with these tags"),
        _("YAML, such as: angle: [TR]"),
    )
    more = FieldGroup([key, metric, asked])
    if "degradation" in kind.keys:
        more.fields.append(_degradation(values, name))
    return Card(
        key=name.replace(".", "-"),
        title=title or _("New question"),
        groups=[
            texts(values, f"{name}.title", _("Title")),
            texts(values, f"{name}.text", _("Sentence"), "area"),
            *(group for part in kind.form_parts for group in PARTS[part](values, name)),
        ],
        more=[
            texts(values, f"{name}.help", _("What to look at"), "area"),
            more,
        ],
        index=index,
        kind=values.get(f"{name}.kind") or "",
        has_scale="scale" in kind.form_parts,
        sentence=_shown(values, f"{name}.text"),
    )


def _degradation(values: FormValues, name: str) -> Field:
    return filled(
        values,
        f"{name}.degradation",
        _("What makes the answer worse"),
        _("People are shown an example of it, and trained with it."),
        "select",
        choices=[("", _("nothing that copies can show")), *degradations()],
    )


def _shown(values: FormValues, name: str) -> str:
    """Return a text in the page's language if it is written in it, else in English."""
    language = (get_language() or "en").split("-")[0]
    return values.get(f"{name}.{language}") or values.get(f"{name}.en") or ""


def _category(values: FormValues, name: str) -> list[FieldGroup]:
    return [texts(values, f"{name}.category", _("Category"))]


def _tie(values: FormValues, name: str) -> list[FieldGroup]:
    told = _("“No preference” is an answer")
    return [FieldGroup([filled(values, f"{name}.allow_tie", told, kind="tick")])]


def _scale(values: FormValues, name: str) -> list[FieldGroup]:
    """Return the ends of the scale, and what each of its values means."""
    low, high = f"{name}.scale.0", f"{name}.scale.1"
    ends = [
        number(values, low, _("Lowest value"), least=-100),
        number(values, high, _("Highest value"), least=-100),
    ]
    anchors = [
        _anchor(values, f"{name}.anchors.{value}", str(value))
        for value in steps([_whole(values.get(low)), _whole(values.get(high))])
    ]
    return [FieldGroup(ends, "scale"), *anchors]


def _anchor(values: FormValues, name: str, value: str) -> FieldGroup:
    group = texts(values, name, value)
    group.only = "anchor"
    for one in group.fields:
        one.label = f"{value} · {one.language}"
    return group


def _whole(text: str | None) -> int | None:
    stripped = (text or "").strip()
    return int(stripped) if WHOLE.fullmatch(stripped) else None


# The fields that only questions of some kinds have (`Kind.form_parts`).
PARTS: dict[str, Callable[[FormValues, str], list[FieldGroup]]] = {
    "scale": _scale,
    "tie": _tie,
    "category": _category,
}
