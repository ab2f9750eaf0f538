"""Time that an annotator spent on a slot, as far as it can be believed."""

import math
from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import lru_cache

from django.db.models import Case, F, Q, QuerySet, When

from annotate.models import Event, Slot
from annotate.models.units import OUTPUTS
from evalcore.database.prepared import Prepared
from evalcore.models import Frame

LONGEST_SECONDS = 24 * 3600
# The clocks of server and browser differ slightly.
TOLERANCE = 1.0


def timed(annotator: int | None, now: datetime) -> QuerySet[Slot]:
    """Return an annotator's submitted slots whose time is known."""
    return Slot.objects.filter(
        annotator=annotator,
        submitted_at__lte=now,
        offered_at__isnull=False,
        seconds__isnull=False,
    )


def room(
    since: datetime, now: datetime, before: Iterable[tuple[datetime, float]]
) -> float:
    """Return the longest possible time for a story, given those of others."""
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
    """Set the time of a locked slot that is being submitted."""
    now = held.submitted_at
    starts = [at for at in (held.offered_at, offered_at) if at is not None]
    held.offered_at = min(starts, default=held.started_at)
    assert now is not None
    assert held.offered_at is not None
    person = held.annotator_id
    if claimed is not None and fits(claimed, held.offered_at, now, last):
        held.seconds = held.claimed_seconds = claimed
        return
    rows = timed(person, now).values_list("offered_at", "seconds").order_by()
    before = [(at, seconds) for at, seconds in rows if at and seconds is not None]
    most = room(held.offered_at, now, before)
    is_number = claimed is not None and math.isfinite(claimed)
    held.claimed_seconds = claimed if is_number else None
    if held.claimed_seconds is None or held.claimed_seconds > most:
        # The lease may have expired and the slot been taken again.
        events = Event.objects.filter(kind=Event.Kind.SLOT_TAKEN, annotator=person)
        begun = events.filter(slot=held.pk).values_list("at", flat=True)
        held.offered_at = min([held.offered_at, *begun])
        most = room(held.offered_at, now, before)
    held.seconds = most
    if held.claimed_seconds is not None and held.claimed_seconds > 0:
        held.seconds = min(held.claimed_seconds, most)


def fits(claimed: float, since: datetime, now: datetime, last: datetime | None) -> bool:
    """Return whether a time fits into its `room`."""
    left = min((now - since).total_seconds(), LONGEST_SECONDS)
    return 0 < claimed <= left and (last is None or last <= since)


@lru_cache
def _shots_with_picture(number: int) -> Prepared[int]:
    """Return the query for the shots with a picture, for a number of outputs."""

    def build(**outputs: int) -> QuerySet[Frame, int]:
        found = [
            Frame.objects.filter(output=output, media__isnull=False)
            .order_by()
            .values_list("number", flat=True)
            for output in outputs.values()
        ]
        return found[0].union(*found[1:]) if number > 1 else found[0]

    return Prepared(build, **{f"output_{place}": int for place in range(number)})


def note_sight(held: Slot, in_sight: Mapping[int, float] | None) -> None:
    """Set the time in sight of each shot of a locked slot, after its time."""
    if in_sight is None or held.seconds is None:
        return
    stored = (getattr(held.unit, f"{name}_id") for name in OUTPUTS)
    outputs = [output for output in stored if output is not None]
    pictured = _shots_with_picture(len(outputs)).rows(
        **{f"output_{place}": output for place, output in enumerate(outputs)}
    )
    held.in_sight = {
        str(shot): min(max(round(in_sight.get(shot, 0.0), 2), 0.0), held.seconds)
        for shot in sorted(set(pictured))
    }


def time_problem(
    offered_at: datetime | None, claimed: float | None, seconds: float | None
) -> str | None:
    """Return `missing`, `impossible`, or an empty text for a valid time."""
    if offered_at is None or seconds is None:
        return None
    if claimed is None:
        return "missing"
    return "" if 0 < min(claimed, LONGEST_SECONDS) <= seconds else "impossible"


def measured(slot: str = "") -> Case:
    """Return the expression for a slot's time; NULL without a browser's time."""
    was_told = Q(**{f"{slot}offered_at": None}) | Q(**{f"{slot}claimed_seconds__gt": 0})
    return Case(When(was_told, then=F(f"{slot}seconds")))
