"""The list of slots: filtered by method, story, annotator, state, and what they are."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from statistics import pvariance
from typing import Any

from django.db.models import Q, QuerySet
from django.http import QueryDict

from annotate.coverage.counts import SURPLUS, WANTED
from annotate.kinds.base import Kind
from annotate.kinds.registry import counted_answers, kind_of
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
MOST_DISPUTED = 10


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
            unit__in=_disputed_units(question),
            state=Slot.State.SUBMITTED,
        )
    return slots.filter(PARTS.get(asked.get("part") or "", Q()))


def disputed(study: Study, key: str) -> Question | None:
    """Return the question whose disputed items are listed, if any."""
    return study.questions.filter(key=key).first() if key else None


def _disputed_units(question: Question) -> list[int]:
    """Return the units with the most different answers, the most different first."""
    kind = kind_of(question)
    by_unit: dict[int, list[Any]] = defaultdict(list)
    for unit, value in counted_answers(question).values_list("slot__unit", "value"):
        by_unit[unit].append(value)
    spread = {unit: _spread(kind, values) for unit, values in by_unit.items()}
    differ = [unit for unit, value in spread.items() if value > 0]
    return sorted(differ, key=lambda unit: (-spread[unit], unit))[:MOST_DISPUTED]


def _spread(kind: Kind, values: Sequence[Any]) -> float:
    """Return how much answers differ: a variance, or the share outside the majority."""
    if kind.is_nominal or not all(isinstance(value, int) for value in values):
        return 1 - max(Counter(values).values()) / len(values)
    return float(pvariance(values))


def _number(text: str) -> int:
    """Parse a number; return 0 if it is invalid."""
    return int(text) if text.isdecimal() and len(text) < 6 else 0
