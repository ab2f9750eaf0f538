"""How long the rest of a session will take, as far as anybody can know."""

import math
import statistics
from datetime import timedelta

from django.utils import timezone

from annotate.models import Annotator, Purpose, Slot
from annotate.slots import timing

# So many of the annotator's own stories tell; before that, those of all others do.
OWN_ENOUGH, OWN_LATEST = 3, 20
ALL_LATEST = 200
# Whoever judges so long without a pause of at least the second is told to rest.
WORK, REST = timedelta(minutes=25), timedelta(minutes=5)


def minutes_for(annotator: Annotator, stories: int) -> int | None:
    """Return how many minutes so many stories will take this annotator, rounded up.

    None while nobody has judged enough to tell.
    """
    timed = Slot.objects.annotate(measured=timing.measured()).filter(
        measured__isnull=False, state=Slot.State.SUBMITTED
    )
    timed = timed.exclude(purpose=Purpose.TRAINING)
    own = timed.filter(annotator=annotator).order_by("-position")
    seconds: list[float] = list(own.values_list("measured", flat=True)[:OWN_LATEST])
    if len(seconds) < OWN_ENOUGH:
        others = timed.filter(study=annotator.study_id).order_by("-submitted_at")
        seconds = list(others.values_list("measured", flat=True)[:ALL_LATEST])
    if len(seconds) < OWN_ENOUGH or stories < 1:
        return None
    return math.ceil(statistics.median(seconds) * stories / 60)


def needs_rest(annotator: Annotator) -> bool:
    """Say whether somebody has judged for long without a pause between two stories."""
    now = begun = timezone.now()
    done = annotator.slots.filter(submitted_at__gt=now - 2 * WORK)
    for submitted in done.order_by("-submitted_at").values_list(
        "submitted_at", flat=True
    ):
        assert submitted is not None
        if begun - submitted > REST:
            break
        begun = submitted
    return now - begun >= WORK
