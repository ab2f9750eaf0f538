"""Return slots to the study: skipped, expired, freed or withdrawn."""

from datetime import datetime
from math import floor

from django.db import transaction
from django.db.models import Count, Max, QuerySet
from django.utils import timezone

from annotate import event_log
from annotate.kinds.base import SlotTakenError
from annotate.models import Annotator, Event, Skip, Slot, Study, Unit
from annotate.responses.leasing import (
    UNFINISHED,
    locked_annotator,
    may_work,
    own_locked_slot,
)


def allowed(study: Study, sittings: int | None) -> int:
    """Return the number of skips without an explanation that sittings allow."""
    share = study.skip_share
    easy = max(1, floor(share * study.session_size)) if share else 0
    return easy * max(1, sittings or 1)


def needs_words(slot: Slot, annotator: Annotator, skipped: int) -> bool:
    """Return whether skipping this slot needs an explanation."""
    return skipped >= allowed(annotator.study, slot.session)


def with_reason(unit: Unit) -> int:
    """Count people within their allowance who gave a reason for skipping."""
    skips = unit.skips.exclude(comment="")
    people = set(skips.values_list("annotator", flat=True))
    begun = Slot.objects.filter(annotator__in=people, started_at__isnull=False)
    sittings = dict(
        begun.order_by().values_list("annotator").annotate(n=Max("session"))
    )
    every = Skip.objects.filter(annotator__in=people).order_by()
    skipped = every.values_list("annotator").annotate(n=Count("pk"))
    return sum(n <= allowed(unit.study, sittings.get(pk)) for pk, n in skipped)


# With this many explained skips, a unit is likely to be faulty.
SKIPS_TO_SET_ASIDE = 3


@transaction.atomic
def skip(slot: Slot, annotator: Annotator, *, reason: str, comment: str = "") -> Skip:
    """Skip a unit: free its slot for others, never for this annotator."""
    person = locked_annotator(annotator)
    held = own_locked_slot(slot.code, person, closes=True)
    if not may_work(person):
        raise SlotTakenError("This study has no stories for this annotator now.")
    if held is None or held.state not in UNFINISHED:
        raise SlotTakenError("This story is assigned to somebody else, or closed.")
    unit = held.unit
    row = Skip.objects.create(
        slot=held, unit=unit, annotator=person, reason=reason, comment=comment
    )
    same = Slot.objects.filter(annotator=person, unit=unit, state__in=UNFINISHED)
    others = same.exclude(pk=held.pk).select_for_update(no_key=True)
    for left in [held, *others.order_by("pk")]:
        _leave(left, person, reason)
    if unit.set_aside_at is None and with_reason(unit) >= SKIPS_TO_SET_ASIDE:
        unit.set_aside_at = timezone.now()
        unit.save(update_fields=["set_aside_at"])
    return row


def _leave(slot: Slot, person: Annotator, reason: str) -> None:
    """Free a locked slot, or withdraw it if it was for this person only."""
    if slot.ordinal is None:
        withdraw(slot)
        return
    free(slot)
    store_freed([slot])
    event_log.note_slot(Event.Kind.SLOT_SKIPPED, slot, by=person.pk, reason=reason)


def release_expired() -> int:
    """Free slots whose lease has expired; return their number."""
    expired = due(timezone.now())
    # Check before locking: usually no lease has expired.
    return _release(expired) if expired.exists() else 0


def due(now: datetime) -> QuerySet[Slot]:
    return Slot.objects.filter(state=Slot.State.LEASED, lease_until__lt=now)


@transaction.atomic
def _release(due: QuerySet[Slot]) -> int:
    # SQLite cannot skip locked rows, but has only one writer.
    skips = transaction.get_connection().features.has_select_for_update_skip_locked
    rows = due.select_for_update(no_key=True, skip_locked=skips)
    expired = list(rows.order_by("pk"))
    before = [(slot, slot.annotator_id) for slot in expired]
    for slot in expired:
        slot.state, slot.lease_until = Slot.State.OPEN, None
        if slot.claimed and slot.ordinal is not None:
            free(slot)
    store_freed(expired)
    event_log.note_each(Event.Kind.SLOT_EXPIRED, before)
    return len(expired)


# The fields of a slot that no annotator holds.
FREED = {
    "state": Slot.State.OPEN,
    "lease_until": None,
    "started_at": None,
    "offered_at": None,
    "annotator": None,
    "session": None,
    "position": None,
    "probability": None,
    "alternatives": None,
    "claimed": False,
}


def free(slot: Slot) -> None:
    for name, value in FREED.items():
        setattr(slot, name, value)


def store_freed(slots: list[Slot]) -> None:
    Slot.objects.bulk_update(slots, [*FREED, "ordinal"], batch_size=500)


def free_unfinished(annotator: Annotator) -> int:
    """Free all unsubmitted slots of an annotator; return their number."""
    held = Slot.objects.filter(annotator=annotator, state__in=UNFINISHED)
    locked = list(held.select_for_update(no_key=True).order_by("pk"))
    for own in [slot for slot in locked if slot.ordinal is None]:
        withdraw(own)
    freed = [slot for slot in locked if slot.ordinal is not None]
    for slot in freed:
        free(slot)
    store_freed(freed)
    event_log.note_each(Event.Kind.SLOT_FREED, [(slot, annotator.pk) for slot in freed])
    return len(freed)


def withdraw(slot: Slot) -> None:
    """Withdraw a slot; its drafts are kept but not used."""
    if slot.submitted_at is not None:
        raise ValueError(f"Slot {slot.code} was submitted; its answers are kept.")
    before = slot.annotator_id
    free(slot)
    slot.state, slot.ordinal = Slot.State.WITHDRAWN, None
    store_freed([slot])
    event_log.note_slot(Event.Kind.SLOT_WITHDRAWN, slot, by=before)
