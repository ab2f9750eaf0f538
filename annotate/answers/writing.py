"""The only writer of answers."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.db import IntegrityError, transaction
from django.db.models import Count, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotate import event_log
from annotate.models import (
    Annotator,
    Choice,
    Event,
    Look,
    Purpose,
    Question,
    Rating,
    Slot,
    Study,
    Unit,
)
from annotate.slots.errors import (
    AnswerError,
    BadAnswerError,
    NotNowError,
)
from annotate.slots.locking import (
    count_submitted,
    lock_unit,
    locked_annotator,
    locked_slot,
    refuse_unless_held,
    renew,
)
from annotate.slots.timing import note_time
from evalcore.models import Shot
from evalcore.postgresql import analyze

WHOLE_NUMBER = re.compile(r"-?[0-9]{1,6}")
LONGEST_COMMENT = 4000
SIDES = ("left", "right", "tie")
TIMES = ("offered_at", "seconds", "claimed_seconds")


@dataclass(frozen=True)
class SlotAnswers:
    """All answers of one annotator to one slot, given elsewhere or simulated.

    Choices are given as a, b, tie or both_bad in the unit's order; the boxes of a
    checklist (0, 1) by the number of their shot.
    """

    slot: Slot
    answers: dict[Question, int | str]
    submitted_at: datetime
    seconds: float | None = None
    boxes: dict[int, dict[Question, int]] = field(default_factory=dict)


def record_answer(
    *,
    slot: Slot,
    annotator: Annotator,
    question: Question,
    value: int | str,
    client_key: str = "",
    shot: int = 0,
) -> Rating | Choice:
    """Store one answer as it is given and return the current row.

    A rating is a whole number, also in digits as forms send it; a choice is a side.
    The box of a checklist is about one `shot`; `checklists.record_shot` stores all of
    a shot's.

    The same value again, or the same `client_key` again, changes nothing. Another
    value becomes the next revision; the earlier one is kept. Before the slot is
    submitted the answer is a draft, and giving it renews the lease.
    """
    if question.study_id != slot.study_id:
        raise AnswerError("This question belongs to another study.")
    with transaction.atomic():
        person = locked_annotator(annotator)
        given = _given(slot, annotator, question, shot)
        revisions = list(given.order_by("revision"))
        current = next((row for row in revisions if row.is_current), None)
        same = [row for row in revisions if client_key and row.client_key == client_key]
        if same:  # stored before; what was taken back meanwhile is not given anew
            return current or same[0]
        held = locked_slot(slot.pk, person.study)
        refuse_unless_held(held, person)
        refuse_unknown_shot(held, shot)
        if question.stories and not question.is_asked_of(held.unit.story):
            raise BadAnswerError("This question is not asked of this story.")
        fields = _checked(held, question, value, shot)
        renew(held)
        if current is not None and current.value == fields["value"]:
            return current
        if current is not None:
            _refuse_after_feedback(held)
            given.filter(is_current=True).update(is_current=False)
        fields["revision"] = 1 + max((row.revision for row in revisions), default=0)
        try:
            with transaction.atomic():
                return given.create(
                    slot=slot,
                    annotator=annotator,
                    question=question,
                    client_key=client_key,
                    **fields,
                )
        except IntegrityError as error:
            raise NotNowError(
                _("This answer was changed elsewhere; load the page again.")
            ) from error


def _refuse_after_feedback(held: Slot) -> None:
    if held.purpose == Purpose.TRAINING and held.state == Slot.State.SUBMITTED:
        # What was expected has been told.
        raise AnswerError(_("This answer is closed and cannot be changed."))


def refuse_unknown_shot(held: Slot, shot: int) -> None:
    """Raise unless the answer is about what the protocol asks about."""
    if not held.study.is_checklist:
        if shot:
            raise BadAnswerError("Only the boxes of a checklist are about a shot.")
    elif not Shot.objects.filter(story__units=held.unit_id, number=shot).exists():
        raise BadAnswerError(_("This story has no shot %(shot)s.") % {"shot": shot})


def _given(
    slot: Slot, annotator: Annotator, question: Question, shot: int
) -> QuerySet[Rating] | QuerySet[Choice]:
    """Return all revisions of an annotator's answer."""
    key = {"slot": slot, "annotator": annotator, "question": question}
    if slot.study.is_pairwise:
        return Choice.objects.filter(**key)
    return Rating.objects.filter(**key, shot=shot)


def take_back(*, slot: Slot, annotator: Annotator, question: Question) -> None:
    """Leave a question open again that was answered by mistake; the answer is kept.

    A submitted slot has an answer to each question, which can be changed only.
    """
    with transaction.atomic():
        person = locked_annotator(annotator)
        held = locked_slot(slot.pk, person.study)
        refuse_unless_held(held, person)
        if held.state == Slot.State.SUBMITTED:
            raise BadAnswerError(_("This answer is closed and cannot be changed."))
        given = _given(slot, annotator, question, 0)
        given.filter(is_current=True).update(is_current=False)


def _checked(slot: Slot, question: Question, value: int | str, shot: int) -> dict:
    """Return the fields of a valid answer."""
    if slot.study.is_pairwise:
        return {
            "value": _as_choice(slot, question, value),
            "a_is_left": slot.a_is_left,
        }
    return {"shot": shot, **rating_fields(question, value)}


def rating_fields(question: Question, value: int | str) -> dict:
    low, high = question.scale_min, question.scale_max
    if not WHOLE_NUMBER.fullmatch(str(value)):
        raise BadAnswerError(f"{str(value)[:40]!r} is no whole number.")
    number = int(value)
    if low is None or high is None or not low <= number <= high:
        raise BadAnswerError(f"{number} is outside the scale from {low} to {high}.")
    return {"value": number, "scale_min": low, "scale_max": high}


def _as_choice(slot: Slot, question: Question, value: int | str) -> str:
    """Turn what the annotator saw (left, right) into the unit's order (a, b)."""
    if value not in SIDES:
        raise BadAnswerError(f"{str(value)[:40]!r} is none of {', '.join(SIDES)}.")
    if value == "tie" and not question.allow_tie:
        raise BadAnswerError("This question asks for a decision: left or right.")
    if value in ("left", "right"):
        return "a" if (value == "left") == slot.a_is_left else "b"
    return str(value)


def current_answers(slot: Slot, annotator: Annotator) -> dict[int, Rating | Choice]:
    """Return the annotator's current answers to a slot by question id."""
    return {row.question_id: row for row in _current(slot, annotator)}


def _current(slot: Slot, annotator: Annotator) -> QuerySet[Rating] | QuerySet[Choice]:
    model = Choice if slot.study.is_pairwise else Rating
    return model.objects.filter(slot=slot, annotator=annotator, is_current=True)


def submit_slot(
    *, slot: Slot, annotator: Annotator, seconds: float | None = None
) -> Slot:
    """Close a slot whose questions are all answered; a second time changes nothing.

    `seconds` are what the browser says of the time on the page, `annotate.slots.timing`
    says what of that is believed.
    """
    with transaction.atomic():
        return submit_locked(slot, locked_annotator(annotator), seconds)


def submit_locked(
    slot: Slot,
    person: Annotator,
    seconds: float | None,
    offered_at: datetime | None = None,
) -> Slot:
    """Close a slot as `submit_slot` does, for an annotator who is locked already.

    `offered_at` is when they were given its page beforehand, if that is known.
    """
    lock_unit(slot.unit_id)
    held = locked_slot(slot.pk, person.study)
    if held.annotator_id == person.pk and held.state == Slot.State.SUBMITTED:
        return held
    refuse_unless_held(held, person)
    _refuse_unanswered(held, person)
    held.state = Slot.State.SUBMITTED
    held.submitted_at = timezone.now()
    note_time(held, person, seconds, offered_at)
    held.lease_until = None
    held.save(update_fields=["state", "submitted_at", "lease_until", *TIMES])
    count_submitted(held, 1)
    event_log.note_slot(Event.Kind.SLOT_SUBMITTED, held)
    return held


def _refuse_unanswered(held: Slot, person: Annotator) -> None:
    """Raise unless every question is answered; of a checklist, for every shot."""
    if held.study.is_checklist:
        left = shots_left(held, person)
        if left:
            text = ngettext(
                "Not yet looked at: shot %(shots)s.",
                "Not yet looked at: shots %(shots)s.",
                len(left),
            )
            raise AnswerError(text % {"shots": ", ".join(map(str, left))})
        return
    answered = set(_current(held, person).values_list("question_id", flat=True))
    missing = [q for q in asked_questions(held) if q.pk not in answered]
    if missing:
        titles = ", ".join(question.title for question in missing)
        raise AnswerError(_("Not answered yet: %(titles)s.") % {"titles": titles})


def shots_left(slot: Slot, annotator: Annotator) -> list[int]:
    """Return the shots, in order, of which the annotator has not said to be done."""
    looks = Look.objects.filter(slot=slot, annotator=annotator).values("shot")
    left = slot.unit.story.shots.exclude(number__in=looks)
    return list(left.values_list("number", flat=True))


def asked_questions(slot: Slot) -> list[Question]:
    """Return the questions of a slot; its story is read only where it matters."""
    questions = list(slot.study.questions.all())
    if any(question.stories for question in questions):
        return [q for q in questions if q.is_asked_of(slot.unit.story)]
    return questions


def record_comment(*, slot: Slot, annotator: Annotator, text: str) -> None:
    """Store what an annotator writes about a story, where the study asks for it.

    What is longer than `LONGEST_COMMENT` is cut.
    """
    if not slot.study.presentation.get("comments"):
        raise BadAnswerError("This study takes no comments.")
    with transaction.atomic():
        person = locked_annotator(annotator)
        held = locked_slot(slot.pk, person.study)
        refuse_unless_held(held, person)
        held.comment = text.strip()[:LONGEST_COMMENT]
        held.save(update_fields=["comment"])


@transaction.atomic
def store_judgements(judgements: Iterable[SlotAnswers]) -> int:
    """Store complete answers of open slots at once; return how many slots closed.

    For imports and simulations: the same checks as one by one, a few queries in all.
    """
    slots, ratings, choices, looks = [], [], [], []
    for judgement in judgements:
        slot = judgement.slot
        if slot.state != Slot.State.OPEN or slot.annotator_id is None:
            raise AnswerError(f"Slot {slot.code} is not open for an annotator.")
        common = {
            "slot": slot,
            "annotator_id": slot.annotator_id,
            "created_at": judgement.submitted_at,
        }
        for shot, question, value in _each_answer(judgement):
            if question.scale_min is None:
                if value not in Choice.Value.values:
                    raise AnswerError(f"{value!r} is no choice.")
                choices.append(
                    Choice(
                        question=question,
                        value=value,
                        a_is_left=slot.a_is_left,
                        **common,
                    )
                )
            else:
                fields = rating_fields(question, value)
                ratings.append(Rating(question=question, shot=shot, **fields, **common))
        looks += [
            Look(
                slot=slot,
                annotator_id=slot.annotator_id,
                shot=shot,
                created_at=judgement.submitted_at,
            )
            for shot in judgement.boxes
        ]
        slot.state = Slot.State.SUBMITTED
        slot.submitted_at = judgement.submitted_at
        slot.started_at = judgement.submitted_at - timedelta(
            seconds=judgement.seconds or 0
        )
        slot.seconds = judgement.seconds
        slots.append(slot)
    Rating.objects.bulk_create(ratings, batch_size=1000)
    Choice.objects.bulk_create(choices, batch_size=1000)
    Look.objects.bulk_create(looks, batch_size=1000)
    fields = ["state", "submitted_at", "started_at", "seconds"]
    Slot.objects.bulk_update(slots, fields, batch_size=500)
    if slots:
        count_units(slots[0].study)
        event_log.list_slots(slots[0].study, slots)
    analyze(Unit, Slot, Rating, Choice)
    return len(slots)


def _each_answer(
    judgement: SlotAnswers,
) -> Iterator[tuple[int, Question, int | str]]:
    """Yield shot (0: the whole output), question and value of each answer."""
    for question, value in judgement.answers.items():
        yield 0, question, value
    for shot, boxes in judgement.boxes.items():
        for question, ticked in boxes.items():
            yield shot, question, ticked


def count_units(study: Study) -> None:
    """Count the submitted slots of every unit of a study anew."""
    done = Slot.objects.filter(
        study=study, state=Slot.State.SUBMITTED, ordinal__isnull=False
    )
    counts = dict(done.values_list("unit").annotate(n=Count("pk")).order_by())
    units = list(study.units.filter(purpose=Purpose.REAL))
    for unit in units:
        unit.submitted = counts.get(unit.pk, 0)
    Unit.objects.bulk_update(units, ["submitted"], batch_size=500)
