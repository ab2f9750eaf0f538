"""Fields of the API's serializers, and strict bodies and queries."""

from typing import Any

from django.utils.translation import gettext as _
from rest_framework import serializers
from rest_framework.fields import (
    BooleanField,
    CharField,
    ChoiceField,
    DateField,
    DateTimeField,
    DecimalField,
    DictField,
    FloatField,
    IntegerField,
    JSONField,
    ListField,
    RegexField,
    SerializerMethodField,
    SlugField,
)

from annotate.api.pagination import PAGING

__all__ = [
    "BooleanField",
    "CharField",
    "ChoiceField",
    "DateField",
    "DateTimeField",
    "DecimalField",
    "DictField",
    "FloatField",
    "IntegerField",
    "JSONField",
    "ListField",
    "RegexField",
    "SerializerMethodField",
    "SlugField",
]
LARGEST = 2**63 - 1


def meta(model: Any, names: str, base: Any = None) -> type:
    """Return the `Meta` of a serializer; fields of a base come first."""
    first = base.Meta.fields if base else []
    return type("Meta", (), {"model": model, "fields": [*first, *names.split()]})


def text_or_null(source: str) -> CharField:
    """Return a text of a related row that may be missing."""
    return CharField(source=source, default=None, allow_null=True)


def texts(most: int | None = None, **about: Any) -> ListField:
    """Return a list of texts."""
    return ListField(child=CharField(max_length=most), **about)


def counts(**about: Any) -> DictField:
    """Return whole numbers by name."""
    return DictField(child=IntegerField(), **about)


def ids(**about: Any) -> ListField:
    """Return a list of rows' numbers."""
    child = IntegerField(min_value=1, max_value=LARGEST)
    return ListField(child=child, **about)


WANTED: tuple[tuple[type[serializers.Field], type | tuple[type, ...], str], ...] = (
    (BooleanField, bool, "true or false"),
    (IntegerField, int, "a whole number"),
    (FloatField, (int, float), "a number"),
    (CharField, str, "text"),
    (ChoiceField, str, "text"),
    (DateField, str, "a day, such as 2026-12-31"),
)


class Body(serializers.Serializer):
    """The JSON body of a request; it has no other keys, and no other types."""

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, dict):
            fields = {n: f for n, f in self.fields.items() if not f.read_only}
            problems = {
                str(name): [f"Unknown key. Known: {', '.join(fields)}."]
                for name in data.keys() - fields.keys()
            }
            for name in data.keys() & fields.keys():
                if text := _wrong_type(fields[name], data[name]):
                    problems[name] = [text]
            if problems:
                raise serializers.ValidationError(problems)
        return super().to_internal_value(data)


def _wrong_type(field: serializers.Field, value: Any) -> str:
    if value is None:
        return ""  # the field says whether it may be
    inner: Any = None
    if isinstance(field, ListField) and isinstance(value, list):
        inner = value
    elif isinstance(field, DictField) and isinstance(value, dict):
        inner = value.values()
    if inner is not None:
        return next(filter(None, (_wrong_type(field.child, v) for v in inner)), "")
    for kind, types, words in WANTED:
        if isinstance(field, kind):
            is_right = isinstance(value, types) and (
                types is bool or not isinstance(value, bool)
            )
            return "" if is_right else _("Write %(what)s.") % {"what": words}
    return ""


class Query(serializers.Serializer):
    """The query of an address, which has no other parameters."""

    def to_internal_value(self, data: Any) -> Any:
        known = self.fields.keys() | PAGING
        if unknown := sorted(data.keys() - known):
            text = f"Unknown parameter. Known: {', '.join(sorted(known))}."
            raise serializers.ValidationError({unknown[0]: [text]})
        return super().to_internal_value(data)
