"""The training round: units with known answers, feedback on each, and a pass mark."""

from dataclasses import dataclass

from django.db import transaction
from django.utils import timezone

from annotate import leasing, log
from annotate.models import (
    Annotator,
    Event,
    Purpose,
    Question,
    Slot,
    Unit,
)
from annotate.rating import current_answers, locked_annotator

PASS_MARK, ATTEMPTS = 0.7, 2


@dataclass(frozen=True)
class Marked:
    """One answer of the training round, and whether it was right."""

    question: Question
    given: int | str
    expected: list[int] | str
    right: bool

    @property
    def expected_words(self) -> str:
        """Return what was expected as text, for a scale as its limits."""
        if isinstance(self.expected, str):
            return self.expected
        low, high = self.expected
        return str(low) if low == high else f"{low}–{high}"


def is_needed(annotator: Annotator) -> bool:
    """Say whether this annotator has to pass a training round first."""
    return annotator.trained_at is None and _units(annotator).exists()


def _units(annotator: Annotator):
    return Unit.objects.filter(study=annotator.study_id, purpose=Purpose.TRAINING)


@transaction.atomic
def begin(annotator: Annotator) -> None:
    """Open a slot of each training unit, unless some of this round wait already."""
    person = locked_annotator(annotator)
    own = Slot.objects.filter(annotator=person, purpose=Purpose.TRAINING)
    waiting = own.filter(state__in=leasing.UNFINISHED).exists()
    if not is_needed(person) or person.state in Annotator.STOPPED or waiting:
        return
    first = own.count() + 1
    for position, unit in enumerate(_units(person).order_by("pk"), start=first):
        slot = Slot.objects.create(
            study_id=person.study_id,
            unit=unit,
            purpose=Purpose.TRAINING,
            round=person.training_attempts + 1,
            annotator=person,
            session=0,
            position=position,
        )
        log.note_slot(Event.Kind.SLOT_OPENED, slot, purpose=Purpose.TRAINING)


def marks(slot: Slot) -> list[Marked]:
    """Return each answer to a unit whose answers are known, marked."""
    answers = current_answers(slot, slot.annotator)
    marked = []
    for question in slot.unit.questions:
        answer = answers.get(question.pk)
        expected = slot.unit.expected.get(question.key)
        if answer is not None and expected is not None:
            right = is_right(answer.value, expected)
            marked.append(Marked(question, answer.value, expected, right))
    return marked


def is_right(given: int | str, expected: list[int] | str) -> bool:
    """Say whether an answer lies in the tolerance, or is the choice that is right."""
    if isinstance(expected, str):
        return given == expected
    low, high = expected
    return low <= int(given) <= high


def score(annotator: Annotator) -> tuple[int, int]:
    """Return how many answers of the latest round were right, and of how many."""
    slots = Slot.objects.filter(
        annotator=annotator,
        purpose=Purpose.TRAINING,
        round=annotator.training_attempts + 1,
        state=Slot.State.SUBMITTED,
    ).select_related("study", "unit__story", "unit__study", "annotator")
    marked = [mark for slot in slots for mark in marks(slot)]
    return sum(mark.right for mark in marked), len(marked)


@transaction.atomic
def conclude(annotator: Annotator) -> bool | None:
    """Decide about a finished round: passed, again, or not admitted.

    Returns None while the round goes on. Who fails the last attempt gives the slots
    back and is not admitted.
    """
    person = locked_annotator(annotator)
    own = Slot.objects.filter(annotator=person, purpose=Purpose.TRAINING)
    if not is_needed(person) or own.filter(state__in=leasing.UNFINISHED).exists():
        return None
    right, n = score(person)
    rules = person.study.training
    passed = right >= rules.get("pass_mark", PASS_MARK) * n
    if passed:
        person.trained_at = timezone.now()
        log.note(
            Event.Kind.TRAINING_PASSED, person.study_id, annotator=person,
            right=right, of=n,
        )  # fmt: skip
    person.training_attempts += 1
    failed = not passed and person.training_attempts >= rules.get("attempts", ATTEMPTS)
    if failed:
        person.state = Annotator.State.FAILED
        leasing.free_unfinished(person)
        log.note(
            Event.Kind.ANNOTATOR_FAILED, person.study_id, annotator=person,
            right=right, of=n,
        )  # fmt: skip
    person.save(update_fields=["trained_at", "training_attempts", "state"])
    if not passed and not failed:
        begin(person)
    return passed
