"""Store answers of many slots at once, for imports and simulations."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Count

from annotate import event_log
from annotate.kinds.base import AnswerError
from annotate.kinds.registry import kind_of
from annotate.models import Answer, Look, Purpose, Question, Slot, Study, Unit
from evalcore.database.postgresql import analyze


@dataclass(frozen=True)
class SlotAnswers:
    """All answers of one annotator to one slot, imported or simulated."""

    slot: Slot
    answers: dict[Question, int | str]
    submitted_at: datetime
    seconds: float | None = None
    boxes: dict[tuple[int, Question], int] = field(default_factory=dict)


@transaction.atomic
def store_judgements(judgements: Iterable[SlotAnswers]) -> int:
    """Store answers to open slots in bulk; return the number of closed slots."""
    slots: list[Slot] = []
    looks: list[Look] = []
    rows: dict[type[Answer], list[Answer]] = defaultdict(list)
    for judgement in judgements:
        slot = judgement.slot
        if slot.state != Slot.State.OPEN or slot.annotator_id is None:
            raise AnswerError(f"Slot {slot.code} is not open for an annotator.")
        common = {
            "slot": slot,
            "annotator_id": slot.annotator_id,
            "created_at": judgement.submitted_at,
        }
        whole = {(0, question): value for question, value in judgement.answers.items()}
        for (shot, question), value in {**whole, **judgement.boxes}.items():
            if question.study_id != slot.study_id:
                raise AnswerError("This question belongs to another study.")
            kind = kind_of(question)
            fields = kind.stored_fields(slot, question, value) | common
            fields |= {"shot": shot} if shot else {}
            rows[kind.model].append(kind.model(question=question, **fields))
        shots = {shot for shot, _question in judgement.boxes}
        looks += [Look(shot=shot, **common) for shot in sorted(shots)]
        slot.state = Slot.State.SUBMITTED
        slot.submitted_at = judgement.submitted_at
        slot.started_at = judgement.submitted_at - timedelta(
            seconds=judgement.seconds or 0
        )
        slot.seconds = judgement.seconds
        slots.append(slot)
    for model, answers in rows.items():
        model.objects.bulk_create(answers, batch_size=1000)
    Look.objects.bulk_create(looks, batch_size=1000)
    changed = ["state", "submitted_at", "started_at", "seconds"]
    Slot.objects.bulk_update(slots, changed, batch_size=500)
    if slots:
        count_units(slots[0].study)
        event_log.list_slots(slots[0].study, slots)
    analyze(Unit, Slot, *rows)
    return len(slots)


def count_units(study: Study) -> None:
    """Recount the submitted slots of every unit of a study."""
    done = Slot.objects.filter(
        study=study, state=Slot.State.SUBMITTED, ordinal__isnull=False
    )
    counts = dict(done.values_list("unit").annotate(n=Count("pk")).order_by())
    units = list(study.units.filter(purpose=Purpose.REAL))
    for unit in units:
        unit.submitted = counts.get(unit.pk, 0)
    Unit.objects.bulk_update(units, ["submitted"], batch_size=500)
