"""Open the slots of a training round."""

import random
from collections.abc import Sequence

from django.db import transaction

from annotate import event_log
from annotate.assignment.designs.shown_sides import ShownSides
from annotate.assignment.sides import sides_of
from annotate.models import Annotator, Event, Purpose, Slot, Unit
from annotate.models.studies import LETTERS
from annotate.responses import leasing
from annotate.responses.leasing import is_training_needed, locked_annotator


def begin(annotator: Annotator) -> None:
    """Open a slot of each training unit, unless some of this round wait already."""
    if is_training_needed(annotator):
        _begin(annotator)


@transaction.atomic
def _begin(annotator: Annotator) -> None:
    person = locked_annotator(annotator)
    own = Slot.objects.filter(annotator=person, purpose=Purpose.TRAINING)
    waiting = own.filter(state__in=leasing.UNFINISHED).exists()
    if not is_training_needed(person) or person.state in Annotator.STOPPED or waiting:
        return
    round_ = person.training_attempts + 1
    first = own.count() + 1
    dice = random.Random(f"{person.study.seed} {person.pk} {first}")
    units = Unit.objects.filter(study=person.study_id, purpose=Purpose.TRAINING)
    left = units.exclude(pk__in=own.filter(round=round_).values("unit"))
    slots = [
        Slot(
            study_id=person.study_id,
            unit=unit,
            purpose=Purpose.TRAINING,
            round=round_,
            annotator=person,
            session=0,
            position=position,
        )
        for position, unit in enumerate(left.order_by("pk"), start=first)
    ]
    arrange(slots, sides_of(person), dice)
    for slot in slots:
        slot.save()
        event_log.note_slot(Event.Kind.SLOT_OPENED, slot, purpose=Purpose.TRAINING)


def arrange(slots: Sequence[Slot], sides: ShownSides, dice: random.Random) -> None:
    """Return sides such that no side is right much oftener than the other."""
    leaning = 0
    for slot in sorted(slots, key=lambda one: -abs(_leaning(one, True, 0))):
        unit = slot.unit
        methods = tuple(output.method_id for output in unit.outputs)
        ways = [(True, 0), (False, 0)]
        if len(methods) > 2:
            ways = [(True, turn) for turn in range(len(methods))]
        slot.a_is_left, slot.turn = min(
            dice.sample(ways, len(ways)),
            key=lambda way: (
                abs(leaning + _leaning(slot, *way)),
                sides.cost(methods, way[0]),
            ),
        )
        leaning += _leaning(slot, slot.a_is_left, slot.turn)
        sides.add(methods, slot.a_is_left)


def _leaning(slot: Slot, a_is_left: bool, turn: int) -> int:
    """Return how many right answers put the left one first, less those that do not."""
    order = Slot(unit=slot.unit, a_is_left=a_is_left, turn=turn).order
    leaning = 0
    for expected in slot.unit.expected.values():
        if isinstance(expected, str) and expected != "tie":
            better, *worse = (LETTERS.index(letter) for letter in expected)
            other = worse[0] if worse else 1 - better
            leaning += 1 if order.index(better) < order.index(other) else -1
    return leaning
