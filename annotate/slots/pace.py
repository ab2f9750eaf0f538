"""How long the rest of a session will take, as far as anybody can know."""

import math
import statistics
from datetime import datetime, timedelta
from typing import Any

from django.db.models import QuerySet
from django.utils import timezone

from annotate.models import Annotator, Purpose, Slot
from annotate.slots import timing
from evalcore.database.prepared import Prepared

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


OWN_SECONDS = Prepared[float](
    lambda annotator: (
        _timed()
        .filter(annotator=annotator)
        .order_by("-position")
        .values_list("measured", flat=True)[:OWN_LATEST]
    ),
    annotator=int,
)
ALL_SECONDS = Prepared[float](
    lambda study: (
        _timed()
        .filter(study=study)
        .order_by("-submitted_at")
        .values_list("measured", flat=True)[:ALL_LATEST]
    ),
    study=int,
)


def _submitted_since(annotator: int, since: datetime) -> QuerySet[Any, Any]:
    submitted = Slot.objects.filter(annotator=annotator, submitted_at__gt=since)
    return submitted.order_by("submitted_at").values_list("submitted_at", flat=True)


FIRST_SINCE = Prepared[datetime](
    lambda annotator, since: _submitted_since(annotator, since)[:1],
    annotator=int,
    since=datetime,
)
SUBMITTED_SINCE = Prepared[datetime](
    lambda annotator, since: _submitted_since(annotator, since).reverse(),
    annotator=int,
    since=datetime,
)


def minutes_for(annotator: Annotator, stories: int) -> int | None:
    """Return how many minutes so many stories will take this annotator, rounded up.

    None while nobody has judged enough to tell.
    """
    seconds = OWN_SECONDS.rows(annotator=annotator.pk)
    if len(seconds) < OWN_ENOUGH:
        seconds = ALL_SECONDS.rows(study=annotator.study_id)
    if len(seconds) < OWN_ENOUGH or stories < 1:
        return None
    return math.ceil(statistics.median(seconds) * stories / 60)


def needs_rest(annotator: Annotator) -> bool:
    """Say whether somebody has judged for long without a pause between two stories."""
    now = begun = timezone.now()
    since = now - WORK - REST
    first = FIRST_SINCE.first(annotator=annotator.pk, since=since)
    if first is None or now - first < WORK:
        return False  # or there would be one before it, and no pause in between
    for submitted in SUBMITTED_SINCE.rows(annotator=annotator.pk, since=since):
        if begun - submitted > REST:
            break
        begun = submitted
    return now - begun >= WORK
