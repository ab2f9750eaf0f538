"""How long slots took, and how long the rest will take."""

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from math import isfinite
from typing import Any

from django.db.models import Case, F, Q, QuerySet, When
from django.utils import timezone

from annotate.models import Annotator, Event, Purpose, Slot
from annotate.models.units import OUTPUTS
from evalcore.database.prepared import Prepared
from evalcore.models import Frame

LONGEST_SECONDS = 24 * 3600
# Two clocks do not go alike.
TOLERANCE = 1.0

# Since when a story could be seen, and its time on the page.
TimeOnPage = tuple[datetime, float]


def _timed(annotator: int | None, now: datetime) -> QuerySet[Slot]:
    return Slot.objects.filter(
        annotator=annotator,
        submitted_at__lte=now,
        offered_at__isnull=False,
        seconds__isnull=False,
    )


def last_submission(annotator: int, now: datetime) -> QuerySet[Slot, datetime | None]:
    """Return when an annotator submitted the last of these, if there is one."""
    timed = _timed(annotator, now).order_by("-submitted_at")
    return timed.values_list("submitted_at", flat=True)[:1]


def room(since: datetime, now: datetime, before: Iterable[TimeOnPage]) -> float:
    r"""Return the longest time for which a story can have been looked at."""
    used, left = 0.0, float("inf")
    for at, seconds in sorted([(since, 0.0), *before], reverse=True):
        used += seconds
        if at <= since:
            left = min(left, (now - at).total_seconds() - used)
    return min(max(0.0, left + TOLERANCE), LONGEST_SECONDS)


def note_time(
    held: Slot,
    claimed: float | None,
    offered_at: datetime | None,
    last: datetime | None,
) -> None:
    """Set how long a locked slot took, which is submitted now."""
    now = held.submitted_at
    known = [at for at in (held.offered_at, offered_at) if at is not None]
    held.offered_at = min(known, default=held.started_at)
    assert now is not None
    assert held.offered_at is not None
    person = held.annotator_id
    if claimed is not None and fits(claimed, held.offered_at, now, last):
        held.seconds = held.claimed_seconds = claimed
        return
    timed = _timed(person, now).values_list("offered_at", "seconds").order_by()
    before = [(at, seconds) for at, seconds in timed if at and seconds is not None]
    most = room(held.offered_at, now, before)
    held.claimed_seconds = (
        claimed if claimed is not None and isfinite(claimed) else None
    )
    if held.claimed_seconds is None or held.claimed_seconds > most:
        # A lease may have run out, and the slot been taken again since.
        events = Event.objects.filter(kind=Event.Kind.SLOT_TAKEN, annotator=person)
        begun = events.filter(slot=held.pk).values_list("at", flat=True)
        held.offered_at = min([held.offered_at, *begun])
        most = room(held.offered_at, now, before)
    held.seconds = most
    if held.claimed_seconds is not None and held.claimed_seconds > 0:
        held.seconds = min(held.claimed_seconds, most)


def fits(claimed: float, since: datetime, now: datetime, last: datetime | None) -> bool:
    """Say whether a time fits into its `room`, at first sight."""
    left = min((now - since).total_seconds(), LONGEST_SECONDS)
    return 0 < claimed <= left and (last is None or last <= since)


@lru_cache
def _shots_with_picture(number: int) -> Prepared[int]:
    """Return the query of the shots of so many outputs that have a picture."""

    def build(**outputs: int) -> QuerySet[Frame, int]:
        found = [
            Frame.objects.filter(output=output, media__isnull=False)
            .order_by()
            .values_list("number", flat=True)
            for output in outputs.values()
        ]
        return found[0].union(*found[1:]) if number > 1 else found[0]

    return Prepared(build, **{f"output_{place}": int for place in range(number)})


def note_sight(held: Slot, told: Mapping[int, float] | None) -> None:
    """Set for how long each shot of a locked slot was in sight, whose time is set."""
    if told is None or held.seconds is None:
        return
    stored = (getattr(held.unit, f"{name}_id") for name in OUTPUTS)
    shown = [output for output in stored if output is not None]
    pictured = _shots_with_picture(len(shown)).rows(
        **{f"output_{place}": output for place, output in enumerate(shown)}
    )
    held.in_sight = {
        str(shot): min(max(round(told.get(shot, 0.0), 2), 0.0), held.seconds)
        for shot in sorted(set(pictured))
    }


def time_problem(
    offered_at: datetime | None, claimed: float | None, seconds: float | None
) -> str | None:
    """Return `missing` or `impossible` where the time is, else an empty text."""
    if offered_at is None or seconds is None:
        return None
    if claimed is None:
        return "missing"
    return "" if 0 < min(claimed, LONGEST_SECONDS) <= seconds else "impossible"


def measured(slot: str = "") -> Case:
    """Return the expression of how long a slot took; NULL where no browser told it."""
    was_told = Q(**{f"{slot}offered_at": None}) | Q(**{f"{slot}claimed_seconds__gt": 0})
    return Case(When(was_told, then=F(f"{slot}seconds")))


# So many of the annotator's own stories tell; before that, those of all others do.
OWN_ENOUGH, OWN_LATEST = 3, 20
ALL_LATEST = 200
# Whoever judges so long without a pause of at least the second is told to rest.
WORK, REST = timedelta(minutes=25), timedelta(minutes=5)


def _timed_latest() -> QuerySet[Any]:
    timed = Slot.objects.annotate(measured=measured()).filter(
        measured__isnull=False, state=Slot.State.SUBMITTED
    )
    return timed.exclude(purpose=Purpose.TRAINING)


def own_latest(annotator: int) -> QuerySet[Any]:
    """Return the latest of an annotator's own stories whose time is known."""
    return (
        _timed_latest().filter(annotator=annotator).order_by("-position")[:OWN_LATEST]
    )


def _submitted_since(annotator: int, since: datetime) -> QuerySet[Any, Any]:
    submitted = Slot.objects.filter(annotator=annotator, submitted_at__gt=since)
    return submitted.order_by("submitted_at").values_list("submitted_at", flat=True)


def first_since(annotator: int, since: datetime) -> QuerySet[Any, Any]:
    """Return when an annotator first submitted something since `rest_begins`."""
    return _submitted_since(annotator, since)[:1]


def rest_begins() -> datetime:
    """Return since when somebody has worked long who was at work ever since."""
    return timezone.now() - WORK - REST


def minutes_for(
    annotator: Annotator, stories: int, seconds: Sequence[float]
) -> int | None:
    """Return how many minutes so many stories will take this annotator, rounded up."""
    if len(seconds) < OWN_ENOUGH:
        latest = (
            _timed_latest().filter(study=annotator.study_id).order_by("-submitted_at")
        )
        seconds = list(latest.values_list("measured", flat=True)[:ALL_LATEST])
    if len(seconds) < OWN_ENOUGH or stories < 1:
        return None
    return math.ceil(statistics.median(seconds) * stories / 60)


def needs_rest(annotator: Annotator) -> bool:
    """Say whether somebody has judged for long without a pause between two stories."""
    first = first_since(annotator.pk, rest_begins())
    return has_worked_since(annotator, next(iter(first), None))


def has_worked_since(annotator: Annotator, first: datetime | None) -> bool:
    """Say the same of somebody whose `first_since` is known."""
    now = begun = timezone.now()
    if first is None or now - first < WORK:
        return False  # or there would be one before it, and no pause in between
    for submitted in _submitted_since(annotator.pk, now - WORK - REST).reverse():
        if begun - submitted > REST:
            break
        begun = submitted
    return now - begun >= WORK
