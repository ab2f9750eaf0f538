"""Items whose answers to a question differ most."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from statistics import pvariance
from typing import Any

from django.db.models import F

from annotate.kinds.base import Kind
from annotate.kinds.registry import kind_of
from annotate.models import Purpose, Question, Slot, Study

SHOWN = 10


def disputed_units(study: Study, question: Question) -> list[int]:
    """Return the units with the most different answers, the most different first."""
    kind = kind_of(question)
    rows: Any = kind.model.objects.filter(
        question=question,
        is_current=True,
        annotator=F("slot__annotator"),
        slot__study=study,
        slot__state=Slot.State.SUBMITTED,
        slot__purpose=Purpose.REAL,
        slot__ordinal__isnull=False,
    )
    by_unit: dict[int, list[Any]] = defaultdict(list)
    for unit, value in rows.order_by().values_list("slot__unit", "value"):
        by_unit[unit].append(value)
    spread = {unit: _spread(kind, values) for unit, values in by_unit.items()}
    differ = [unit for unit, value in spread.items() if value > 0]
    return sorted(differ, key=lambda unit: (-spread[unit], unit))[:SHOWN]


def _spread(kind: Kind, values: Sequence[Any]) -> float:
    """Return how much answers differ: a variance, or the share outside the majority."""
    if kind.is_nominal or not all(isinstance(value, int) for value in values):
        return 1 - max(Counter(values).values()) / len(values)
    return float(pvariance(values))
