"""Changes of a study under way: withdrawing units, giving people's work to others.

What was begun, leased or submitted stays where it is. `extending` adds units, slots and
people.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Count, Max, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from annotate import event_log
from annotate.assignment import reassignment
from annotate.assignment.reassignment import WORKING, judged_units
from annotate.models import Annotator, Event, Purpose, Slot, Study, Unit, User
from annotate.people.presence import Presence, answers_by_day, calendar, patience_days
from annotate.responses import giving_back
from annotate.responses.leasing import UNFINISHED

Names = tuple[set[str], set[str]]


class ChangeError(ValueError):
    """The study cannot be changed as asked; the message says why."""


@contextmanager
def locked(study: Study, *, dry_run: bool) -> Iterator[tuple[Study, list[Annotator]]]:
    """Lend a study and its people, locked, for a change; a dry run is not kept."""
    with transaction.atomic():
        stored = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
        yield stored, reassignment.lock_people(stored)
        if dry_run:
            transaction.set_rollback(True)
    if not dry_run:
        study.refresh_from_db()


def measure_balance(study: Study) -> None:
    """Store how balanced the plan of a study is now; an open one has no plan."""
    if not study.is_open:
        study.balance_report = reassignment.measured(study)
        study.save(update_fields=["balance_report"])


def withdrawn_names(study: Study) -> Names:
    """Return the methods and the stories that are withdrawn now, by the log."""
    methods: set[str] = set()
    stories: set[str] = set()
    events = study.events.filter(
        kind__in=[Event.Kind.STUDY_EDITED, Event.Kind.STUDY_EXTENDED]
    )
    for event in events.order_by("pk"):
        methods |= set(event.details.get("withdrawn_methods", ()))
        stories |= set(event.details.get("withdrawn_stories", ()))
        if event.kind == Event.Kind.STUDY_EXTENDED:
            methods -= set(event.details.get("methods", ()))
            stories -= set(event.details.get("stories", ()))
    return methods, stories


def names_now(study: Study) -> Names:
    """Return the methods and the stories that are judged and not withdrawn."""
    gone_methods, gone_stories = withdrawn_names(study)
    units = list(judged_units(study))
    methods = {name for unit in units for name in unit.methods}
    return methods - gone_methods, {one.story.key for one in units} - gone_stories


def shows(unit: Unit, methods: set[str], stories: set[str]) -> bool:
    """Say whether a unit is of one of these stories, or shows one of the methods."""
    return unit.story.key in stories or bool(methods & set(unit.methods))


# Withdrawing


@dataclass(frozen=True)
class Withdrawal:
    """Slots that a withdrawal takes away, and begun or given answers that stay."""

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
    with locked(study, dry_run=dry_run) as (stored, _people):
        units = _units(stored, set(methods), set(stories))
        rows = list(
            Slot.objects.select_for_update(no_key=True, of=("self",))
            .filter(unit__in=units, purpose=Purpose.REAL, ordinal__isnull=False)
            .exclude(state=Slot.State.EXCLUDED)
            .order_by("pk")
        )
        withdrawn = _not_begun(rows)
        _withdraw(withdrawn)
        _ask_for_what_is_there(units, rows)
        measure_balance(stored)
        kept = len(rows) - len(withdrawn)
        event_log.note(
            Event.Kind.STUDY_EDITED,
            stored.pk,
            user=user,
            withdrawn_methods=list(methods),
            withdrawn_stories=list(stories),
            slots=len(withdrawn),
            kept=kept,
        )
    return Withdrawal(len(units), len(withdrawn), kept)


def _units(study: Study, methods: set[str], stories: set[str]) -> list[Unit]:
    """Return the units that show what is withdrawn now or was before, locked."""
    every = list(judged_units(study).select_for_update(no_key=True, of=("self",)))
    unknown = (methods - {name for unit in every for name in unit.methods}) | (
        stories - {unit.story.key for unit in every}
    )
    if unknown:
        raise ChangeError(
            _("Not in this study: %(names)s.") % {"names": ", ".join(sorted(unknown))}
        )
    if not (methods or stories):
        raise ChangeError(_("Name a method or a story to withdraw."))
    gone_methods, gone_stories = withdrawn_names(study)
    chosen = [
        unit
        for unit in every
        if shows(unit, gone_methods | methods, gone_stories | stories)
    ]
    if len(chosen) == len(every):
        raise ChangeError(_("Nothing would be left to judge; close the study instead."))
    return chosen


def _not_begun(slots: Sequence[Slot]) -> list[Slot]:
    """Return the slots to withdraw: as many in each round of a unit stay as were begun.

    All rounds of a unit ask for as many answers, those of the round with the most.
    """
    groups: dict[tuple[int, int], list[Slot]] = defaultdict(list)
    begun: Counter[tuple[int, int]] = Counter()
    for slot in slots:
        if slot.state == Slot.State.OPEN and slot.started_at is None:
            groups[slot.unit_id, slot.round].append(slot)
        else:
            begun[slot.unit_id, slot.round] += 1
    stay = _most_in_a_round(begun)
    return [
        slot
        for (unit, round_), rest in groups.items()
        for slot in rest[stay[unit] - begun[unit, round_] :]
    ]


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
    most = _most_in_a_round(left)
    for unit in units:
        unit.redundancy = most[unit.pk]
    Unit.objects.bulk_update(units, ["redundancy"], batch_size=500)


def _most_in_a_round(counts: Mapping[tuple[int, int], int]) -> Counter[int]:
    """Return the highest count of each unit; the counts are by unit and round."""
    most: Counter[int] = Counter()
    for (unit, _round), count in counts.items():
        most[unit] = max(most[unit], count)
    return most


# Giving work to others


@dataclass(frozen=True)
class Redistribution:
    """Slots given up and received, by name; `free` slots wait for anybody."""

    given_up: dict[str, int]
    shares: dict[str, int]
    free: int
    balance: dict[str, object]


def holders(study: Study) -> QuerySet[Annotator]:
    """Return whoever has unfinished slots, with their number and the last answer."""
    unfinished = Q(slots__ordinal__isnull=False, slots__state__in=UNFINISHED)
    return (
        study.annotators.annotate(
            unfinished=Count("slots", filter=unfinished),
            answered=Max("slots__submitted_at"),
        )
        .filter(unfinished__gt=0)
        .select_related("invitation")
        .order_by("name")
    )


def presences(study: Study, now: datetime | None = None) -> list[Presence]:
    """Return how everybody stands who has unfinished slots."""
    return _measured(study, holders(study), now)


def _measured(
    study: Study, people: QuerySet[Any], now: datetime | None = None
) -> list[Presence]:
    """Return how people stand, each of whom has `answered` then, or not."""
    measure = calendar(study, patience_days(answers_by_day(study)))
    at = now or timezone.now()
    return [measure.presence(one, one.answered, at) for one in people]


def _takers(study: Study, dropped: Iterable[int]) -> list[Annotator]:
    """Return who may be given more: nobody who was asked and is missed."""
    staying = study.annotators.filter(state__in=WORKING).exclude(pk__in=dropped)
    people = staying.annotate(answered=Max("slots__submitted_at")).order_by("pk")
    found = _measured(study, people.select_related("invitation"))
    return [
        one.person
        for one in found
        if not one.is_missed or one.person.state == Annotator.State.PLANNED
    ]


def idle(study: Study, days: int) -> list[Annotator]:
    """Return who was invited, has work left and was not seen for so many days."""
    since = timezone.now() - timedelta(days=days)
    return [
        found.person
        for found in presences(study)
        if found.person.state in (Annotator.State.INVITED, Annotator.State.ACTIVE)
        and found.since < since
    ]


def redistribute(
    study: Study,
    *,
    annotators: Iterable[Annotator] = (),
    user: User | None = None,
    dry_run: bool = False,
) -> Redistribution:
    """Deal what people who dropped out have not submitted to those still working.

    Dropped out are those named, and whoever was revoked. Their drafts are kept. Nobody
    gets anything who was invited and is missed. In an open study their slots become
    free. With `dry_run` nothing is kept.
    """
    with locked(study, dry_run=dry_run) as (stored, people):
        named = {annotator.pk for annotator in annotators}
        given_up = {
            person.name: freed
            for person in people
            if person.pk in named and (freed := giving_back.free_unfinished(person))
        }
        dealt = (
            [] if stored.is_open else reassignment.deal(stored, _takers(stored, named))
        )
        if not (given_up or dealt):
            raise ChangeError(
                _("There is nothing to give to others: nobody left open work behind.")
            )
        event_log.list_slots(stored, dealt, user=user)
        measure_balance(stored)
        free = stored.slots.filter(
            annotator__isnull=True, state=Slot.State.OPEN, ordinal__isnull=False
        ).count()
        shares = Counter(slot.annotator.name for slot in dealt if slot.annotator)
        result = Redistribution(
            given_up, dict(sorted(shares.items())), free, stored.balance_report
        )
        event_log.note(
            Event.Kind.SLOTS_ASSIGNED,
            stored.pk,
            user=user,
            given_up=given_up,
            shares=result.shares,
            free=free,
        )
    return result
