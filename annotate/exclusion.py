"""Leaving a submitted slot out of the analysis, reversibly."""

from django.db import transaction
from django.db.models import Max
from django.utils import timezone
from django.utils.translation import gettext as _

from annotate import leasing, log
from annotate.models import AnalysisView, Event, Exclusion, Slot, Unit, User
from annotate.rating import count_submitted

LONGEST_REASON = Exclusion._meta.get_field("reason").max_length


class ExclusionError(ValueError):
    """The slot cannot be excluded or restored; the message says why."""


@transaction.atomic
def exclude(
    slot: Slot, *, reason: str, author: User | None, rule: str = ""
) -> Exclusion:
    """Close a submitted slot as excluded and open a replacement for anyone.

    The answers stay, hidden from the view `main`; the replacement takes the next
    ordinal of the unit. The author is a user, or a quality rule (its key).
    """
    reason = reason.strip()
    slot = _locked(slot.pk)
    if slot.state != Slot.State.SUBMITTED:
        raise ExclusionError(_("Only a submitted slot can be excluded."))
    if not reason:
        raise ExclusionError(_("Please give a reason; it stands in the log."))
    if len(reason) > LONGEST_REASON:
        text = _("A reason has at most %(n)d letters.")
        raise ExclusionError(text % {"n": LONGEST_REASON})
    slot.state = Slot.State.EXCLUDED
    slot.save(update_fields=["state"])
    count_submitted(slot, -1)
    log.note_slot(Event.Kind.SLOT_EXCLUDED, slot, user=author, reason=reason, rule=rule)
    row = Exclusion.objects.create(
        slot=slot,
        reason=reason,
        author=author,
        rule=rule,
        replacement=None if slot.ordinal is None else _open_replacement(slot),
    )
    row.views.set(AnalysisView.objects.filter(study=slot.study_id, key="main"))
    return row


def _locked(pk: int) -> Slot:
    """Return a slot after locking its unit, so that one change at a time is made."""
    unit = Slot.objects.values_list("unit", flat=True).get(pk=pk)
    Unit.objects.select_for_update(no_key=True).get(pk=unit)
    return Slot.objects.select_for_update(of=("self",), no_key=True).get(pk=pk)


def _open_replacement(slot: Slot) -> Slot:
    same = Slot.objects.filter(unit=slot.unit_id, round=slot.round)
    latest = same.aggregate(Max("ordinal"))["ordinal__max"] or 0
    replacement = Slot.objects.create(
        study_id=slot.study_id,
        unit_id=slot.unit_id,
        round=slot.round,
        ordinal=latest + 1,
        level=slot.level,
        language=slot.language,
        a_is_left=slot.a_is_left is not False,
    )
    log.note_slot(Event.Kind.SLOT_OPENED, replacement, instead_of=slot.code)
    return replacement


@transaction.atomic
def undo(exclusion: Exclusion, *, author: User | None) -> Slot:
    """Restore an excluded slot.

    Its replacement disappears if nobody holds it; one that somebody has answered, or is
    answering now, becomes surplus: it is kept without ordinal, outside the redundancy.
    Where the replacement has given its place up already, the restored slot is surplus.
    """
    slot = _locked(exclusion.slot_id)
    exclusion = Exclusion.objects.get(pk=exclusion.pk)
    if exclusion.undone_at is not None:
        raise ExclusionError(_("This exclusion was undone before."))
    exclusion.undone_at = timezone.now()
    exclusion.save(update_fields=["undone_at"])
    slot.state = Slot.State.SUBMITTED
    if slot.ordinal is not None and not _drop(exclusion.replacement_id):
        slot.ordinal = None
    slot.save(update_fields=["state", "ordinal"])
    count_submitted(slot, 1)
    log.note_slot(Event.Kind.EXCLUSION_UNDONE, slot, user=author)
    return slot


def _drop(replacement_id: int | None) -> bool:
    """Take a replacement, or what took its place, out of the redundancy.

    Return whether there was one.
    """
    slots = Slot.objects.select_for_update(of=("self",), no_key=True)
    replacement = slots.filter(pk=replacement_id).first()
    while replacement is not None and replacement.state == Slot.State.EXCLUDED:
        excluded = replacement.exclusions.get(undone_at__isnull=True)
        replacement = slots.filter(pk=excluded.replacement_id).first()
    if replacement is None or replacement.ordinal is None:
        return False
    if replacement.annotator_id is None:
        leasing.withdraw(replacement)
    else:
        if replacement.state == Slot.State.SUBMITTED:
            count_submitted(replacement, -1)
        replacement.ordinal = None
        replacement.save(update_fields=["ordinal"])
        log.note_slot(Event.Kind.SLOT_SURPLUS, replacement)
    return True
