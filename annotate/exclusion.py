"""Leaving a submitted slot out of the analysis, reversibly."""

from django.db import transaction
from django.db.models import Max
from django.utils import timezone

from annotate.models import Event, Exclusion, Slot, Study, User


class ExclusionError(ValueError):
    """The slot cannot be excluded or restored; the message says why."""


@transaction.atomic
def exclude(slot: Slot, *, reason: str, author: User | None) -> Exclusion:
    """Close a submitted slot as excluded and open a replacement for anyone.

    The answers stay; the replacement takes the next ordinal of the unit.
    """
    slot = Slot.objects.select_for_update().get(pk=slot.pk)
    if slot.state != Slot.State.SUBMITTED:
        raise ExclusionError("Only a submitted slot can be excluded.")
    if not reason.strip():
        raise ExclusionError("Please give a reason; it stands in the log.")
    needs_replacement = slot.ordinal is not None
    slot.state = Slot.State.EXCLUDED
    slot.save(update_fields=["state"])
    row = Exclusion.objects.create(slot=slot, reason=reason.strip(), author=author)
    if needs_replacement:
        _open_replacement(slot)
    _log("slot excluded", slot, author, reason=row.reason)
    return row


def _open_replacement(slot: Slot) -> Slot:
    same = Slot.objects.filter(unit=slot.unit_id, round=slot.round)
    latest = same.aggregate(Max("ordinal"))["ordinal__max"] or 0
    return Slot.objects.create(
        study_id=slot.study_id,
        unit_id=slot.unit_id,
        round=slot.round,
        ordinal=latest + 1,
        a_is_left=slot.a_is_left,
    )


@transaction.atomic
def undo(exclusion: Exclusion, *, author: User | None) -> Slot:
    """Restore an excluded slot.

    A replacement that nobody has answered disappears; an answered one becomes surplus:
    it is kept without ordinal, outside the redundancy.
    """
    if exclusion.undone_at is not None:
        raise ExclusionError("This exclusion was undone before.")
    slot = Slot.objects.select_for_update().get(pk=exclusion.slot_id)
    exclusion.undone_at = timezone.now()
    exclusion.save(update_fields=["undone_at"])
    slot.state = Slot.State.SUBMITTED
    slot.save(update_fields=["state"])
    if slot.ordinal is not None:
        _remove_replacement(slot)
    _log("exclusion undone", slot, author)
    return slot


def _remove_replacement(slot: Slot) -> None:
    study = Study.objects.get(pk=slot.study_id)
    counted = Slot.objects.filter(
        unit=slot.unit_id, round=slot.round, ordinal__isnull=False
    ).exclude(state=Slot.State.EXCLUDED)
    if counted.count() <= study.redundancy:
        return
    later = counted.exclude(pk=slot.pk).order_by("-ordinal")
    unanswered = later.filter(state=Slot.State.OPEN, annotator__isnull=True).first()
    if unanswered is not None:
        unanswered.delete()
        return
    answered = later.filter(state=Slot.State.SUBMITTED).first()
    if answered is not None:
        answered.ordinal = None
        answered.save(update_fields=["ordinal"])


def _log(kind: str, slot: Slot, author: User | None, **details: object) -> None:
    Event.objects.create(
        study_id=slot.study_id,
        kind=kind,
        slot=slot,
        annotator_id=slot.annotator_id,
        user=author,
        details=details,
    )
