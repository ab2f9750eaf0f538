"""The training round: units with known answers, feedback on each, and a pass mark."""

import random
from dataclasses import dataclass
from functools import partial
from math import ceil

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from annotate import event_log
from annotate.answers.writing import current_answers
from annotate.assignment.sides import sides_of
from annotate.kinds.registry import kind_of
from annotate.models import Annotator, Event, Purpose, Question, Slot, Unit
from annotate.quality_rules.signals import is_right
from annotate.slots import leasing
from annotate.slots.admission import is_training_needed
from annotate.slots.locking import locked_annotator
from annotate.studies.definition import Training


@dataclass(frozen=True)
class Marked:
    """One answer of the training round, in words of the page, and whether it was right.

    Choices are told as the annotator saw them: left, right or no preference.
    """

    question: Question
    given_words: str
    expected_words: str
    right: bool


@dataclass(frozen=True)
class TrainingResult:
    """How a round of training stands.

    `needed` is how many of the `n` answers have to be right, once all units are done.
    """

    right: int
    n: int
    needed: int
    is_over: bool

    @property
    def passed(self) -> bool:
        return self.is_over and self.right >= self.needed


def _units(annotator: Annotator) -> QuerySet[Unit]:
    return Unit.objects.filter(study=annotator.study_id, purpose=Purpose.TRAINING)


def _own(annotator: Annotator) -> QuerySet[Slot]:
    return Slot.objects.filter(annotator=annotator, purpose=Purpose.TRAINING)


def begin(annotator: Annotator) -> None:
    """Open a slot of each training unit, unless some of this round wait already.

    A round whose rest was given back goes on with the units that are not done.
    """
    if is_training_needed(annotator):
        _begin(annotator)


@transaction.atomic
def _begin(annotator: Annotator) -> None:
    person = locked_annotator(annotator)
    own = _own(person)
    waiting = own.filter(state__in=leasing.UNFINISHED).exists()
    if not is_training_needed(person) or person.state in Annotator.STOPPED or waiting:
        return
    round_ = person.training_attempts + 1
    first = own.count() + 1
    dice = random.Random(f"{person.study.seed} {person.pk} {first}")
    left = _units(person).exclude(pk__in=own.filter(round=round_).values("unit"))
    sides = sides_of(person)
    paths = person.study.output_paths("", "__method")
    methods = {pk: tuple(shown) for pk, *shown in left.values_list("pk", *paths)}
    for position, unit in enumerate(left.order_by("pk"), start=first):
        ways = dice.sample((True, False), 2)
        a_is_left = min(ways, key=partial(sides.cost, methods[unit.pk]))
        sides.add(methods[unit.pk], a_is_left)
        slot = Slot.objects.create(
            study_id=person.study_id,
            unit=unit,
            purpose=Purpose.TRAINING,
            round=round_,
            annotator=person,
            session=0,
            position=position,
            a_is_left=a_is_left,
        )
        event_log.note_slot(Event.Kind.SLOT_OPENED, slot, purpose=Purpose.TRAINING)


def marks(slot: Slot) -> list[Marked]:
    """Return each answer to a unit whose answers are known, marked."""
    answers = current_answers(slot, slot.annotator)
    marked = []
    for question in slot.questions:
        answer = answers.get(question.pk)
        expected = slot.unit.expected.get(question.key)
        if answer is not None and expected is not None:
            kind = kind_of(question)
            marked.append(
                Marked(
                    question,
                    kind.text_for_annotator(slot, question, [answer.value]),
                    kind.text_for_annotator(
                        slot,
                        question,
                        expected if type(expected) is list else [expected],
                    ),
                    is_right(answer.value, expected),
                )
            )
    return marked


def result(annotator: Annotator, round_: int) -> TrainingResult:
    """Return how many answers of a round were right, and whether the round is over."""
    slots = list(
        _own(annotator)
        .filter(round=round_)
        .select_related("study", "unit__story", "annotator")
    )
    done = [slot for slot in slots if slot.submitted_at is not None]
    marked = [mark for slot in done for mark in marks(slot)]
    share = annotator.study.training.get("pass_mark", Training.pass_mark)
    return TrainingResult(
        right=sum(mark.right for mark in marked),
        n=len(marked),
        needed=ceil(share * len(marked) - 1e-9),
        is_over=len(done) == len(slots),
    )


@transaction.atomic
def conclude(annotator: Annotator) -> bool | None:
    """Decide about a finished round: passed, again, or not admitted.

    Returns None while the round goes on. Who fails the last attempt gives the slots
    back and is not admitted.
    """
    person = locked_annotator(annotator)
    if not is_training_needed(person):
        return None
    round_ = person.training_attempts + 1
    found = result(person, round_)
    if not found.is_over:
        return None
    attempts = person.study.training.get("attempts", Training.attempts)
    failed = not found.passed and round_ >= attempts
    person.training_attempts = round_
    if found.passed:
        person.trained_at = timezone.now()
        _note(Event.Kind.TRAINING_PASSED, person, found)
    elif failed:
        person.state = annotator.state = Annotator.State.FAILED
        leasing.free_unfinished(person)
        _note(Event.Kind.ANNOTATOR_FAILED, person, found)
    person.save(update_fields=["trained_at", "training_attempts", "state"])
    annotator.trained_at = person.trained_at
    annotator.training_attempts = person.training_attempts
    if not found.passed and not failed:
        begin(person)
    return found.passed


def _note(kind: Event.Kind, person: Annotator, found: TrainingResult) -> None:
    event_log.note(
        kind, person.study_id, annotator=person, right=found.right, of=found.n
    )
