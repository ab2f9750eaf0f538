"""Counts over all slots: annotators' work, arrivals, surplus."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from statistics import median
from typing import Any

from django.db.models import Case, Count, F, Max, Q, QuerySet, When
from django.db.models.functions import Coalesce, Trunc
from django.utils import timezone

from annotate.coverage.counts import SURPLUS
from annotate.models import Annotator, Event, Purpose, Skip, Slot, Study
from annotate.people.presence import answers_by_day, patience_days
from annotate.responses import timing

SlotState = Slot.State
HOURS_KEPT, PACE_KEPT = timedelta(days=15), timedelta(weeks=8)
MOST_BLOCKED = 50
# Counts of each annotator.
NUMBERS = (
    "submitted",
    "planned",
    "surplus",
    "session",
    "sessions",
)
UNFINISHED = (SlotState.OPEN, SlotState.LEASED)


def people(study: Study) -> list[Any]:
    """Return every annotator with counts of their slots and their last answer."""
    mine = Q(slots__ordinal__isnull=False)
    done = mine & Q(slots__state=SlotState.SUBMITTED)
    surplus = Q(slots__ordinal__isnull=True, slots__purpose=Purpose.REAL)
    counted = study.annotators.annotate(
        submitted=Count("slots", filter=done),
        planned=Count("slots", filter=mine & ~Q(slots__state=SlotState.EXCLUDED)),
        surplus=Count("slots", filter=surplus),
        session=Coalesce(Max("slots__session", filter=done), 0),
        sessions=Coalesce(Max("slots__session"), 0),
        last=Max("slots__submitted_at"),
    )
    return list(counted.order_by("name"))


def tallies(study: Study, now: datetime | None = None) -> dict[str, Any]:
    """Return the counts by annotator and by time that the dashboard shows."""
    counted = people(study)
    seconds = _median_seconds(study)
    expired = _expired(study, counted)
    now = now or timezone.now()
    by_day = answers_by_day(study)
    days: Counter[datetime] = Counter()
    for _annotator, day, n in by_day:
        days[day] += n
    blocked = _blocked(study, counted)
    begun = _real(study).filter(session__isnull=False)
    return {
        "people": {
            str(person.pk): {
                **{name: getattr(person, name) for name in NUMBERS},
                "last": person.last.isoformat() if person.last else None,
                "seconds": seconds.get(person.pk),
                "expired": expired[person.pk],
            }
            for person in counted
        },
        "surplus": study.slots.filter(SURPLUS).count(),
        "minutes": _median_minutes(study),
        "sessions": begun.values("annotator", "session").distinct().count(),
        "hours": _arrivals(_real(study), now - HOURS_KEPT),
        "by_person": _by_person(_real(study), now - PACE_KEPT),
        "days": [[day.isoformat(), n] for day, n in days.items()],
        "patience": patience_days(by_day),
        "left": _left(study, blocked),
        "blocked": blocked[:MOST_BLOCKED],
    }


def _left(study: Study, blocked: list[int]) -> dict[str, Any]:
    """Count unfinished slots by annotator, and those that nobody can take."""
    slots = study.slots.filter(ordinal__isnull=False, state__in=UNFINISHED).order_by()
    unassigned = Q(annotator__isnull=True, unit__in=blocked)
    is_stuck = Q(state=SlotState.OPEN) & (
        Q(unit__set_aside_at__isnull=False) | unassigned
    )
    stuck = Case(When(is_stuck, then=True), default=False)
    held: dict[str, int] = {}
    n_stuck = 0
    counted = slots.values(stuck=stuck).values_list("stuck", "annotator", Count("pk"))
    for slots_stuck, annotator, n in counted:
        if slots_stuck:
            n_stuck += n
        elif annotator is not None:
            held[str(annotator)] = n
    return {"held": held, "stuck": n_stuck}


def _real(study: Study) -> QuerySet[Slot]:
    """Return the submitted slots within the redundancy."""
    return study.slots.filter(
        state=SlotState.SUBMITTED, ordinal__isnull=False, purpose=Purpose.REAL
    ).order_by()


def _arrivals(rows: QuerySet[Slot], since: datetime) -> list[list[Any]]:
    """Count submissions by hour (UTC)."""
    counted = (
        rows.filter(submitted_at__gte=since)
        .values(at=Trunc("submitted_at", "hour", tzinfo=UTC))
        .annotate(n=Count("pk"))
        .order_by("at")
    )
    return [[row["at"].isoformat(), row["n"]] for row in counted]


def _by_person(rows: QuerySet[Slot], since: datetime) -> dict[str, list[list[int]]]:
    """Count submissions of each person by hour, in hours since 1970."""
    counted = (
        rows.filter(submitted_at__gte=since)
        .values(at=Trunc("submitted_at", "hour", tzinfo=UTC))
        .annotate(n=Count("pk"))
        .order_by("at")
        .values_list("annotator", "at", "n")
    )
    of_person: dict[str, list[list[int]]] = defaultdict(list)
    for annotator, at, n in counted:
        of_person[str(annotator)].append([int(at.timestamp()) // 3600, n])
    return dict(of_person)


def _median_seconds(study: Study) -> dict[int, float]:
    rows = _real(study).annotate(measured=timing.measured())
    timed = rows.filter(measured__isnull=False).values_list("annotator", "measured")
    by_annotator: dict[int, list[float]] = defaultdict(list)
    for annotator, seconds in timed.iterator(5000):
        by_annotator[annotator].append(seconds)
    return {pk: round(median(values), 1) for pk, values in by_annotator.items()}


def _median_minutes(study: Study) -> float | None:
    """Return the median minutes that finished people spent, training and checks too."""
    done = study.slots.filter(
        submitted_at__isnull=False, annotator__state=Annotator.State.FINISHED
    )
    spent: Counter[int] = Counter()
    timed = done.annotate(measured=timing.measured()).order_by()
    for annotator, seconds in timed.values_list("annotator", "measured").iterator(5000):
        spent[annotator] += seconds or 0
    return round(median(spent.values()) / 60, 1) if spent else None


def _expired(study: Study, counted: Iterable[Any]) -> Counter[int]:
    """Count each annotator's leases that expired since their last submission."""
    last = {person.pk: person.last for person in counted}
    events = study.events.filter(kind=Event.Kind.SLOT_EXPIRED).order_by()
    return Counter(
        annotator
        for annotator, at in events.values_list("annotator", "at").iterator(5000)
        if (since := last.get(annotator)) is None or at > since
    )


def _blocked(study: Study, counted: Iterable[Any]) -> list[int]:
    """Return units with a free slot that nobody who may still work can take."""
    able = _able(study, counted) if counted else None
    if able is None:
        return []
    free = study.slots.filter(
        annotator__isnull=True, state=SlotState.OPEN, ordinal__isnull=False
    ).filter(unit__set_aside_at__isnull=True)
    wanted = list(free.values_list("unit", "round", "language").order_by().distinct())
    if not wanted or len(able) > _most_met(study):
        return []
    here = {unit for unit, _round, _language in wanted}
    met = set(
        study.slots.filter(annotator__in=list(able), unit__in=here)
        .values_list("unit", "round", "annotator")
        .order_by()
    )
    skipped = set(
        Skip.objects.filter(unit__in=here).values_list("unit", "annotator").order_by()
    )
    blocked = [
        unit
        for unit, number, language in wanted
        if all(
            (language and language != spoken)
            or (unit, number, pk) in met
            or (unit, pk) in skipped
            for pk, spoken in able.items()
        )
    ]
    return sorted(set(blocked))


def _able(study: Study, counted: Iterable[Any]) -> dict[int, str] | None:
    """Return the languages of annotators who may work; None if others may join."""
    links = study.join_links.filter(closed_at__isnull=True, joined__lt=F("most"))
    waiting = study.annotators.filter(state=Annotator.State.PLANNED)
    if links.exists() or waiting.exists():
        return None
    return {
        person.pk: person.language
        for person in counted
        for cap in [person.most_slots]
        if person.state not in Annotator.STOPPED
        if cap is None or person.planned + person.surplus < cap
    }


def _most_met(study: Study) -> int:
    """Return how many people one unit can exclude at most."""
    slots = study.units.aggregate(n=Max("redundancy"))["n"] or 0
    skips = Skip.objects.filter(unit__study=study).values("annotator").distinct()
    excluded = study.slots.filter(state=SlotState.EXCLUDED).count()
    return slots * study.rounds + skips.count() + excluded
