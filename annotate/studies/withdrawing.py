"""Asking for no more answers to some methods or stories, while a study is under way."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from django.db import transaction
from django.utils.translation import gettext as _

from annotate import event_log
from annotate.assignment import reassignment
from annotate.assignment.reassignment import judged_units
from annotate.models import Event, Purpose, Slot, Study, Unit, User
from annotate.studies.extending import ExtendingError, withdrawn_names


@dataclass(frozen=True)
class Withdrawal:
    """What a withdrawal takes away, and the begun or given answers that stay."""

    units: int
    slots: int
    kept: int


def withdraw_units(
    study: Study,
    *,
    methods: Sequence[str] = (),
    stories: Sequence[str] = (),
    user: User | None = None,
    dry_run: bool = False,
) -> Withdrawal:
    """Ask for no more answers to these methods and stories; what was given stays.

    Whoever has begun such a slot may finish it. `extending.extend` with the same names
    asks again.
    """
    with transaction.atomic():
        stored = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
        reassignment.lock_people(stored)
        units = _units(stored, set(methods), set(stories))
        rows = _slots(units)
        withdrawn = _not_begun(rows)
        _withdraw(withdrawn)
        _ask_for_what_is_there(units, rows)
        kept = len(rows) - len(withdrawn)
        if not stored.is_open:
            stored.balance_report = reassignment.measured(stored)
            stored.save(update_fields=["balance_report"])
        event_log.note(
            Event.Kind.STUDY_EDITED,
            stored.pk,
            user=user,
            withdrawn_methods=list(methods),
            withdrawn_stories=list(stories),
            slots=len(withdrawn),
            kept=kept,
        )
        if dry_run:
            transaction.set_rollback(True)
    return Withdrawal(len(units), len(withdrawn), kept)


def _units(study: Study, methods: set[str], stories: set[str]) -> list[Unit]:
    """Return the units that show one of the methods or stories, locked."""
    every = list(judged_units(study).select_for_update(no_key=True, of=("self",)))
    unknown = (methods - {name for unit in every for name in unit.methods}) | (
        stories - {unit.story.key for unit in every}
    )
    if unknown:
        raise ExtendingError(
            _("Not in this study: %(names)s.") % {"names": ", ".join(sorted(unknown))}
        )
    if not (methods or stories):
        raise ExtendingError(_("Name a method or a story to withdraw."))
    gone_methods, gone_stories = withdrawn_names(study)
    gone_methods |= methods
    gone_stories |= stories
    chosen = [
        unit
        for unit in every
        if gone_methods & set(unit.methods) or unit.story.key in gone_stories
    ]
    if len(chosen) == len(every):
        raise ExtendingError(
            _("Nothing would be left to judge; close the study instead.")
        )
    return chosen


def _slots(units: Sequence[Unit]) -> list[Slot]:
    """Return the slots within the redundancy of these units, locked."""
    return list(
        Slot.objects.select_for_update(no_key=True, of=("self",))
        .filter(unit__in=units, purpose=Purpose.REAL, ordinal__isnull=False)
        .exclude(state=Slot.State.EXCLUDED)
        .order_by("pk")
    )


def _not_begun(slots: Sequence[Slot]) -> list[Slot]:
    """Return the slots to withdraw: as many in each round of a unit stay as were begun.

    All rounds of a unit ask for as many answers, those of the round with the most.
    """
    groups: dict[int, dict[int, list[Slot]]] = defaultdict(lambda: defaultdict(list))
    for slot in slots:
        groups[slot.unit_id][slot.round].append(slot)
    result = []
    for rounds in groups.values():
        begun = {r: [s for s in group if _is_begun(s)] for r, group in rounds.items()}
        stay = max(len(group) for group in begun.values())
        for round_, group in rounds.items():
            rest = [slot for slot in group if not _is_begun(slot)]
            result += rest[stay - len(begun[round_]) :]
    return result


def _is_begun(slot: Slot) -> bool:
    return slot.state != Slot.State.OPEN or slot.started_at is not None


def _withdraw(slots: Sequence[Slot]) -> None:
    before = [(slot, slot.annotator_id) for slot in slots]
    reassignment.take_back(slots)
    for slot in slots:
        slot.state, slot.ordinal = Slot.State.WITHDRAWN, None
    Slot.objects.bulk_update(slots, ["state", "ordinal"], batch_size=500)
    event_log.note_each(Event.Kind.SLOT_WITHDRAWN, before)


def _ask_for_what_is_there(units: Sequence[Unit], slots: Sequence[Slot]) -> None:
    """Lower each unit's redundancy to the slots that it has left in a round."""
    left = Counter(
        (slot.unit_id, slot.round) for slot in slots if slot.ordinal is not None
    )
    most: Counter[int] = Counter()
    for (pk, _round), count in left.items():
        most[pk] = max(most[pk], count)
    for unit in units:
        unit.redundancy = most[unit.pk]
    Unit.objects.bulk_update(units, ["redundancy"], batch_size=500)
