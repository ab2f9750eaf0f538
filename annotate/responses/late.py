"""Answers to slots whose lease expired or was never taken."""

from datetime import UTC, datetime, timedelta

from django.core.signing import BadSignature, TimestampSigner, b62_decode
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from annotate import event_log
from annotate.kinds.base import SlotTakenError
from annotate.kinds.registry import tables_of
from annotate.models import (
    Annotator,
    Answer,
    Event,
    Look,
    Purpose,
    ShotComment,
    Slot,
    StoryComment,
    Study,
    Unit,
)
from annotate.responses.leasing import (
    CLOSED,
    has_room,
    last_place,
    lease_length,
    locked_annotator,
    may_work,
    take,
)

# The longest time between an offer and its answer, for annotators who are offline.
OFFER_LASTS = timedelta(days=30)


@transaction.atomic
def regain(
    annotator: Annotator, code: str, *, late: bool, proof: str = ""
) -> Slot | None:
    """Return the slot for late answers to one whose lease expired."""
    person = locked_annotator(annotator)
    if not may_work(person):
        return None
    begun = Event.objects.filter(kind=Event.Kind.SLOT_TAKEN, annotator=person)
    eligible = Q(pk__in=begun.values("slot"))
    if late and offered_at(annotator, code, proof) is not None:
        eligible |= Q(study=person.study_id)
    lost = (
        Slot.objects.filter(eligible, code=code, purpose=Purpose.REAL)
        .exclude(skips__annotator=person)
        .select_related("unit")
        .first()
    )
    if lost is None:
        return None
    # A picture of the unit may be replaced at this moment.
    Unit.objects.select_for_update(no_key=True).get(pk=lost.unit_id)
    if shows_replaced(person.study, code):
        return None
    own = Slot.objects.filter(
        unit=lost.unit_id, round=lost.round, annotator=person, purpose=Purpose.REAL
    ).first()
    if own is not None:
        # Late answers get the reason for refusal; the page itself is gone.
        return own if late or own.state not in CLOSED else None
    leases = list(begun.filter(slot=lost).order_by("pk"))
    since = leases[0].at if leases else None
    if lost.annotator_id is None and lost.state == Slot.State.OPEN and has_room(person):
        chosen = leases[-1].details if leases else {}
        lost.probability = chosen.get("probability")
        lost.alternatives = chosen.get("alternatives")
        lost.offered_at = since
        try:
            return take(lost, person)
        except SlotTakenError:
            lost.refresh_from_db()
    return _surplus_for(lost, person, since) if late else None


def shows_replaced(study: Study, code: str) -> bool:
    """Say whether a slot was closed because a picture that it shows was replaced.

    Its page shows the old picture, however late its answers arrive.
    """
    slot = study.slots.filter(code=code).values_list("pk", flat=True).first()
    replaced = study.events.filter(kind=Event.Kind.PICTURE_REPLACED)
    details = replaced.values_list("details", flat=True)
    return slot is not None and any(slot in one["closed"] for one in details)


def offer(annotator: Annotator, code: str) -> str:
    """Return a signed proof that this annotator was offered a slot."""
    return _signer(annotator, code).sign("")


def offered_at(annotator: Annotator, code: str, proof: str) -> datetime | None:
    """Return the time at which a proof offered the slot; None if invalid."""
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
    """Open a surplus slot for answers to a slot that the annotator lost."""
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
    _move_answers(lost, surplus)
    event_log.note_slot(Event.Kind.SLOT_LATE, surplus, instead_of=lost.code)
    return surplus


def _move_answers(lost: Slot, to: Slot) -> None:
    """Move the annotator's answers from a lost slot to another one."""
    tables: list[type[Answer | Look | ShotComment | StoryComment]]
    tables = [*tables_of(to.study), Look, ShotComment, StoryComment]
    for model in tables:
        model.objects.filter(slot=lost, annotator=to.annotator_id).update(slot=to)
