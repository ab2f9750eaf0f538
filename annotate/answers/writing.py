"""The only writer of answers, also of those that `checklists` takes of a shot."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Count, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotate import event_log
from annotate.answers.key_presses import confirm, sent_before
from annotate.kinds.registry import KINDS, kind_of, tables_of
from annotate.models import (
    Annotator,
    Answer,
    Event,
    Look,
    Purpose,
    Question,
    ShotComment,
    Slot,
    StoryComment,
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
from annotate.slots.timing import note_sight, note_time
from evalcore.database.postgresql import analyze
from evalcore.database.prepared import Prepared
from evalcore.database.prepared_writes import add, store
from evalcore.models import Shot

# Rows that one request may bring: they are stored in one transaction, for which all
# others wait. queue.js sends no more.
MOST_ROWS = 200
# Revisions of one answer. Whoever changes a draft more often overwrites the last one.
MOST_REVISIONS = 100
TIMES = ("offered_at", "seconds", "claimed_seconds", "in_sight")


@dataclass(frozen=True)
class SlotAnswers:
    """All answers of one annotator to one slot, given elsewhere or simulated.

    Choices are given as a, b, tie or both_bad in the unit's order, rankings as its
    letters in order (`cab`); the boxes of a checklist (0, 1) by the number of their
    shot, too.
    """

    slot: Slot
    answers: dict[Question, int | str]
    submitted_at: datetime
    seconds: float | None = None
    boxes: dict[tuple[int, Question], int] = field(default_factory=dict)


@dataclass(frozen=True)
class GivenAnswer:
    """What somebody answers; `key` names the key press, as the browser does.

    A rating is a whole number, also in digits as forms send it; a choice is a side, a
    ranking the places in order, `2>1>3`.
    """

    question: Question
    value: int | str
    key: str = ""


def record_answer(
    *,
    slot: Slot,
    annotator: Annotator,
    question: Question,
    value: int | str,
    client_key: str = "",
) -> Answer:
    """Store one answer as `record_answers` does, and return the current row."""
    given = GivenAnswer(question, value, client_key)
    return record_answers(slot=slot, annotator=annotator, given=[given])[0]


@transaction.atomic
def record_answers(
    *,
    slot: Slot,
    annotator: Annotator,
    given: Sequence[GivenAnswer],
    person: Annotator | None = None,
) -> list[Answer]:
    """Store answers to different questions, and return the current rows.

    `checklists.record_shot` stores the boxes of a checklist.

    The same value again, the same `key` again, or one that its tab has overtaken,
    changes no answer. Another value becomes the next revision; the earlier one is kept.
    Before the slot is submitted an answer is a draft, and giving it renews the lease.
    `person` is the annotator where that is locked already.

    Raises
    ------
    AnswerError
        One of the answers cannot be stored; then none is.
    """
    for answer in given:
        _refuse_other_study(answer.question, slot)
    person = person or locked_annotator(annotator)
    before = _revisions(slot, annotator, given)
    found = [_stored_before(answer, before[answer.question.pk]) for answer in given]
    if all(found):
        return [row for row in found if row is not None]
    held = locked_slot(slot.pk, person.study)
    refuse_unless_held(held, person)
    new: dict[type[Answer], list[Answer]] = defaultdict(list)
    for place, answer in enumerate(given):
        if found[place] is None:
            found[place] = row = _next(held, person, answer, before)
            if row.pk is None:
                new[type(row)].append(row)
    renew(held)
    for rows in new.values():
        add_revisions(
            held, rows, [old for row in rows for old in before[row.question_id]]
        )
    return [row for row in found if row is not None]


def _stored_before(answer: GivenAnswer, revisions: Sequence[Answer]) -> Answer | None:
    """Return what stands since the same key press, or a later one, came before.

    What was taken back meanwhile is not given anew.
    """
    same = sent_before(answer.key, revisions)
    return (_current(revisions) or same[0]) if same else None


def _current(revisions: Sequence[Answer]) -> Answer | None:
    return next((row for row in revisions if row.is_current), None)


def _next(
    held: Slot,
    person: Annotator,
    answer: GivenAnswer,
    before: Mapping[int, Sequence[Answer]],
) -> Answer:
    """Return the row of an answer to a locked slot: a new one, if it is news."""
    question = answer.question
    _refuse_box(question)
    if question.stories and not question.is_asked_of(held.unit.story):
        raise BadAnswerError("This question is not asked of this story.")
    kind = kind_of(question)
    fields = kind.fields(held, question, answer.value)
    current = _current(before[question.pk])
    if current is not None and current.value == fields["value"]:
        confirm(answer.key, [current])
        return current
    return kind.model(
        slot=held,
        annotator=person,
        question=question,
        client_key=answer.key,
        **fields,
    )


def add_revisions(held: Slot, rows: Sequence[Answer], before: Sequence[Answer]) -> None:
    """Store answers of one table to a locked slot, each as its next revision.

    After `MOST_REVISIONS` of a draft the last one is overwritten; an answer that was
    submitted is refused then.

    `before` has every revision so far of these answers, and perhaps of others. What is
    raised must end the caller's transaction, or take it back to a savepoint.
    """
    if held.purpose == Purpose.TRAINING and held.state == Slot.State.SUBMITTED:
        # What was expected has been told.
        raise AnswerError(_("This answer is closed and cannot be changed."))
    model = type(rows[0])
    newest: dict[int, Answer] = {}
    for old in sorted(before, key=lambda one: one.revision):
        newest[old.question_id] = old
    fresh, overwriting = [], []
    for row in rows:
        last = newest.get(row.question_id)
        row.revision = last.revision + 1 if last else 1
        if last is None or last.revision < MOST_REVISIONS:
            fresh.append(row)
        else:
            _refuse_overwriting(held)
            row.pk, row.revision = last.pk, last.revision
            overwriting.append(row)
    changed = {row.question_id for row in rows}
    overtaken = [
        old.pk for old in before if old.is_current and old.question_id in changed
    ]
    if overtaken:
        model.objects.filter(pk__in=overtaken).update(is_current=False)
    try:
        if fresh:
            add(*fresh)
        for row in overwriting:
            row.save(force_update=True)
    except IntegrityError as error:
        raise NotNowError(
            _("This answer was changed elsewhere; load the page again.")
        ) from error


def _refuse_overwriting(held: Slot) -> None:
    """Raise for a submitted slot: reports as of an earlier moment read its answers."""
    if held.state == Slot.State.SUBMITTED:
        text = _("This answer was changed %(most)d times and stays as it is now.")
        raise AnswerError(text % {"most": MOST_REVISIONS})


def _refuse_other_study(question: Question, slot: Slot) -> None:
    if question.study_id != slot.study_id:
        raise AnswerError("This question belongs to another study.")


def _refuse_box(question: Question) -> None:
    """Raise for a label's box: boxes are answered shot by shot."""
    if kind_of(question).of_shots:
        raise BadAnswerError(
            f"{question.key} is a label's box: send it shot by shot, under `ticked`."
        )


def refuse_unknown_shot(held: Slot, shot: int) -> None:
    """Raise unless the slot's story has a shot of this number."""
    if not Shot.objects.filter(story__units=held.unit_id, number=shot).exists():
        raise BadAnswerError(_("This story has no shot %(shot)s.") % {"shot": shot})


def _given(slot: Slot, annotator: Annotator, question: Question) -> QuerySet[Answer]:
    """Return all revisions of an annotator's answer."""
    model = kind_of(question).model
    return model.objects.filter(slot=slot, annotator=annotator, question=question)


@lru_cache
def _of_slot(model: type[Answer], *, is_current: bool) -> Prepared[Answer]:
    """Return the query of an annotator's answers to a slot, but for boxes of shots."""
    whole = {"question__kind__in": [k.name for k in KINDS.values() if not k.of_shots]}
    only = whole | {"is_current": True} if is_current else whole
    return Prepared(
        lambda slot, annotator: model.objects.filter(
            slot=slot, annotator=annotator, **only
        ).order_by("revision"),
        slot=int,
        annotator=int,
    )


def _revisions(
    slot: Slot, annotator: Annotator, given: Sequence[GivenAnswer]
) -> dict[int, list[Answer]]:
    """Return all revisions of an annotator's answers by question, in order."""
    found: dict[int, list[Answer]] = {answer.question.pk: [] for answer in given}
    for model in {kind_of(answer.question).model for answer in given}:
        ask = _of_slot(model, is_current=False)
        for row in ask.rows(slot=slot.pk, annotator=annotator.pk):
            found.setdefault(row.question_id, []).append(row)
    return found


def take_back(
    *, slot: Slot, annotator: Annotator, question: Question, client_key: str = ""
) -> None:
    """Leave a question open again that was answered by mistake; the answer is kept.

    Where the same tab has answered it since, it stays answered.

    A submitted slot has an answer to each question, which can be changed only.
    """
    _refuse_box(question)
    with transaction.atomic():
        person = locked_annotator(annotator)
        held = locked_slot(slot.pk, person.study)
        refuse_unless_held(held, person)
        if held.state == Slot.State.SUBMITTED:
            raise BadAnswerError(_("This answer is closed and cannot be changed."))
        given = _given(slot, annotator, question)
        if sent_before(client_key, given):
            return
        confirm(client_key, given.filter(is_current=True))
        given.filter(is_current=True).update(is_current=False)


def current_answers(slot: Slot, annotator: Annotator | None) -> dict[int, Answer]:
    """Return the annotator's current answers to a slot by question id.

    Those to questions that are asked of every shot are left out.
    """
    if annotator is None:
        return {}
    found: dict[int, Answer] = {}
    for model, kinds in tables_of(slot.study).items():
        if all(kind.of_shots for kind in kinds):
            continue
        ask = _of_slot(model, is_current=True)
        rows = ask.rows(slot=slot.pk, annotator=annotator.pk)
        found |= {row.question_id: row for row in rows}
    return found


@transaction.atomic
def submit_slot(*, slot: Slot, annotator: Annotator, **told: Any) -> Slot:
    """Close a slot as `close_slot` does, with what is `told` of the time."""
    return close_slot(slot=slot, person=locked_annotator(annotator), **told)


def close_slot(
    *,
    slot: Slot,
    person: Annotator,
    seconds: float | None = None,
    offered_at: datetime | None = None,
    in_sight: Mapping[int, float] | None = None,
) -> Slot:
    """Close a slot whose questions are all answered; a second time changes nothing.

    `seconds` are what the browser says of the time on the page, `in_sight` of the time
    that each shot was in sight; `annotate.slots.timing` says what of that is believed.
    `offered_at` is when the annotator was given the page beforehand, if that is known.
    Call with the annotator locked.
    """
    outputs = lock_unit(slot.unit_id)
    held = locked_slot(slot.pk, person.study)
    if held.annotator_id == person.pk and held.state == Slot.State.SUBMITTED:
        return held
    refuse_unless_held(held, person)
    _refuse_unanswered(held, person)
    held.state = Slot.State.SUBMITTED
    held.submitted_at = timezone.now()
    note_time(held, person, seconds, offered_at)
    note_sight(held, in_sight, outputs)
    held.lease_until = None
    store(held, "state", "submitted_at", "lease_until", *TIMES)
    count_submitted(held, 1)
    event_log.note_slot(Event.Kind.SLOT_SUBMITTED, held)
    return held


def _refuse_unanswered(held: Slot, person: Annotator) -> None:
    """Raise unless every question is answered; of a checklist, for every shot."""
    asked = held.questions
    if any(kind_of(question).of_shots for question in asked):
        left = shots_left(held, person)
        if left:
            text = ngettext(
                "Not yet looked at: shot %(shots)s.",
                "Not yet looked at: shots %(shots)s.",
                len(left),
            )
            raise AnswerError(text % {"shots": ", ".join(map(str, left))})
    answered = current_answers(held, person)
    missing = [q for q in asked if not kind_of(q).of_shots and q.pk not in answered]
    if missing:
        titles = ", ".join(question.title for question in missing)
        raise AnswerError(_("Not answered yet: %(titles)s.") % {"titles": titles})


def shots_left(slot: Slot, annotator: Annotator | None) -> list[int]:
    """Return the shots, in order, of which the annotator has not said to be done."""
    looks = Look.objects.filter(slot=slot, annotator=annotator).values("shot")
    left = slot.unit.story.shots.exclude(number__in=looks)
    return list(left.values_list("number", flat=True))


def move_answers(lost: Slot, to: Slot) -> None:
    """Let another slot of its annotator have what they answered in one they lost."""
    tables: list[type[Answer | Look | ShotComment | StoryComment]]
    tables = [*tables_of(to.study), Look, ShotComment, StoryComment]
    for model in tables:
        model.objects.filter(slot=lost, annotator=to.annotator_id).update(slot=to)


@transaction.atomic
def store_judgements(judgements: Iterable[SlotAnswers]) -> int:
    """Store answers of open slots at once; return how many slots closed.

    For imports and simulations, in a few queries. Each slot must be open, and each
    answer be one that its question, of the same study, can have in a table. Whether
    all that is asked of a story is answered, and nothing else, is up to the caller:
    tables leave answers out, and have ties where a page would not take one.
    """
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
            _refuse_other_study(question, slot)
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
    """Count the submitted slots of every unit of a study anew."""
    done = Slot.objects.filter(
        study=study, state=Slot.State.SUBMITTED, ordinal__isnull=False
    )
    counts = dict(done.values_list("unit").annotate(n=Count("pk")).order_by())
    units = list(study.units.filter(purpose=Purpose.REAL))
    for unit in units:
        unit.submitted = counts.get(unit.pk, 0)
    Unit.objects.bulk_update(units, ["submitted"], batch_size=500)
