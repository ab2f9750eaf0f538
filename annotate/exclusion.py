"""Leaving a submitted slot out of the analysis, reversibly."""

from django.db import transaction
from django.db.models import Max
from django.utils import timezone
from django.utils.translation import gettext as _

from annotate import rating
from annotate.models import Event, Exclusion, Slot, User


class ExclusionError(ValueError):
    """The slot cannot be excluded or restored; the message says why."""


@transaction.atomic
def exclude(slot: Slot, *, reason: str, author: User | None) -> Exclusion:
    """Close a submitted slot as excluded and open a replacement for anyone.

    The answers stay; the replacement takes the next ordinal of the unit.
    """
    slot = Slot.objects.select_for_update().get(pk=slot.pk)
    if slot.state != Slot.State.SUBMITTED:
        raise ExclusionError(_("Only a submitted slot can be excluded."))
    if not reason.strip():
        raise ExclusionError(_("Please give a reason; it stands in the log."))
    needs_replacement = slot.ordinal is not None
    slot.state = Slot.State.EXCLUDED
    slot.save(update_fields=["state"])
    row = Exclusion.objects.create(slot=slot, reason=reason.strip(), author=author)
    if needs_replacement:
        _open_replacement(slot)
    _log(Event.Kind.SLOT_EXCLUDED, slot, author, reason=row.reason)
    return row


def _open_replacement(slot: Slot) -> Slot:
    same = Slot.objects.filter(unit=slot.unit_id, round=slot.round)
    latest = same.aggregate(Max("ordinal"))["ordinal__max"] or 0
    return Slot.objects.create(
        study_id=slot.study_id,
        unit_id=slot.unit_id,
        round=slot.round,
        ordinal=latest + 1,
        a_is_left=slot.a_is_left is not False,
    )


@transaction.atomic
def undo(exclusion: Exclusion, *, author: User | None) -> Slot:
    """Restore an excluded slot.

    A replacement that nobody holds disappears; one that somebody has answered, or is
    answering now, becomes surplus: it is kept without ordinal, outside the redundancy.
    """
    slot = Slot.objects.select_for_update().get(pk=exclusion.slot_id)
    exclusion = Exclusion.objects.select_for_update().get(pk=exclusion.pk)
    if exclusion.undone_at is not None:
        raise ExclusionError(_("This exclusion was undone before."))
    exclusion.undone_at = timezone.now()
    exclusion.save(update_fields=["undone_at"])
    slot.state = Slot.State.SUBMITTED
    slot.save(update_fields=["state"])
    if slot.ordinal is not None:
        _drop_replacement(slot)
    _log(Event.Kind.EXCLUSION_UNDONE, slot, author)
    return slot


def _drop_replacement(slot: Slot) -> None:
    """Take the latest slot of the unit out of the redundancy, if there is one more."""
    counted = Slot.objects.filter(
        unit=slot.unit_id, round=slot.round, ordinal__isnull=False
    ).exclude(state=Slot.State.EXCLUDED)
    if counted.count() <= slot.study.redundancy:
        return
    others = counted.exclude(pk=slot.pk).order_by("-ordinal")
    unheld = others.filter(annotator__isnull=True).first()
    if unheld is not None:
        rating.discard(unheld)
        return
    latest = others.first()
    latest.ordinal = None
    latest.save(update_fields=["ordinal"])


def _log(kind: str, slot: Slot, author: User | None, **details: object) -> None:
    Event.objects.create(
        study_id=slot.study_id,
        kind=kind,
        slot=slot,
        annotator_id=slot.annotator_id,
        user=author,
        details=details,
    )
