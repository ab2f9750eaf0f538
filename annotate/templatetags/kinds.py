"""Kinds of questions in templates."""

from collections.abc import Iterable

from django import template
from django.template import Context
from django.utils.translation import gettext as _

from annotate.kinds.registry import answer_tables, kind_of, kinds_of
from annotate.models import Question, Study
from annotate.presentation.examples import example_of

register = template.Library()
register.filter("kinds", kinds_of)
register.filter("tables", answer_tables)
register.filter("example", example_of)


@register.filter
def asked_of_shots(questions: Iterable[Question]) -> list[Question]:
    return [question for question in questions if kind_of(question).of_shots]


@register.filter
def asked_of_all(questions: Iterable[Question]) -> list[Question]:
    return [question for question in questions if not kind_of(question).of_shots]


@register.simple_tag(takes_context=True)
def scripts_of(context: Context) -> list[str]:
    """Return the modules that the page of a slot needs."""
    study = context["study"]
    if context["videos"]:
        shown = ["player"]
    else:
        shown = ["shots", "zoom", "looking"]
        shown += ["compare"] if study.outputs_at_once == 2 else []
    asked = [
        script
        for kind in kinds_of(study)
        if context.get("sheets") or not kind.of_shots
        for script in kind.scripts
    ]
    asked += ["comments"] if study.may_comment_on_shots else []
    needed = ["seat", "queue", "drafts", "pages", "state"]
    return [*needed, *shown, *dict.fromkeys(asked)]


@register.filter
def unit_name(study: Study) -> str:
    """Return what the methods that a unit shows are called, as a heading."""
    number = study.outputs_at_once
    return {1: _("Method"), 2: _("Pair")}.get(number, _("Methods"))


@register.filter
def rank_of(answer: str, place: str) -> str:
    """Return the rank that an answer such as `2>1>3` gives to a place; empty: none."""
    ranked = answer.split(">")
    return str(ranked.index(place) + 1) if place in ranked else ""


@register.filter
def is_nominal(study: Study) -> bool:
    """Say whether no answer of a study has an order."""
    return all(kind.is_nominal for kind in kinds_of(study))
