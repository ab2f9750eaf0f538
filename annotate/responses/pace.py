"""How long the rest of a session will take, as far as anybody can know."""

import math
import statistics
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db.models import QuerySet
from django.utils import timezone

from annotate.models import Annotator, Purpose, Slot
from annotate.responses import timing

# So many of the annotator's own stories tell; before that, those of all others do.
OWN_ENOUGH, OWN_LATEST = 3, 20
ALL_LATEST = 200
# Whoever judges so long without a pause of at least the second is told to rest.
WORK, REST = timedelta(minutes=25), timedelta(minutes=5)


def _timed() -> QuerySet[Any]:
    timed = Slot.objects.annotate(measured=timing.measured()).filter(
        measured__isnull=False, state=Slot.State.SUBMITTED
    )
    return timed.exclude(purpose=Purpose.TRAINING)


def own_latest(annotator: int) -> QuerySet[Any]:
    """Return the latest of an annotator's own stories whose time is known."""
    return _timed().filter(annotator=annotator).order_by("-position")[:OWN_LATEST]


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
        latest = _timed().filter(study=annotator.study_id).order_by("-submitted_at")
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
