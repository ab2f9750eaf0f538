"""Who may fill a slot, and until when.

Taking a slot is one conditional UPDATE, so that two browsers cannot both win. A lease
that runs out puts the slot back, and the draft stays with its annotator: a planned slot
waits for them, a claimed one is free for anyone. An answer that comes after that is
accepted while the slot is free, and otherwise kept as surplus.
"""

from datetime import datetime

from django.db import IntegrityError, transaction
from django.db.models import Count, Max, QuerySet
from django.utils import timezone

from annotate import log
from annotate.models import (
    Annotator,
    Choice,
    Event,
    Purpose,
    Rating,
    Skip,
    Slot,
    Study,
    Unit,
)
from annotate.rating import lease_length, locked_annotator, start_lease

UNFINISHED = (Slot.State.OPEN, Slot.State.LEASED)
# Between two slots of a plan there is room for checks, before the first for training.
FIRST_POSITION, SPACING = 100, 10
# So many people who skip a unit mean that something is wrong with it.
SKIPS_TO_SET_ASIDE = 3


class SlotTakenError(Exception):
    """Somebody else holds the slot, or it is closed."""


def own_slots(annotator: Annotator) -> QuerySet[Slot]:
    """Return the annotator's slots in the order in which they are shown."""
    closed = (Slot.State.EXCLUDED, Slot.State.WITHDRAWN)
    return (
        Slot.objects.filter(annotator=annotator, position__isnull=False)
        .exclude(state__in=closed)
        .order_by("position")
    )


def may_work(annotator: Annotator) -> bool:
    """Say whether this person may do anything now, as the row at hand tells."""
    return (
        annotator.study.state == Study.State.OPEN
        and annotator.state not in Annotator.STOPPED
    )


@transaction.atomic
def take(slot: Slot, annotator: Annotator) -> Slot:
    """Lease a slot to the annotator and return it as it now stands.

    Raises
    ------
    SlotTakenError
        The slot went to somebody else in the meantime, or the annotator may not work.
    """
    person = locked_annotator(annotator)
    if not may_work(person):
        raise SlotTakenError("This study has no work for this annotator now.")
    if slot.annotator_id is None:
        _claim(slot, person)
    held = _locked(slot.pk)
    if held.annotator_id != person.pk or held.state not in UNFINISHED:
        raise SlotTakenError("This story is with somebody else, or closed.")
    return start_lease(held)


def _locked(pk: int) -> Slot:
    return (
        Slot.objects.select_for_update(of=("self",), no_key=True)
        .select_related("study", "unit")
        .get(pk=pk)
    )


def _claim(slot: Slot, annotator: Annotator) -> None:
    """Make a free slot the annotator's last one."""
    try:
        with transaction.atomic():
            Slot.objects.filter(
                pk=slot.pk, annotator__isnull=True, state=Slot.State.OPEN
            ).update(
                annotator=annotator,
                session=session_for(slot, annotator),
                position=claim_position(annotator),
                probability=slot.probability,
                alternatives=slot.alternatives,
                claimed=True,
            )
    except IntegrityError as error:
        raise SlotTakenError("You have judged this story already.") from error


def claim_position(annotator: Annotator) -> int:
    """Return where a slot stands that the annotator takes over now."""
    real = Slot.objects.filter(annotator=annotator, purpose=Purpose.REAL)
    last = real.aggregate(last=Max("position"))["last"]
    return FIRST_POSITION if last is None else last + SPACING


def session_for(slot: Slot, annotator: Annotator) -> int:
    """Return the session in which the annotator would do a slot.

    A free one joins the session at hand unless that is full or has the story.
    """
    if slot.session is not None:
        return slot.session
    real = own_slots(annotator).filter(purpose=Purpose.REAL)
    session = real.aggregate(last=Max("session"))["last"] or 1
    here = own_slots(annotator).filter(session=session)
    full = here.filter(purpose=Purpose.REAL).count() >= annotator.study.session_size
    return session + (full or here.filter(unit__story=slot.unit.story_id).exists())


def renew(slot: Slot, annotator: Annotator) -> bool:
    """Let a lease run on because its annotator gives a sign; say whether it does."""
    renewed = Slot.objects.filter(
        pk=slot.pk, annotator=annotator, state=Slot.State.LEASED
    ).update(lease_until=timezone.now() + lease_length(slot.study))
    Annotator.objects.filter(pk=annotator.pk).update(last_seen_at=timezone.now())
    return bool(renewed)


@transaction.atomic
def release_expired(now: datetime | None = None) -> int:
    """Put slots whose lease has run out back; return how many.

    A planned one stays with its annotator, a claimed one becomes free for anyone.
    """
    expired = list(
        Slot.objects.select_for_update(no_key=True, skip_locked=_can_skip_locked())
        .filter(state=Slot.State.LEASED, lease_until__lt=now or timezone.now())
        .order_by("pk")
    )
    before = [(slot, slot.annotator_id) for slot in expired]
    for slot in expired:
        slot.state, slot.lease_until = Slot.State.OPEN, None
        if slot.claimed and slot.ordinal is not None:
            _free(slot)
    _store(expired)
    log.note_each(Event.Kind.SLOT_EXPIRED, before)
    return len(expired)


def _can_skip_locked() -> bool:
    """Say whether locked rows can be passed over; SQLite has one writer anyway."""
    return transaction.get_connection().features.has_select_for_update_skip_locked


def _free(slot: Slot) -> None:
    slot.state, slot.lease_until, slot.started_at = Slot.State.OPEN, None, None
    slot.annotator = slot.session = slot.position = None
    slot.probability = slot.alternatives = None
    slot.claimed = False


STORED = [
    "state", "lease_until", "started_at", "annotator", "session", "position",
    "probability", "alternatives", "claimed", "ordinal",
]  # fmt: skip


def _store(slots: list[Slot]) -> None:
    Slot.objects.bulk_update(slots, STORED, batch_size=500)


def free_unfinished(annotator: Annotator) -> int:
    """Give all unsubmitted slots of an annotator back to the study; return how many.

    What only concerned this annotator, surplus and checks, is withdrawn. Call with the
    annotator locked.
    """
    held = Slot.objects.filter(annotator=annotator, state__in=UNFINISHED)
    locked = list(held.select_for_update(no_key=True).order_by("pk"))
    for own in [slot for slot in locked if slot.ordinal is None]:
        withdraw(own)
    freed = [slot for slot in locked if slot.ordinal is not None]
    for slot in freed:
        _free(slot)
    _store(freed)
    log.note_each(Event.Kind.SLOT_FREED, [(slot, annotator.pk) for slot in freed])
    return len(freed)


def withdraw(slot: Slot) -> None:
    """Ask nobody for this judgement any more; drafts in it are kept, unused.

    Call with the slot locked. A submitted slot cannot be withdrawn.
    """
    if slot.submitted_at is not None:
        raise ValueError(f"Slot {slot.code} was submitted; its answers are kept.")
    before = slot.annotator_id
    _free(slot)
    slot.state, slot.ordinal = Slot.State.WITHDRAWN, None
    _store([slot])
    log.note_slot(Event.Kind.SLOT_WITHDRAWN, slot, by=before)


@transaction.atomic
def skip(slot: Slot, annotator: Annotator, *, reason: str, comment: str = "") -> Skip:
    """Let somebody else judge a unit; this annotator never gets it again.

    A unit that several people skip is set aside until a manager has looked at it.
    """
    person = locked_annotator(annotator)
    unit = Unit.objects.select_for_update(no_key=True).get(pk=slot.unit_id)
    held = _locked(slot.pk)
    if held.annotator_id != person.pk or held.state not in UNFINISHED:
        raise SlotTakenError("This story is with somebody else, or closed.")
    row = Skip.objects.create(
        slot=held, unit=unit, annotator=person, reason=reason, comment=comment
    )
    if held.ordinal is None:
        withdraw(held)
    else:
        _free(held)
        _store([held])
        log.note_slot(Event.Kind.SLOT_SKIPPED, held, by=person.pk, reason=reason)
    people = unit.skips.aggregate(n=Count("annotator", distinct=True))["n"]
    if people >= SKIPS_TO_SET_ASIDE and unit.set_aside_at is None:
        unit.set_aside_at = timezone.now()
        unit.save(update_fields=["set_aside_at"])
    return row


@transaction.atomic
def regain(annotator: Annotator, code: str, *, late: bool) -> Slot | None:
    """Return the slot for what an annotator does on one whose lease ran out.

    While the slot is free it is theirs again. When somebody else has it, an answer
    (`late`) goes to a surplus slot, and the drafts move there; otherwise there is none.
    """
    person = locked_annotator(annotator)
    if not may_work(person):
        return None
    begun = Event.objects.filter(kind=Event.Kind.SLOT_TAKEN, annotator=person)
    lost = (
        Slot.objects.filter(code=code, purpose=Purpose.REAL)
        .filter(pk__in=begun.values("slot"))
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
        return own
    if lost.annotator_id is None and lost.state == Slot.State.OPEN:
        try:
            return take(lost, person)
        except SlotTakenError:
            lost.refresh_from_db()
    return _surplus_for(lost, person) if late else None


def _surplus_for(lost: Slot, person: Annotator) -> Slot:
    """Open a slot outside the redundancy for what somebody did on a lost one."""
    now = timezone.now()
    surplus = Slot.objects.create(
        study_id=lost.study_id,
        unit_id=lost.unit_id,
        round=lost.round,
        state=Slot.State.LEASED,
        annotator=person,
        session=session_for(Slot(unit=lost.unit), person),
        position=claim_position(person),
        claimed=True,
        a_is_left=lost.a_is_left,
        lease=1,
        lease_until=now + lease_length(person.study),
        started_at=now,
    )
    for model in (Rating, Choice):
        model.objects.filter(slot=lost, annotator=person).update(slot=surplus)
    log.note_slot(Event.Kind.SLOT_LATE, surplus, instead_of=lost.code)
    return surplus
