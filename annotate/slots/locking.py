"""Slots under lock: whose they are, until when, and what that allows."""

from collections.abc import Collection
from datetime import timedelta
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext as _

from annotate import event_log
from annotate.models import (
    Annotator,
    Event,
    Slot,
    Study,
    Unit,
)
from annotate.models.units import OUTPUTS
from annotate.slots.admission import lacking
from annotate.slots.errors import (
    AnswerError,
    LostSlotError,
    NotNowError,
)
from evalcore.database.prepared import Prepared
from evalcore.database.prepared_writes import count, store

# A lease that began so lately is not worth writing anew.
BARELY_BEGUN = timedelta(seconds=20)

LOCKED_ANNOTATOR = Prepared[Annotator](
    lambda pk: (
        Annotator.objects.select_for_update(of=("self",), no_key=True)
        .select_related("study")
        .defer(*(f"study__{name}" for name in Study.LONG))
        .filter(pk=pk)
    ),
    pk=int,
)
LOCKED_SLOT = Prepared[Slot](
    lambda pk: Slot.objects.select_for_update(no_key=True).filter(pk=pk), pk=int
)
LOCKED_UNIT = Prepared[tuple[int | None, ...]](
    lambda pk: (
        Unit.objects.select_for_update(no_key=True)
        .filter(pk=pk)
        .order_by()
        .values_list(*OUTPUTS)
    ),
    pk=int,
)
# Times play no part in it: a clock may be set back.
LAST_BEGUN = Prepared[int](
    lambda annotator: (
        Slot.objects.filter(
            annotator=annotator, started_at__isnull=False, position__isnull=False
        )
        .order_by("-position")
        .values_list("session", flat=True)[:1]
    ),
    annotator=int,
)


def renew(held: Slot) -> None:
    """Let the lease of a locked slot begin anew: somebody is at work.

    One that has just begun is left alone.
    """
    if held.state == Slot.State.LEASED:
        until = timezone.now() + lease_length(held.study)
        assert held.lease_until is not None
        if until - held.lease_until >= BARELY_BEGUN:
            held.lease_until = until
            store(held, "lease_until")


def locked_annotator(annotator: Annotator) -> Annotator:
    """Return the annotator as stored now, locked.

    Whoever changes slots of an annotator locks the annotator first and the slots then,
    so that nobody waits for each other.
    """
    return LOCKED_ANNOTATOR.one(pk=annotator.pk)


def lock_unit(pk: int) -> list[int]:
    """Lock a unit, before its slots, where its count or its set of slots changes.

    Returns
    -------
    list
        The ids of the outputs that it shows.
    """
    return [output for output in LOCKED_UNIT.one(pk=pk) if output is not None]


def lock_to_submit(slot: Slot, annotator: Annotator) -> Annotator:
    """Lock what submitting locks before the slot; return the annotator as stored now.

    Call where answers are stored first in the same transaction: that locks the slot.
    """
    locked_annotator(annotator)
    lock_unit(slot.unit_id)
    # The study is not locked, and may have closed while this waited.
    return locked_annotator(annotator)


def locked_slot(pk: int, study: Study) -> Slot:
    """Return a slot of a study as stored now, locked."""
    held = LOCKED_SLOT.one(pk=pk)
    held.study = study
    return held


def refuse_unless_held(held: Slot, person: Annotator) -> None:
    """Raise unless the person may answer the slot now; renew a lease that ran out.

    Call with both locked.
    """
    if person.state in (Annotator.State.REVOKED, Annotator.State.FAILED):
        raise NotNowError(_("This invitation is no longer valid."))
    if person.state == Annotator.State.PAUSED:
        raise NotNowError(_("Your work is paused; the study's manager knows why."))
    if first := lacking(person, held.purpose):
        raise NotNowError(first)
    if held.annotator_id != person.pk:
        raise LostSlotError(_("This story is now with somebody else."))
    if held.study.state != Study.State.OPEN:
        raise NotNowError(_("The study does not take answers at the moment."))
    if held.state == Slot.State.EXCLUDED:
        raise AnswerError(_("This answer is closed and cannot be changed."))
    if held.state == Slot.State.SUBMITTED and held.session != session_at_hand(person):
        raise AnswerError(_("This session is over; its answers stay as they are."))
    if held.state == Slot.State.OPEN:
        # The lease ran out, but nobody else has taken the slot.
        start_lease(held)


def start_lease(held: Slot, also: Collection[str] = ()) -> Slot:
    """Lease a locked slot to the annotator whose it is; log a new lease only.

    Stores the fields in `also` as well.
    """
    now = timezone.now()
    anew = held.state == Slot.State.OPEN
    held.state = Slot.State.LEASED
    held.lease += anew
    held.lease_until = now + lease_length(held.study)
    held.started_at = held.started_at or now
    held.offered_at = held.offered_at or held.started_at
    store(held, "state", "lease", "lease_until", "started_at", "offered_at", *also)
    if anew:
        chosen = {"probability": held.probability, "alternatives": held.alternatives}
        known: dict[str, Any] = chosen if held.probability is not None else {}
        event_log.note_slot(Event.Kind.SLOT_TAKEN, held, **known)
    return held


def session_at_hand(annotator: Annotator) -> int | None:
    """Return the session of the last slot, in their order, that the annotator began."""
    return LAST_BEGUN.first(annotator=annotator.pk)


def lease_length(study: Study) -> timedelta:
    """Return how long a slot stays with an annotator who gives no sign."""
    return timedelta(minutes=study.lease_minutes)


def count_submitted(slot: Slot, change: int) -> None:
    """Keep the unit's count of submitted slots, of those within the redundancy."""
    if slot.ordinal is not None:
        count(Unit, slot.unit_id, "submitted", change)
