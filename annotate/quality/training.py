"""Training round: known answers, feedback and a pass mark."""

from dataclasses import dataclass
from functools import partial
from math import ceil
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from annotate import event_log
from annotate.assignment import control_slots
from annotate.kinds.registry import kind_of
from annotate.models import (
    Annotator,
    Event,
    Purpose,
    Question,
    Slot,
    Unit,
    localised,
)
from annotate.people import inviting
from annotate.quality_rules.signals import below
from annotate.responses import giving_back
from annotate.responses.leasing import is_training_needed, locked_annotator
from annotate.responses.writing import current_answers
from annotate.studies.parts import Training


@dataclass(frozen=True)
class MarkedAnswer:
    """An answer of the training round, marked right or wrong."""

    question: Question
    given_words: str
    expected_words: str
    right: bool


@dataclass(frozen=True)
class TrainingResult:
    """Result of a training round so far."""

    right: int
    n: int
    possible: int
    pass_mark: float
    is_over: bool

    @property
    def needed(self) -> int:
        """Return how many answers have to be right to pass."""
        return ceil(self.pass_mark * self.n - 1e-9)

    @property
    def has_too_few(self) -> bool:
        return 2 * self.n < self.possible

    @property
    def passed(self) -> bool:
        return self.is_over and not self.has_too_few and self.right >= self.needed


def _units(annotator: Annotator) -> QuerySet[Unit]:
    return Unit.objects.filter(study=annotator.study_id, purpose=Purpose.TRAINING)


def _own(annotator: Annotator) -> QuerySet[Slot]:
    return Slot.objects.filter(annotator=annotator, purpose=Purpose.TRAINING)


def slot_of_original(slot: Slot) -> Slot | None:
    """Return the training slot that showed the original of a degraded copy."""
    if slot.purpose != Purpose.TRAINING or slot.unit.original_id is None:
        return None
    same_round = Slot.objects.filter(
        annotator=slot.annotator_id, purpose=Purpose.TRAINING, round=slot.round
    )
    return same_round.filter(unit=slot.unit.original_id).first()


def known_answers(slot: Slot) -> dict[str, tuple[list[int] | str, str]]:
    """Return the right answers by question, as values and in words."""
    earlier = slot_of_original(slot)
    given = current_answers(earlier, slot.annotator) if earlier else {}
    known: dict[str, tuple[list[int] | str, str]] = {}
    for question in slot.questions:
        expected = slot.unit.expected.get(question.key)
        if expected is None:
            continue
        words = partial(kind_of(question).text_for_annotator, slot, question)
        if question.pk in given:
            value = given[question.pk].value
            less = _("lower than %(value)s") % {"value": words([value])}
            if tolerance := below(expected, value):
                known[question.key] = tolerance, less
        else:
            values = expected if type(expected) is list else [expected]
            known[question.key] = expected, words(values)
    return known


def not_marked(slot: Slot) -> list[Question]:
    """Return the unmarkable questions: the original got the lowest rating."""
    known = known_answers(slot)
    return [one for one in _expecting(slot) if one.key not in known]


def _expecting(slot: Slot) -> list[Question]:
    return [one for one in slot.questions if one.key in slot.unit.expected]


def worse_place(slot: Slot) -> int | None:
    """Return the place of a degraded copy beside its original: 0 is the left one."""
    shown = [slot.unit.outputs[place] for place in slot.order]
    originals = {output.pk for output in shown}
    places = (n for n, output in enumerate(shown) if output.twin_of_id in originals)
    return next(places, None)


def marks(slot: Slot) -> list[MarkedAnswer]:
    """Return the marked answers to a unit with known answers."""
    answers = current_answers(slot, slot.annotator)
    known = known_answers(slot)
    marked = []
    for question in slot.questions:
        answer = answers.get(question.pk)
        if answer is not None and question.key in known:
            kind, (expected, words) = kind_of(question), known[question.key]
            marked.append(
                MarkedAnswer(
                    question,
                    kind.text_for_annotator(slot, question, [answer.value]),
                    words,
                    kind.is_right(answer.value, expected),
                )
            )
    return marked


def feedback(slot: Slot) -> dict[str, Any]:
    """Return the feedback on a submitted training story."""
    if slot.purpose != Purpose.TRAINING or slot.state != Slot.State.SUBMITTED:
        return {"marks": [], "not_marked": [], "explanation": ""}
    return {
        "marks": marks(slot),
        "not_marked": not_marked(slot),
        "explanation": _explanation(slot),
    }


def _explanation(slot: Slot) -> str:
    explanation, worse = localised(slot.unit.feedback), _worse(slot)
    if not worse:
        return explanation
    values = {"worse": worse, "explanation": explanation}
    return _("%(worse)s %(explanation)s") % values


def _worse(slot: Slot) -> str:
    """Return a sentence that names the degraded version."""
    place = worse_place(slot)
    if place is None:
        return ""
    if len(slot.unit.outputs) > 2:
        return _("Version %(n)s was made worse on purpose.") % {"n": place + 1}
    if place == 0:
        return _("The left version was made worse on purpose.")
    return _("The right version was made worse on purpose.")


def result(annotator: Annotator, round_: int) -> TrainingResult:
    """Return the result of a training round."""
    slots = list(
        _own(annotator)
        .filter(round=round_)
        .select_related("study", "unit__story", "annotator")
    )
    done = [slot for slot in slots if slot.submitted_at is not None]
    marked = [mark for slot in done for mark in marks(slot)]
    return TrainingResult(
        right=sum(mark.right for mark in marked),
        n=len(marked),
        possible=sum(len(_expecting(slot)) for slot in done),
        pass_mark=annotator.study.training.get("pass_mark", Training().pass_mark),
        is_over=len(done) == len(slots),
    )


def repeated(annotator: Annotator, round_: int) -> str:
    """Return which stories follow a failed round: "other", "same" or "some" of them."""
    own = _own(annotator)
    met = set(own.filter(round__lte=round_).values_list("unit", flat=True))
    coming = set(own.filter(round=round_ + 1).values_list("unit", flat=True))
    if not coming & met:
        return "other"
    return "same" if coming <= met else "some"


@transaction.atomic
def conclude(annotator: Annotator) -> bool | None:
    """Conclude a finished round: passed, repeated, or failed; None if unfinished."""
    person = locked_annotator(annotator)
    if not is_training_needed(person):
        return None
    round_ = person.training_attempts + 1
    outcome = result(person, round_)
    if not outcome.is_over:
        return None
    attempts = person.study.training.get("attempts", Training().attempts)
    failed = not outcome.passed and round_ >= attempts
    person.training_attempts = round_
    if outcome.passed:
        person.trained_at = timezone.now()
        _note(Event.Kind.TRAINING_PASSED, person, outcome)
    elif failed:
        person.state = annotator.state = Annotator.State.FAILED
        giving_back.free_unfinished(person)
        _note(Event.Kind.ANNOTATOR_FAILED, person, outcome)
    person.save(update_fields=["trained_at", "training_attempts", "state"])
    if failed:
        inviting.release_place(person)
    annotator.trained_at = person.trained_at
    annotator.training_attempts = person.training_attempts
    if not outcome.passed and not failed:
        control_slots.begin_training(person)
    return outcome.passed


def _note(kind: Event.Kind, person: Annotator, outcome: TrainingResult) -> None:
    event_log.note(
        kind, person.study_id, annotator=person, right=outcome.right, of=outcome.n
    )
