"""Withdrawal of units and redistribution of work in a running study.

Slots that are started, leased or submitted stay as they are. `extending` adds units,
slots and people.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Count, Max, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from annotate import event_log
from annotate.assignment import reassignment
from annotate.assignment.reassignment import WORKING, judged_units
from annotate.models import (
    Annotator,
    Event,
    Purpose,
    Question,
    Slot,
    Study,
    Unit,
    User,
)
from annotate.people.presence import Presence, answers_by_day, calendar, patience_days
from annotate.responses import giving_back
from annotate.responses.leasing import UNFINISHED
from annotate.studies.recruitment import Recruitment
from annotate.studies.story_draw import made_unknown
from annotate.studies.study_file import read_definition, write_definition
from annotate.studies.units import UnitOutputs
from evalcore.models.columns import most_letters

Names = tuple[set[str], set[str]]


class ChangeError(ValueError):
    """A change that the study does not allow; the message says why."""


@contextmanager
def locked(study: Study, *, dry_run: bool) -> Iterator[tuple[Study, list[Annotator]]]:
    """Yield the locked study and its people for a change; roll back a dry run."""
    with transaction.atomic():
        stored = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
        yield stored, reassignment.lock_people(stored)
        if dry_run:
            transaction.set_rollback(True)
    if not dry_run:
        study.refresh_from_db()


def measure_balance(study: Study) -> None:
    """Update the balance report of a planned study; an open study has none."""
    if not study.is_open:
        study.balance_report = reassignment.measured(study)
        study.save(update_fields=["balance_report"])


def withdrawn_names(study: Study, until: int | None = None) -> Names:
    """Return the withdrawn methods and stories according to the log up to an event."""
    methods: set[str] = set()
    stories: set[str] = set()
    events = study.events.filter(
        kind__in=[Event.Kind.STUDY_EDITED, Event.Kind.STUDY_EXTENDED]
    )
    if until is not None:
        events = events.filter(pk__lte=until)
    for event in events.order_by("pk"):
        methods |= set(event.details.get("withdrawn_methods", ()))
        stories |= set(event.details.get("withdrawn_stories", ()))
        if event.kind == Event.Kind.STUDY_EXTENDED:
            methods -= set(event.details.get("methods", ()))
            stories -= set(event.details.get("stories", ()))
    return methods, stories


def names_now(study: Study) -> Names:
    """Return the methods and stories of the study that are not withdrawn."""
    gone_methods, gone_stories = withdrawn_names(study)
    units = list(judged_units(study))
    methods = {name for unit in units for name in unit.methods}
    return methods - gone_methods, {one.story.key for one in units} - gone_stories


def refuse_unknown(names: Collection[str]) -> None:
    """Raise if there are names that the study does not have."""
    if names:
        text = _("Not in this study: %(names)s.")
        raise ChangeError(text % {"names": ", ".join(sorted(names))})


def shows(
    unit: Unit | UnitOutputs, methods: Container[str], stories: Container[str]
) -> bool:
    """Return whether a unit has one of these stories or methods."""
    return unit.story.key in stories or any(one in methods for one in unit.methods)


@transaction.atomic
def change_recruitment(
    study: Study, recruitment: Recruitment, *, user: User | None = None
) -> None:
    """Change a study's platform, codes, addresses and pay, also in its file."""
    stored = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    stored.recruitment = recruitment.stored()
    if stored.definition:
        definition = read_definition(stored.definition, file="", name=stored.template)
        changed = definition.with_changes(recruitment=recruitment)
        stored.definition = write_definition(changed)
    stored.save(update_fields=["recruitment", "definition"])
    event_log.note(
        Event.Kind.STUDY_EDITED,
        stored.pk,
        user=user,
        platform=recruitment.platform or "",
        codes={
            name: one["code"]
            for name, one in stored.recruitment.get("outcomes", {}).items()
            if one.get("code")
        },
    )
    study.refresh_from_db()


@transaction.atomic
def set_trained_on(
    study: Study, given: Mapping[str, Iterable[str]], *, user: User | None = None
) -> None:
    """Store the metrics that shaped each method, and log a change."""
    stored = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    others = {m: own for m, own in stored.trained_on.items() if m not in given}
    trained = others | {m: sorted({*own}) for m, own in given.items() if own}
    refuse_unknown(given.keys() - names_now(stored)[0])
    longest = most_letters(Question, "metric")
    if any(len(one) > longest for own in trained.values() for one in own):
        text = _("Names of metrics have at most %(n)d characters.")
        raise ChangeError(text % {"n": longest})
    if trained == stored.trained_on:
        return
    stored.trained_on = trained
    stored.save(update_fields=["trained_on"])
    event_log.note(Event.Kind.STUDY_EDITED, stored.pk, user=user, trained_on=trained)
    study.refresh_from_db()


# Withdrawing


@dataclass(frozen=True)
class Withdrawal:
    """Numbers of units, withdrawn slots, and started or submitted slots `kept`.

    The drawing probabilities of the stories `unknown` are no longer known.
    """

    units: int
    slots: int
    kept: int
    unknown: tuple[str, ...] = ()


def withdraw_units(
    study: Study,
    *,
    methods: Sequence[str] = (),
    stories: Sequence[str] = (),
    user: User | None = None,
    dry_run: bool = False,
) -> Withdrawal:
    """Withdraw the open slots of these methods and stories; answers stay.

    Annotators can finish slots that they have started. `extending.extend` with the same
    names reverses the withdrawal.
    """
    with locked(study, dry_run=dry_run) as (stored, _people):
        units = _units(stored, set(methods), set(stories))
        rows = list(
            Slot.objects.select_for_update(no_key=True, of=("self",))
            .filter(unit__in=units, purpose=Purpose.REAL, ordinal__isnull=False)
            .exclude(state=Slot.State.EXCLUDED)
            .order_by("pk")
        )
        withdrawn = _not_started(rows)
        _withdraw(withdrawn)
        _lower_redundancy(units, rows)
        measure_balance(stored)
        kept = len(rows) - len(withdrawn)
        unknown = made_unknown(stored, withdrawn=stories)
        event_log.note(
            Event.Kind.STUDY_EDITED,
            stored.pk,
            user=user,
            withdrawn_methods=list(methods),
            withdrawn_stories=list(stories),
            slots=len(withdrawn),
            kept=kept,
            **unknown,
        )
    return Withdrawal(len(units), len(withdrawn), kept, *unknown.values())


def _units(study: Study, methods: set[str], stories: set[str]) -> list[Unit]:
    """Lock and return the units affected by this withdrawal or earlier ones."""
    every = list(judged_units(study).select_for_update(no_key=True, of=("self",)))
    unknown = methods - {name for unit in every for name in unit.methods}
    refuse_unknown(unknown | (stories - {unit.story.key for unit in every}))
    if not (methods or stories):
        raise ChangeError(_("Choose a method or a story to withdraw."))
    gone_methods, gone_stories = withdrawn_names(study)
    chosen = [
        unit
        for unit in every
        if shows(unit, gone_methods | methods, gone_stories | stories)
    ]
    if len(chosen) == len(every):
        raise ChangeError(_("Nothing would be left to rate; close the study instead."))
    return chosen


def _not_started(slots: Sequence[Slot]) -> list[Slot]:
    """Return the slots to withdraw, so that each round of a unit keeps as many slots.

    The round with the most started slots sets the number.
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


def _lower_redundancy(units: Sequence[Unit], slots: Sequence[Slot]) -> None:
    """Lower the redundancy of each unit to its remaining slots in a round."""
    left = Counter(
        (slot.unit_id, slot.round) for slot in slots if slot.ordinal is not None
    )
    most = _most_in_a_round(left)
    for unit in units:
        unit.redundancy = most[unit.pk]
    Unit.objects.bulk_update(units, ["redundancy"], batch_size=500)


def _most_in_a_round(counts: Mapping[tuple[int, int], int]) -> Counter[int]:
    """Return the highest count of each unit over its rounds."""
    most: Counter[int] = Counter()
    for (unit, _round), count in counts.items():
        most[unit] = max(most[unit], count)
    return most


# Redistributing work


@dataclass(frozen=True)
class Redistribution:
    """Slots given up and received by name, and the number of `free` slots."""

    given_up: dict[str, int]
    shares: dict[str, int]
    free: int
    balance: dict[str, object]


def holders(study: Study) -> QuerySet[Annotator]:
    """Return people with unfinished slots, with their number and the last answer."""
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
    """Return the presence of everybody with unfinished slots."""
    return _measured(study, holders(study), now)


def _measured(
    study: Study, people: QuerySet[Any], now: datetime | None = None
) -> list[Presence]:
    """Return the presence of people, who have a time `answered` or None."""
    measure = calendar(study, patience_days(answers_by_day(study)))
    at = now or timezone.now()
    return [measure.presence(one, one.answered, at) for one in people]


def _takers(study: Study, dropped: Iterable[int]) -> list[Annotator]:
    """Return the people who can get more work, without missing ones."""
    staying = study.annotators.filter(state__in=WORKING).exclude(pk__in=dropped)
    people = staying.annotate(answered=Max("slots__submitted_at")).order_by("pk")
    measured = _measured(study, people.select_related("invitation"))
    return [
        one.person
        for one in measured
        if not one.is_missed or one.person.state == Annotator.State.PLANNED
    ]


def redistribute(
    study: Study,
    *,
    annotators: Iterable[Annotator] = (),
    user: User | None = None,
    dry_run: bool = False,
) -> Redistribution:
    """Assign the unfinished slots of people who dropped out to people still working.

    These are the named annotators and all revoked ones; their drafts stay. Missing
    people get no slots. In an open study the slots become free. With `dry_run` nothing
    is stored.
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
            raise ChangeError(_("There is no unfinished work to give to others."))
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
