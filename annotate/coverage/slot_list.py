"""The list of slots: filtered by method, story, annotator, state, and what they are."""

from django.db.models import Q, QuerySet
from django.http import QueryDict

from annotate.coverage.counts import SURPLUS, WANTED
from annotate.coverage.disputed import disputed_units
from annotate.models import CHECKS, Purpose, Question, Slot, Study

PARTS = {
    "wanted": WANTED,
    "surplus": SURPLUS,
    "checks": Q(purpose__in=CHECKS),
    "training": Q(purpose=Purpose.TRAINING),
}
LOOKUPS = {
    "story": "unit__story__key",
    "annotator": "annotator__name",
    "state": "state",
}


def filtered(study: Study, asked: QueryDict) -> QuerySet[Slot]:
    """Return the slots that the parameters of an address ask for, in order."""
    slots = study.slots.select_related(
        "annotator", "unit__story", *study.output_paths("unit__", "__method")
    ).order_by("unit__story__key", "unit", "round", "ordinal")
    for method in filter(None, asked.getlist("method")):
        with_method = Q()
        for path in study.output_paths("unit__", "__method__name"):
            with_method |= Q(**{path: method})
        slots = slots.filter(with_method)
    for parameter, lookup in LOOKUPS.items():
        if value := asked.get(parameter):
            slots = slots.filter(**{lookup: value})
    if session := asked.get("session"):
        slots = slots.filter(session=_number(session))
    if question := disputed(study, asked.get("disputed") or ""):
        slots = slots.filter(
            WANTED,
            unit__in=disputed_units(study, question),
            state=Slot.State.SUBMITTED,
        )
    return slots.filter(PARTS.get(asked.get("part") or "", Q()))


def disputed(study: Study, key: str) -> Question | None:
    """Return the question whose disputed items are listed, if any."""
    return study.questions.filter(key=key).first() if key else None


def _number(text: str) -> int:
    """Parse a number; return 0 if it is invalid."""
    return int(text) if text.isdecimal() and len(text) < 6 else 0
