"""Giving the work of people who dropped out to those who go on."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count, Max, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from annotate import event_log
from annotate.assignment import reassignment
from annotate.assignment.reassignment import WORKING
from annotate.models import Annotator, Event, Slot, Study, User
from annotate.people.presence import Presence, answers_by_day, calendar, patience_days
from annotate.responses import giving_back
from annotate.responses.leasing import UNFINISHED
from annotate.studies.changing import ChangeError, locked, measure_balance

AnnotatorState = Annotator.State


@dataclass(frozen=True)
class Redistribution:
    """What people gave up and others got, by name; `free` slots wait for anybody."""

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
        if not one.is_missed or one.person.state == AnnotatorState.PLANNED
    ]


def idle(study: Study, days: int) -> list[Annotator]:
    """Return who was invited, has work left and was not seen for so many days."""
    since = timezone.now() - timedelta(days=days)
    return [
        found.person
        for found in presences(study)
        if found.person.state in (AnnotatorState.INVITED, AnnotatorState.ACTIVE)
        and found.since < since
    ]


def redistribute(
    study: Study,
    *,
    idle_days: int | None = None,
    annotators: Iterable[Annotator] = (),
    user: User | None = None,
    dry_run: bool = False,
) -> Redistribution:
    """Deal what people who dropped out have not submitted to those still working.

    Dropped out are those named, those not seen for so many days, and whoever was
    revoked. Their drafts are kept. Nobody gets anything who was invited and is missed.
    In an open study their slots become free. With `dry_run` nothing is kept.
    """
    with locked(study, dry_run=dry_run) as (stored, people):
        named = {annotator.pk for annotator in annotators}
        if idle_days is not None:
            named |= {person.pk for person in idle(stored, idle_days)}
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
