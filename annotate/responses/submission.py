"""Store what was sent of a slot, submit it, and take late answers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import NamedTuple, TypeVar

from django.core.signing import BadSignature, TimestampSigner, b62_decode
from django.db import IntegrityError, transaction
from django.db.models import Exists, Q, Subquery
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotate import event_log
from annotate.kinds.errors import AnswerError, NotNowError, NotYetError, SlotTakenError
from annotate.kinds.registry import is_required, kind_of
from annotate.models import Annotator, Event, Flag, Purpose, Slot
from annotate.models.units import OUTPUTS
from annotate.responses.giving_back import due
from annotate.responses.leasing import (
    CLOSED,
    count_submitted,
    has_room,
    lacking,
    last_place,
    lease_length,
    locked_annotator,
    may_work,
    own_locked_slot,
    renew,
    take,
)
from annotate.responses.timing import last_submission, note_sight, note_time
from annotate.responses.writing import (
    AnswerRow,
    Held,
    Place,
    Row,
    move_answers,
    record_answers,
    sent_before,
    shots_left,
)
from evalcore.database.prepared import Prepared, store

# So long may somebody have been without network.
OFFER_LASTS = timedelta(days=30)
# What a page of a slot needs to know of it.
SHOWN = ("study", "annotator", "unit__story", *(f"unit__{name}" for name in OUTPUTS))


@transaction.atomic
def regain(
    annotator: Annotator, code: str, *, late: bool, proof: str = ""
) -> Slot | None:
    """Return the slot for what an annotator does on one whose lease ran out."""
    person = locked_annotator(annotator)
    if not may_work(person):
        return None
    begun = Event.objects.filter(kind=Event.Kind.SLOT_TAKEN, annotator=person)
    known = Q(pk__in=begun.values("slot"))
    if late and offered_at(annotator, code, proof) is not None:
        known |= Q(study=person.study_id)
    lost = (
        Slot.objects.filter(known, code=code, purpose=Purpose.REAL)
        .exclude(skips__annotator=person)
        .select_related("unit")
        .first()
    )
    if lost is None:
        return None
    own = Slot.objects.filter(
        unit=lost.unit_id, round=lost.round, annotator=person, purpose=Purpose.REAL
    ).first()
    if own is not None:
        # Whoever answers late is told that it is closed; the page itself is gone.
        return own if late or own.state not in CLOSED else None
    taken = list(begun.filter(slot=lost).order_by("pk"))
    since = taken[0].at if taken else None
    if lost.annotator_id is None and lost.state == Slot.State.OPEN and has_room(person):
        chosen = taken[-1].details if taken else {}
        lost.probability = chosen.get("probability")
        lost.alternatives = chosen.get("alternatives")
        lost.offered_at = since
        try:
            return take(lost, person)
        except SlotTakenError:
            lost.refresh_from_db()
    return _surplus_for(lost, person, since) if late else None


def offer(annotator: Annotator, code: str) -> str:
    """Return the proof that this annotator was given a slot beforehand."""
    return _signer(annotator, code).sign("")


def offered_at(annotator: Annotator, code: str, proof: str) -> datetime | None:
    """Return when this annotator was given a slot beforehand, if that is proved."""
    signer = _signer(annotator, code)
    try:
        signer.unsign(proof, max_age=OFFER_LASTS)
    except BadSignature:
        return None
    _value, signed, _signature = proof.split(signer.sep)
    return datetime.fromtimestamp(b62_decode(signed), UTC)


def _signer(annotator: Annotator, code: str) -> TimestampSigner:
    return TimestampSigner(salt=f"offer {annotator.pk} {code}")


def _surplus_for(lost: Slot, person: Annotator, since: datetime | None) -> Slot:
    """Open a slot outside the redundancy for what somebody did on a lost one."""
    now = timezone.now()
    place = last_place(person).place_for(lost.unit.story_id)
    surplus = Slot.objects.create(
        study=person.study,
        unit_id=lost.unit_id,
        round=lost.round,
        state=Slot.State.LEASED,
        annotator=person,
        session=place.session,
        position=place.position,
        claimed=True,
        a_is_left=lost.a_is_left,
        turn=lost.turn,
        lease=1,
        lease_until=now + lease_length(person.study),
        started_at=now,
        offered_at=since or now,
    )
    move_answers(lost, surplus)
    event_log.note_slot(Event.Kind.SLOT_LATE, surplus, instead_of=lost.code)
    return surplus


Result = TypeVar("Result")

# How often a request is tried whose slot, or answer, others change meanwhile.
ATTEMPTS = 3
TIMES = ("offered_at", "seconds", "claimed_seconds", "in_sight")


class Facts(NamedTuple):
    """What submitting needs to know beside the rows that it locks."""

    state: str
    is_warned: bool
    last_timed: datetime | None
    is_due: bool


# Read once all is locked: the study may have closed while that was waited for.
FACTS = Prepared[tuple[str, bool, datetime | None, bool]](
    lambda annotator, now: (
        Annotator.objects.filter(pk=annotator)
        .order_by()
        .values_list(
            "study__state",
            Exists(Flag.unread_warnings(annotator)),
            Subquery(last_submission(annotator, now)),
            Exists(due(now)),
        )
    ),
    annotator=int,
    now=datetime,
)


@dataclass(frozen=True)
class Closing:
    """What comes with a submission: what the browser says of the time, if it does."""

    seconds: float | None = None
    in_sight: Mapping[int, float] | None = None
    offered_at: datetime | None = None


@dataclass
class Received:
    """What became of a request: which rows were refused, and why the slot is open."""

    held: Held
    refused: dict[Place, AnswerError] = field(default_factory=dict)
    problem: AnswerError | None = None
    submitted: bool = False
    facts: Facts | None = None
    next: str = ""


def holding(
    annotator: Annotator,
    code: str,
    work: Callable[[Held], Result],
    *,
    closes: bool,
    late: bool = True,
    proof: str = "",
) -> Result | None:
    """Run `work` in a transaction with annotator and slot locked."""
    is_regained, clash = False, None
    for _attempt in range(ATTEMPTS):
        try:
            with transaction.atomic():
                person = locked_annotator(annotator)
                slot = own_locked_slot(code, person, closes=closes)
                if slot is not None and (is_regained or slot.state not in CLOSED):
                    return work(Held(slot, person))
        except IntegrityError as error:
            clash = error
            continue
        slot = regain(annotator, code, late=late, proof=proof)
        if slot is None:
            return None
        code, is_regained = slot.code, True
    text = _("This answer was changed elsewhere; load the page again.")
    raise NotNowError(text) from clash


def receive(
    held: Held, rows: Sequence[Row], closing: Closing | None, *, whole: bool = False
) -> Received:
    """Store rows of a held slot, and close it if all of them could be stored."""
    if first := lacking(held.person, held.slot.purpose):
        raise NotYetError(first)
    received = Received(held)
    if closing is not None:
        row = FACTS.one(annotator=held.person.pk, now=timezone.now())
        received.facts = Facts(*row)
        held.slot.study.state = received.facts.state
    received.refused = _store(held, rows)
    if received.facts and closing is not None and not received.refused:
        try:
            _close(held, closing, received.facts.last_timed)
            received.submitted = True
        except AnswerError as error:
            received.problem = error
    for refused in (*received.refused.values(), received.problem):
        if whole and refused is not None:
            raise refused
    if held.is_open:
        renew(held.slot)
    return received


def _store(held: Held, rows: Sequence[Row]) -> dict[Place, AnswerError]:
    """Store the last row of each place; return why some could not be."""
    last: dict[Place, Row] = {}
    for row in rows:
        before = last.get(row.place)
        if before is None or not sent_before(row.client_key, [before]):
            last[row.place] = row
    answers = [row for row in last.values() if isinstance(row, AnswerRow)]
    refused = record_answers(held, answers) if answers else {}
    for row in last.values():
        if not isinstance(row, AnswerRow):
            try:
                row.store(held)
            except AnswerError as error:
                refused[row.place] = error
    return refused


def _close(held: Held, closing: Closing, last_timed: datetime | None) -> None:
    """Close a slot whose questions are all answered; a second time changes nothing."""
    slot = held.slot
    if slot.state == Slot.State.SUBMITTED:
        return
    held.open()
    _refuse_unanswered(held)
    slot.state = Slot.State.SUBMITTED
    slot.submitted_at = timezone.now()
    note_time(slot, closing.seconds, closing.offered_at, last_timed)
    note_sight(slot, closing.in_sight)
    slot.lease_until = None
    store(slot, "state", "submitted_at", "lease_until", *TIMES)
    count_submitted(slot, 1)
    event_log.note_slot(Event.Kind.SLOT_SUBMITTED, slot)


def _refuse_unanswered(held: Held) -> None:
    """Raise unless every question is answered; of a checklist, for every shot."""
    asked = held.slot.questions
    if any(kind_of(question).of_shots for question in asked):
        left = shots_left(held.slot, held.person)
        if left:
            text = ngettext(
                "Not yet looked at: shot %(shots)s.",
                "Not yet looked at: shots %(shots)s.",
                len(left),
            )
            raise AnswerError(text % {"shots": ", ".join(map(str, left))})
    missing = [
        question.title
        for question in asked
        if not kind_of(question).of_shots
        and is_required(question)
        and not any(answer.is_current for answer in held.revisions[question.pk])
    ]
    if missing:
        titles = ", ".join(missing)
        raise AnswerError(_("Not answered yet: %(titles)s.") % {"titles": titles})
