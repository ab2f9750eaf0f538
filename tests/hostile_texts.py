"""Texts that would be markup, scripts and formulas, in every field that people fill."""

from html.parser import HTMLParser
from typing import Any

from django.apps import apps
from django.db import models

SCRIPT = (
    "</title></textarea></script><img src=x onerror=alert(1)>"
    "<script>alert(1)</script>{{7*7}}"
)
MARKUP = "=1+\"'>" + SCRIPT
# What the program fills itself, or knows by its value.
OURS = {
    "client_key",
    "code",
    "completion_code",
    "consent_version",
    "content_type",
    "definition",
    "degradation",
    "extension",
    "file_sha256",
    "language",
    "password",
    "policy",
    "posted_to",
    "rule",
    "sha256",
    "shown",
    "side",
    "signal",
    "source_sha256",
    "timestamp",
    "token",
    "template",
    "value",
    "worker",
}
OURS_OF_QUESTIONS = {"key", "kind"}
# JSON that holds texts; what its keys are stays.
OF_TEXTS = {
    "anchors",
    "categories",
    "consent",
    "descriptions",
    "feedback",
    "help_texts",
    "instructions",
    "names",
    "tags",
    "text",
    "texts",
    "titles",
}


def fill() -> int:
    """Write the markup into every text that the database has; return into how many."""
    filled = 0
    for model in (*_models("annotate"), *_models("evalcore")):
        fields = [one for one in model._meta.fields if _is_text(model, one)]
        for row in model._default_manager.all() if fields else ():
            for field in fields:
                value = _hostile(field, getattr(row, field.attname), row.pk)
                model._default_manager.filter(pk=row.pk).update(**{field.name: value})
                filled += 1
    return filled


def _models(app: str) -> list[type[models.Model]]:
    return list(apps.get_app_config(app).get_models())


def _is_text(model: type[models.Model], field: models.Field) -> bool:
    if field.choices or isinstance(field, models.SlugField):
        return False
    if isinstance(field, models.JSONField):
        return field.name in OF_TEXTS
    ours = OURS | (OURS_OF_QUESTIONS if model.__name__ == "Question" else set())
    return isinstance(field, models.CharField | models.TextField) and (
        field.name not in ours
    )


def _hostile(field: models.Field, old: Any, pk: object) -> Any:
    if isinstance(field, models.JSONField):
        return _inside(old)
    most = field.max_length or 1000
    own = f" {pk}"
    return MARKUP[: most - len(own)] + own


def _inside(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _inside(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_inside(part) for part in value]
    return MARKUP if isinstance(value, str) else value


class _Markup(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        handlers = [name for name in given if name.startswith("on")]
        addresses = [given.get(name) or "" for name in ("href", "src", "action")]
        is_script = any(one.strip().startswith("javascript:") for one in addresses)
        if handlers or is_script or given.get("src") == "x":
            self.found.append(self.get_starttag_text() or tag)
        if tag == "script" and not given.get("src"):
            self.found.append(f"<script>, line {self.getpos()[0]}")


def come_alive(page: str) -> list[str]:
    """Return what of a page a browser would run or load that no template wrote."""
    parser = _Markup()
    parser.feed(page)
    return parser.found
