"""Leave submitted slots out of the analysis, one or all of a person, and undo it."""

from collections.abc import Iterable

from django.db import transaction
from django.db.models import F, Max
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from annotate import event_log
from annotate.models import (
    FINAL,
    MAIN,
    PICTURE_REPLACED,
    WITHDRAWN,
    AnalysisView,
    Annotator,
    Event,
    Exclusion,
    Purpose,
    Slot,
    Study,
    Unit,
    User,
)
from annotate.responses import giving_back
from annotate.responses.analysis_views import hide_from_all, hiding_views, in_force
from annotate.responses.leasing import count_submitted, locked_annotator
from annotate.studies.changing import withdrawn_names
from evalcore.models import most_letters

LONGEST_REASON = most_letters(Exclusion, "reason")


class ExclusionError(ValueError):
    """The slot cannot be excluded or restored; the message says why."""


@transaction.atomic
def exclude(
    slot: Slot,
    *,
    reason: str,
    author: User | None,
    rule: str = "",
    views: Iterable[AnalysisView] | None = None,
    wholesale: bool = False,
) -> Exclusion:
    """Exclude a submitted slot and open a replacement for anyone."""
    reason = _checked(reason)
    slot = _locked(slot.pk)
    if slot.state != Slot.State.SUBMITTED:
        raise ExclusionError(_("Only submitted ratings can be left out."))
    hides: Iterable[AnalysisView] = hiding_views(slot.study_id)
    if rule in FINAL:
        hides = AnalysisView.objects.filter(study=slot.study_id)
    elif views is not None:
        named = {view.pk for view in views}
        hides = [view for view in hides if view.key == MAIN or view.pk in named]
    slot.state = Slot.State.EXCLUDED
    slot.save(update_fields=["state"])
    count_submitted(slot, -1)
    event_log.note_slot(
        Event.Kind.SLOT_EXCLUDED,
        slot,
        user=author,
        reason=reason,
        rule=rule,
        views=sorted(view.key for view in hides),
        wholesale=wholesale,
    )
    row = Exclusion.objects.create(
        slot=slot,
        reason=reason,
        author=author,
        rule=rule,
        replacement=None if slot.ordinal is None else _replace(slot),
    )
    row.views.set(hides)
    return row


def _checked(reason: str) -> str:
    reason = reason.strip()
    if not reason:
        raise ExclusionError(_("Please give a reason. It is recorded in the log."))
    if len(reason) > LONGEST_REASON:
        text = _("A reason can have at most %(n)d characters.")
        raise ExclusionError(text % {"n": LONGEST_REASON})
    return reason


@transaction.atomic
def exclude_annotator(
    annotator: Annotator, *, reason: str, author: User | None, rule: str = ""
) -> list[Exclusion]:
    """Exclude every real slot that an annotator has submitted, surplus ones too."""
    reason = _checked(reason)
    locked_annotator(annotator)
    slots = annotator.slots.filter(purpose=Purpose.REAL, state=Slot.State.SUBMITTED)
    return [
        exclude(slot, reason=reason, author=author, rule=rule, wholesale=True)
        for slot in slots.order_by("unit", "pk")
    ]


@transaction.atomic
def withdraw_answers(annotator: Annotator, *, author: User | None) -> int:
    """Exclude all answers of an annotator; return the number of slots."""
    locked_annotator(annotator)
    study = annotator.study
    before = in_force(study).filter(slot__annotator=annotator)
    hide_from_all(study, list(before.exclude(rule=WITHDRAWN)), WITHDRAWN)
    slots = annotator.slots.filter(state=Slot.State.SUBMITTED)
    slots = slots.exclude(purpose=Purpose.TRAINING).order_by("unit", "pk")
    for slot in slots:
        exclude(slot, reason=WITHDRAWAL, author=author, rule=WITHDRAWN)
    return in_force(study).filter(slot__annotator=annotator).count()


WITHDRAWAL = gettext_noop("the annotator does not want these answers to be used")
REPLACEMENT = gettext_noop("the annotator saw a picture that was replaced")


@transaction.atomic
def undo_annotator(annotator: Annotator, *, author: User | None) -> int:
    """Undo `exclude_annotator`; return the number of slots."""
    locked_annotator(annotator)
    rows = excluded_wholesale(annotator.study).get(annotator, [])
    for row in rows:
        undo(row, author=author)
    return len(rows)


def excluded_wholesale(study: Study) -> dict[Annotator, list[Exclusion]]:
    """Return by annotator the exclusions that excluded all their slots at once."""
    events = Event.objects.filter(study=study, kind=Event.Kind.SLOT_EXCLUDED)
    latest = dict(events.order_by("pk").values_list("slot", "details"))
    rows = in_force(study).exclude(rule__in=FINAL).select_related("slot__annotator")
    by_annotator: dict[Annotator, list[Exclusion]] = {}
    for row in rows.order_by("slot__annotator__name", "slot__unit", "slot"):
        if row.slot.annotator and latest.get(row.slot_id, {}).get("wholesale"):
            by_annotator.setdefault(row.slot.annotator, []).append(row)
    return by_annotator


def _locked(pk: int) -> Slot:
    """Return a slot after locking its unit, which serializes changes."""
    unit = Slot.objects.values_list("unit", flat=True).get(pk=pk)
    Unit.objects.select_for_update(no_key=True).get(pk=unit)
    return Slot.objects.select_for_update(of=("self",), no_key=True).get(pk=pk)


def _replace(slot: Slot) -> Slot | None:
    """Open a replacement for an excluded slot, unless its unit was withdrawn."""
    if _is_withdrawn(slot):
        Unit.objects.filter(pk=slot.unit_id).update(redundancy=F("redundancy") - 1)
        return None
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
        turn=slot.turn,
    )
    event_log.note_slot(Event.Kind.SLOT_OPENED, replacement, instead_of=slot.code)
    return replacement


def _is_withdrawn(slot: Slot) -> bool:
    """Say whether the slot's method or story was withdrawn."""
    if slot.study.rounds > 1:
        return False
    methods, stories = withdrawn_names(slot.study)
    if not (methods or stories):
        return False
    unit = slot.unit
    return bool(methods & set(unit.methods)) or unit.story.key in stories


@transaction.atomic
def undo(exclusion: Exclusion, *, author: User | None) -> Slot:
    """Restore an excluded slot."""
    slot = _locked(exclusion.slot_id)
    exclusion = Exclusion.objects.get(pk=exclusion.pk)
    if exclusion.rule == WITHDRAWN:
        raise ExclusionError(
            _("The annotator withdrew these answers, so they stay left out.")
        )
    if exclusion.rule == PICTURE_REPLACED:
        raise ExclusionError(
            _("The picture was replaced after this rating, so it stays left out.")
        )
    if exclusion.undone_at is not None:
        raise ExclusionError(_("This was already undone."))
    exclusion.undone_at = timezone.now()
    exclusion.save(update_fields=["undone_at"])
    slot.state = Slot.State.SUBMITTED
    if slot.ordinal is not None and not _drop(exclusion.replacement_id):
        if _is_withdrawn(slot):
            Unit.objects.filter(pk=slot.unit_id).update(redundancy=F("redundancy") + 1)
        else:
            slot.ordinal = None
    slot.save(update_fields=["state", "ordinal"])
    count_submitted(slot, 1)
    event_log.note_slot(Event.Kind.EXCLUSION_UNDONE, slot, user=author)
    return slot


def _drop(replacement_id: int | None) -> bool:
    """Take a replacement, or its own replacement, out of the redundancy."""
    slots = Slot.objects.select_for_update(of=("self",), no_key=True)
    replacement = slots.filter(pk=replacement_id).first()  # type: ignore[misc] # None finds none
    while replacement is not None and replacement.state == Slot.State.EXCLUDED:
        excluded = replacement.exclusions.get(undone_at__isnull=True)
        replacement = slots.filter(pk=excluded.replacement_id).first()  # type: ignore[misc] # None finds none
    if replacement is None or replacement.ordinal is None:
        return False
    if replacement.annotator_id is None:
        giving_back.withdraw(replacement)
    else:
        if replacement.state == Slot.State.SUBMITTED:
            count_submitted(replacement, -1)
        replacement.ordinal = None
        replacement.save(update_fields=["ordinal"])
        event_log.note_slot(Event.Kind.SLOT_SURPLUS, replacement)
    return True
