"""The questions of the set-up form, each a card of its own."""

from collections.abc import Callable, Iterator, Mapping

from django.utils.translation import get_language
from django.utils.translation import gettext as _
from pydantic.fields import FieldInfo

from annotate.setup_form.fields import Card, Field, FieldGroup
from annotate.setup_form.labels import degradations, described, filled, named, texts
from annotate.setup_form.values import FormValues, kind_at, questions, steps
from evalcore.metrics import registry

# Of longer scales only the ends, the middle and what has a meaning stand there.
MOST_ANCHORS = 11


def cards(values: FormValues) -> list[Card]:
    return [_card(values, i) for i in range(len(questions(values)))]


def _card(values: FormValues, index: int) -> Card:
    name = f"questions.{index}"
    fields = kind_at(values, index).definition.model_fields
    title = _shown(values, f"{name}.title") or values.get(f"{name}.key")
    metrics = named(registry.names())
    more = FieldGroup(
        [
            filled(
                values,
                f"{name}.key",
                _("Key"),
                _("Names the question in tables: letters, digits, - and _."),
            ),
            filled(
                values,
                f"{name}.metric",
                _("Metric"),
                _("The metric that is meant to measure this."),
                choices=metrics,
            ),
            filled(
                values,
                f"{name}.stories",
                _("Only for stories with these tags"),
                _("YAML, such as: angle: [TR]"),
            ),
        ]
    )
    if "degradation" in fields:
        more.fields.append(_degradation(values, name))
    return Card(
        key=name.replace(".", "-"),
        title=title or _("New question"),
        groups=[
            texts(values, f"{name}.title", _("Title")),
            texts(values, f"{name}.text", _("Sentence"), "area"),
            *(g for key in PARTS if key in fields for g in PARTS[key](values, name)),
            *_plain(values, name, fields),
        ],
        more=[texts(values, f"{name}.help", _("What to look at"), "area"), more],
        index=index,
        kind=values.get(f"{name}.kind") or "",
        has_scale="scale" in fields,
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


def _plain(
    values: FormValues, name: str, fields: Mapping[str, FieldInfo]
) -> Iterator[FieldGroup]:
    """Yield the fields that the schema of the kind itself has words for."""
    for key, found in fields.items():
        if found.title:
            yield FieldGroup([described(values, f"{name}.{key}", found)])


def _scale(values: FormValues, name: str) -> list[FieldGroup]:
    """Return the ends of the scale, and what its values mean."""
    low, high = f"{name}.scale.0", f"{name}.scale.1"
    ends = [
        filled(values, low, _("Lowest value"), kind="number", least=-100),
        filled(values, high, _("Highest value"), kind="number", least=-100),
    ]
    on_scale = steps([values.get(low), values.get(high)])
    shown = [value for value in on_scale if _is_shown(value, on_scale, values, name)]
    anchors = [
        _anchor(values, f"{name}.anchors.{value}", str(value)) for value in shown
    ]
    groups = [FieldGroup(ends, "scale"), *anchors]
    if len(shown) < len(on_scale):
        label = _("Another value with a meaning")
        another = Field(f"{name}.anchor", label, "number", least=on_scale[0])
        groups.append(FieldGroup([another], "scale"))
    return groups


def _is_shown(value: int, scale: range, values: FormValues, name: str) -> bool:
    if len(scale) <= MOST_ANCHORS:
        return True
    notable = (scale[0], scale[len(scale) // 2], scale[-1])
    begin = f"{name}.anchors.{value}."
    return (
        value in notable
        or values.get(f"{name}.anchor") == str(value)
        or any(one.startswith(begin) for one in values)
    )


def _anchor(values: FormValues, name: str, value: str) -> FieldGroup:
    group = texts(values, name, value)
    group.only = "anchor"
    for one in group.fields:
        one.label = f"{value} · {one.language}"
    return group


# Fields that only questions of some kinds have.
PARTS: dict[str, Callable[[FormValues, str], list[FieldGroup]]] = {
    "scale": _scale,
    "category": _category,
}
