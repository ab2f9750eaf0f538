"""Who may fill a slot, and until when.

A slot is planned for one annotator. Taking it is one conditional UPDATE, so that two
browsers cannot both win; a lease that runs out puts the slot back, and the draft stays
with its annotator. Slots without annotator (freed by a revoked invitation, or opened
by an exclusion) go to whoever has finished the own plan and has not seen the unit.
"""

from datetime import datetime

from django.db import IntegrityError, transaction
from django.db.models import Exists, Max, OuterRef, QuerySet
from django.utils import timezone

from annotate.models import Annotator, Event, Slot
from annotate.rating import discard, lease_length, submit_slot

UNFINISHED = (Slot.State.OPEN, Slot.State.LEASED)


class SlotTakenError(Exception):
    """Somebody else holds the slot, or it is closed."""


def own_slots(annotator: Annotator) -> QuerySet[Slot]:
    """Return the annotator's slots in the order in which they are shown."""
    return (
        Slot.objects.filter(annotator=annotator, position__isnull=False)
        .exclude(state=Slot.State.EXCLUDED)
        .order_by("position")
    )


def next_slot(annotator: Annotator) -> Slot | None:
    """Return what the annotator should do next; reads only.

    First comes the own plan in its order, then a free slot of a unit that this
    annotator does not hold yet.
    """
    own = own_slots(annotator).filter(state__in=UNFINISHED).first()
    return own or free_slots(annotator).first()


def free_slots(annotator: Annotator) -> QuerySet[Slot]:
    """Return the slots that nobody holds and this annotator may take.

    Stories that are new in the session at hand come first; when only others are left,
    the next one opens a new session.
    """
    seen = Slot.objects.filter(annotator=annotator)
    latest = own_slots(annotator).last()
    here = seen.filter(session=latest.session) if latest else seen.none()
    return (
        Slot.objects.filter(
            study=annotator.study_id, annotator__isnull=True, state=Slot.State.OPEN
        )
        .exclude(unit__in=seen.values("unit"))
        .annotate(again=Exists(here.filter(unit__story=OuterRef("unit__story"))))
        .order_by("again", "unit", "round", "ordinal")
    )


def take(slot: Slot, annotator: Annotator) -> Slot:
    """Lease a slot to the annotator and return it as it now stands.

    Raises
    ------
    SlotTakenError
        The slot went to somebody else in the meantime, or is closed.
    """
    now = timezone.now()
    with transaction.atomic():
        if slot.annotator_id is None:
            _claim(slot, annotator)
        changed = Slot.objects.filter(
            pk=slot.pk, annotator=annotator, state__in=UNFINISHED
        ).update(
            state=Slot.State.LEASED,
            lease_until=now + lease_length(annotator.study),
            started_at=slot.started_at or now,
        )
        if not changed:
            raise SlotTakenError("This story is with somebody else, or closed.")
        if slot.started_at is None:
            Event.objects.create(
                study_id=slot.study_id,
                kind=Event.Kind.SLOT_TAKEN,
                annotator=annotator,
                slot=slot,
            )
    slot.refresh_from_db()
    return slot


@transaction.atomic
def submit(*, slot: Slot, annotator: Annotator, seconds: float | None = None) -> Slot:
    """Submit a slot; the annotator for whom nothing is left has finished."""
    submitted = submit_slot(slot=slot, annotator=annotator, seconds=seconds)
    if annotator.state == Annotator.State.ACTIVE and next_slot(annotator) is None:
        annotator.state = Annotator.State.FINISHED
        annotator.finished_at = timezone.now()
        annotator.save(update_fields=["state", "finished_at"])
        Event.objects.create(
            study_id=slot.study_id,
            kind=Event.Kind.ANNOTATOR_FINISHED,
            annotator=annotator,
        )
    return submitted


def _claim(slot: Slot, annotator: Annotator) -> None:
    """Make a free slot the annotator's last one."""
    position = Slot.objects.filter(annotator=annotator).aggregate(Max("position"))
    try:
        with transaction.atomic():
            Slot.objects.filter(pk=slot.pk, annotator__isnull=True).update(
                annotator=annotator,
                session=_session_for(slot, annotator),
                position=(position["position__max"] or 0) + 1,
            )
    except IntegrityError as error:
        raise SlotTakenError("You have judged this story already.") from error


def _session_for(slot: Slot, annotator: Annotator) -> int:
    """Return the session at hand, or the next one if it is full or has the story."""
    latest = own_slots(annotator).last()
    if latest is None:
        return 1
    session = latest.session or 1
    here = own_slots(annotator).filter(session=session)
    full = here.count() >= annotator.study.session_size
    return session + (full or here.filter(unit__story=slot.unit.story_id).exists())


def release_expired(now: datetime | None = None) -> int:
    """Put slots whose lease has run out back; return how many."""
    return Slot.objects.filter(
        state=Slot.State.LEASED, lease_until__lt=now or timezone.now()
    ).update(state=Slot.State.OPEN, lease_until=None)


def free_unfinished(annotator: Annotator) -> int:
    """Give all unsubmitted slots of an annotator back to the study; return how many."""
    held = Slot.objects.filter(annotator=annotator, state__in=UNFINISHED)
    for surplus in held.filter(ordinal__isnull=True):
        discard(surplus)
    return held.update(
        state=Slot.State.OPEN,
        annotator=None,
        session=None,
        position=None,
        lease_until=None,
        started_at=None,
    )
