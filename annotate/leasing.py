"""Who may fill a slot, and until when.

A slot is planned for one annotator. Taking it is one conditional UPDATE, so that two
browsers cannot both win; a lease that runs out puts the slot back, and the draft stays
with its annotator. Slots without annotator (freed by a revoked invitation, or opened
by an exclusion) go to whoever has finished the own plan and does not hold the unit in
the same round; such a claimed slot becomes free again when its lease runs out.
"""

from datetime import datetime

from django.db import IntegrityError, transaction
from django.db.models import Exists, Max, OuterRef, QuerySet
from django.utils import timezone

from annotate.models import Annotator, Event, Slot, Study
from annotate.rating import (
    discard,
    lease_length,
    locked_annotator,
    session_at_hand,
    submit_slot,
)

UNFINISHED = (Slot.State.OPEN, Slot.State.LEASED)
FREE = {"annotator": None, "session": None, "position": None, "claimed": False}


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

    First comes the own plan in its order, then a free slot that this annotator may
    take. There is nothing for somebody who was revoked, or in a study that takes no
    answers.
    """
    if not _may_work(annotator):
        return None
    own = own_slots(annotator).filter(state__in=UNFINISHED).first()
    return own or free_slots(annotator).first()


def _may_work(annotator: Annotator) -> bool:
    return (
        Annotator.objects.filter(pk=annotator.pk, study__state=Study.State.OPEN)
        .exclude(state=Annotator.State.REVOKED)
        .exists()
    )


def free_slots(annotator: Annotator) -> QuerySet[Slot]:
    """Return the slots that nobody holds and this annotator may take.

    A unit is judged once in each round. Stories that are new in the session at hand
    come first; when only others are left, the next one opens a new session.
    """
    held = Slot.objects.filter(annotator=annotator)
    same = held.filter(unit=OuterRef("unit"), round=OuterRef("round"))
    here = held.filter(session=session_at_hand(annotator))
    return (
        Slot.objects.filter(
            ~Exists(same),
            study=annotator.study_id,
            annotator__isnull=True,
            state=Slot.State.OPEN,
        )
        .annotate(again=Exists(here.filter(unit__story=OuterRef("unit__story"))))
        .order_by("again", "round", "unit", "ordinal")
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
    if not _may_work(person):
        raise SlotTakenError("This study has no work for this annotator now.")
    now = timezone.now()
    if slot.annotator_id is None:
        _claim(slot, person)
    changed = Slot.objects.filter(
        pk=slot.pk, annotator=person, state__in=UNFINISHED
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
            annotator=person,
            slot=slot,
        )
    slot.refresh_from_db()
    return slot


@transaction.atomic
def submit(*, slot: Slot, annotator: Annotator, seconds: float | None = None) -> Slot:
    """Submit a slot; see whether the annotator has finished by that."""
    locked_annotator(annotator)
    submitted = submit_slot(slot=slot, annotator=annotator, seconds=seconds)
    finish_if_done(annotator)
    return submitted


@transaction.atomic
def finish_if_done(annotator: Annotator) -> bool:
    """Mark an annotator as finished who has submitted the whole plan.

    Somebody without a plan, who takes over free slots, has finished when none is left.
    """
    person = locked_annotator(annotator)
    own = own_slots(person)
    planned = own.filter(claimed=False).exists()
    if (
        person.state != Annotator.State.ACTIVE
        or own.filter(state__in=UNFINISHED).exists()
        or not own.exists()
        or (not planned and free_slots(person).exists())
    ):
        return False
    person.state = annotator.state = Annotator.State.FINISHED
    person.finished_at = annotator.finished_at = timezone.now()
    person.save(update_fields=["state", "finished_at"])
    Event.objects.create(
        study_id=person.study_id,
        kind=Event.Kind.ANNOTATOR_FINISHED,
        annotator=person,
    )
    return True


def _claim(slot: Slot, annotator: Annotator) -> None:
    """Make a free slot the annotator's last one."""
    position = Slot.objects.filter(annotator=annotator).aggregate(Max("position"))
    try:
        with transaction.atomic():
            Slot.objects.filter(
                pk=slot.pk, annotator__isnull=True, state=Slot.State.OPEN
            ).update(
                annotator=annotator,
                session=session_for(slot, annotator),
                position=(position["position__max"] or 0) + 1,
                claimed=True,
            )
    except IntegrityError as error:
        raise SlotTakenError("You have judged this story already.") from error


def session_for(slot: Slot, annotator: Annotator) -> int:
    """Return the session in which the annotator would do a slot.

    A free one joins the session at hand unless that is full or has the story.
    """
    if slot.session is not None:
        return slot.session
    latest = own_slots(annotator).last()
    if latest is None:
        return 1
    session = latest.session or 1
    here = own_slots(annotator).filter(session=session)
    full = here.count() >= annotator.study.session_size
    return session + (full or here.filter(unit__story=slot.unit.story_id).exists())


@transaction.atomic
def release_expired(now: datetime | None = None) -> int:
    """Put slots whose lease has run out back; return how many.

    A planned one stays with its annotator, a claimed one becomes free for anyone.
    """
    expired = Slot.objects.filter(
        state=Slot.State.LEASED, lease_until__lt=now or timezone.now()
    )
    put_back = {"state": Slot.State.OPEN, "lease_until": None}
    claimed = expired.filter(claimed=True, ordinal__isnull=False)
    freed = claimed.update(**put_back, **FREE, started_at=None)
    return freed + expired.update(**put_back)


def free_unfinished(annotator: Annotator) -> int:
    """Give all unsubmitted slots of an annotator back to the study; return how many.

    Call with the annotator locked.
    """
    held = Slot.objects.filter(annotator=annotator, state__in=UNFINISHED)
    locked = list(held.select_for_update(no_key=True).order_by("pk"))
    for surplus in [slot for slot in locked if slot.ordinal is None]:
        discard(surplus)
    return held.update(state=Slot.State.OPEN, lease_until=None, started_at=None, **FREE)
