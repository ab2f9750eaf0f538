"""Progress of an annotator: rated stories, time left, and breaks."""

import statistics
from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from math import ceil
from typing import Any, NamedTuple

from django.db import connection
from django.db.models import Count, Exists, Max, OuterRef, Q, QuerySet, Subquery, Value
from django.utils import timezone

from annotate.assignment import choosing
from annotate.models import Annotator, Purpose, Skip, Slot, Study
from annotate.responses import leasing
from annotate.responses.timing import measured
from evalcore.database.prepared import Prepared
from evalcore.models import Story

# From this many of the annotator's own times on, those of others are not used.
OWN_ENOUGH, OWN_LATEST = 3, 20
ALL_LATEST = 200
# After WORK without a pause of REST, the page suggests a rest.
WORK, REST = timedelta(minutes=25), timedelta(minutes=5)


def _timed_latest() -> QuerySet[Any]:
    timed = Slot.objects.annotate(measured=measured()).filter(
        measured__isnull=False, state=Slot.State.SUBMITTED
    )
    return timed.exclude(purpose=Purpose.TRAINING)


def own_latest(annotator: int) -> QuerySet[Any]:
    """Return the latest times of an annotator's stories."""
    return (
        _timed_latest().filter(annotator=annotator).order_by("-position")[:OWN_LATEST]
    )


def _submitted_since(annotator: int, since: datetime) -> QuerySet[Any, Any]:
    submitted = Slot.objects.filter(annotator=annotator, submitted_at__gt=since)
    return submitted.order_by("submitted_at").values_list("submitted_at", flat=True)


def first_since(annotator: int, since: datetime) -> QuerySet[Any, Any]:
    """Return the annotator's first submission since `rest_begins`."""
    return _submitted_since(annotator, since)[:1]


def rest_begins() -> datetime:
    """Return the start of the time in which uninterrupted work needs a rest."""
    return timezone.now() - WORK - REST


class Held(NamedTuple):
    """The columns of a slot that an annotator's progress needs."""

    code: str
    session: int | None
    round: int
    position: int
    claimed: bool
    state: str
    purpose: str
    story: int


# The columns of `Held` in the database.
HELD = (*Held._fields[:-1], "unit__story")
# Stories are counted in steps, because each number needs its own query.
AT_ONCE = 10


def _held(annotator: int) -> QuerySet[Slot, tuple[Any, ...]]:
    """Return an annotator's slots as `Held`, in order."""
    return leasing.own_slots(annotator).values_list(*HELD)


# Somebody's slots in a session and their latest stories, with the time of each. A plain
# number that the column cannot hold, as a mark is, PostgreSQL is never asked.
AND_LATEST = Prepared[tuple[Any, ...]](
    lambda annotator, session: (
        _held(annotator)
        .filter(
            Q(session=Value(session)) | Q(pk__in=own_latest(annotator).values("pk"))
        )
        .values_list(*HELD, measured())
    ),
    annotator=int,
    session=int,
)
LAST = Prepared[tuple[Any, ...]](
    lambda annotator: _held(annotator).reverse()[:1], annotator=int
)
TOTALS = Prepared[tuple[Any, ...]](
    lambda annotator, since: (
        leasing.own_slots(annotator)
        .order_by()
        .values("annotator")
        .annotate(
            sessions=Max("session"),
            submitted=Count(
                "pk",
                filter=Q(state=Slot.State.SUBMITTED) & ~Q(purpose=Purpose.TRAINING),
            ),
            real=Count("pk", filter=Q(purpose=Purpose.REAL)),
            left=Count("pk", filter=~Q(state=Slot.State.SUBMITTED)),
            skipped=Subquery(
                Skip.objects.filter(annotator=annotator)
                .order_by()
                .values("annotator")
                .annotate(n=Count("pk"))
                .values("n")
            ),
            first=Subquery(first_since(annotator, since)),
        )
        .values_list("sessions", "submitted", "real", "left", "skipped", "first")
    ),
    annotator=int,
    since=datetime,
)


class Totals(NamedTuple):
    """Totals of an annotator: last session, submitted slots, slots left, skips."""

    sessions: int | None
    submitted: int
    real: int
    left: int
    skipped: int
    first: datetime | None


def totals_of(annotator: Annotator) -> Totals:
    """Return an annotator's totals."""
    row = TOTALS.first(annotator=annotator.pk, since=rest_begins())
    if row is None:  # the annotator has no slot
        return Totals(None, 0, 0, 0, annotator.skips.count(), None)
    sessions, submitted, real, left, skipped, first = row
    return Totals(sessions, submitted, real, left, skipped or 0, first)


def progress(
    annotator: Annotator,
    row: Slot | None = None,
    ahead: int = 0,
    totals: Totals | None = None,
) -> dict[str, Any]:
    """Return the annotator's progress at a slot, or at the next one."""
    at = row or choosing.next_slot(annotator)
    session = leasing.session_for(at, annotator) if at else 1
    totals = totals or totals_of(annotator)
    is_training = at is not None and at.purpose == Purpose.TRAINING
    rows = AND_LATEST.rows(annotator=annotator.pk, session=session)
    seconds = [row[-1] for row in rows if row[-1] is not None][-OWN_LATEST:]
    here = [
        slot
        for slot in (Held(*row[:-1]) for row in rows)
        if slot.session == session
        and (at is None or not is_training or slot.round == at.round)
    ]
    is_joined = not is_training and (
        annotator.study.is_open
        or (at is not None and at.annotator_id is None)
        or any(slot.claimed for slot in here)
    )
    if at and at.position:
        number = 1 + sum(slot.position < at.position for slot in here)
    else:
        number = ahead or len(here) + 1
    to_come = _to_come(annotator, totals.real, here) if is_joined else 0
    size = len(here) + to_come
    unfinished = sum(slot.state != Slot.State.SUBMITTED for slot in here)
    left = to_come + unfinished
    if ahead:  # earlier stories are done by then
        left = max(size, number) - number + 1
    if not is_joined:  # the code follows the last sitting
        left += max(totals.left - unfinished, 0)
    return {
        "is_training": is_training,
        "session": session,
        "sessions": 0 if is_joined else max(session, totals.sessions or 1),
        "number": number,
        "size": max(size, number),
        "submitted": totals.submitted,
        "left": left,
        "minutes": (None if is_training else minutes_for(annotator, left, seconds)),
        "before": _before(annotator, at, here),
    }


def _before(annotator: Annotator, at: Slot | None, here: list[Held]) -> Held | None:
    """Return the previous slot in the same session or training round."""
    if at is None or at.position is None:  # a free slot would be the last
        last = LAST.first(annotator=annotator.pk)
        return Held(*last) if last else None
    earlier = [slot for slot in here if slot.position < at.position]
    return earlier[-1] if earlier else None


def number_in_session(annotator: Annotator, row: Slot) -> int:
    """Return the 1-based index of a slot in the annotator's session."""
    here = leasing.own_slots(annotator).filter(session=row.session)
    return 1 + here.filter(position__lt=row.position or 0).count()


def _to_come(annotator: Annotator, held: int, here: list[Held]) -> int:
    """Return the number of free slots that will join the session, one per story."""
    if not leasing.has_room(annotator):
        return 0
    study, cap = annotator.study, annotator.most_slots
    room = study.session_size - sum(slot.purpose == Purpose.REAL for slot in here)
    if cap is not None:
        room = min(room, cap - held)
    if room <= 0:
        return 0
    stories = {slot.story for slot in here}
    # Counting all stories takes long in a large study.
    most = AT_ONCE * ceil((room + len(stories)) / AT_ONCE)
    free = _free_stories(study.rounds, most).rows(
        study=study.pk, annotator=annotator.pk, language=annotator.language
    )
    return min(room, sum(story not in stories for story in free))


@lru_cache
def _free_stories(rounds: int, most: int) -> Prepared[int]:
    """Return the query for up to `most` stories with free slots."""

    def build(study: int, annotator: int, language: str) -> QuerySet[Any, int]:
        left = choosing.left(rounds, study, annotator, language)
        free = left.filter(annotator__isnull=True, state=Slot.State.OPEN).order_by()
        if connection.vendor == "postgresql":
            # It would read all free slots to tell their stories apart; SQLite, which
            # would look for a story's slots among all of them, stops at so many.
            here = free.filter(unit__story=OuterRef("pk"))
            benchmark = Study.objects.filter(pk=study).values("benchmark")
            stories = Story.objects.filter(Exists(here), benchmark__in=benchmark)
            return stories.order_by().values_list("pk", flat=True)[:most]
        return free.values_list("unit__story", flat=True).distinct()[:most]

    return Prepared(build, study=int, annotator=int, language=str)


def minutes_for(
    annotator: Annotator, stories: int, seconds: Sequence[float]
) -> int | None:
    """Return the minutes that stories will take this annotator, rounded up."""
    if len(seconds) < OWN_ENOUGH:
        latest = (
            _timed_latest().filter(study=annotator.study_id).order_by("-submitted_at")
        )
        seconds = list(latest.values_list("measured", flat=True)[:ALL_LATEST])
    if len(seconds) < OWN_ENOUGH or stories < 1:
        return None
    return ceil(statistics.median(seconds) * stories / 60)


def needs_rest(annotator: Annotator) -> bool:
    """Return whether an annotator has worked long without a pause."""
    first = first_since(annotator.pk, rest_begins())
    return has_worked_since(annotator, next(iter(first), None))


def has_worked_since(annotator: Annotator, first: datetime | None) -> bool:
    """Return `needs_rest` for a known `first_since`."""
    now = begun = timezone.now()
    if first is None or now - first < WORK:
        return False  # long work without a pause has an earlier submission
    for submitted in _submitted_since(annotator.pk, now - WORK - REST).reverse():
        if begun - submitted > REST:
            break
        begun = submitted
    return now - begun >= WORK
