"""Presence of annotators, measured by the pauses usual in a study."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise, takewhile

from django.db.models import Count, TextField
from django.db.models.functions import Cast, Left

from annotate.models import Annotator, Event, Purpose, Slot, Study

Kind = Event.Kind
ENOUGH_PAUSES, SHARE = 20, 0.95
LEAST_DAYS, USUAL_DAYS, MOST_DAYS = 3, 7, 14
# People who have not opened their link after so long are reminded.
NOT_BEGUN = timedelta(days=3)


@dataclass(frozen=True)
class Presence:
    """Presence of a person; `since` is when they were last seen, invited or planned."""

    person: Annotator
    since: datetime
    has_begun: bool
    is_at_work: bool
    is_missed: bool


@dataclass(frozen=True)
class Calendar:
    """Usual patience of a study, and the times when it was open."""

    patience: timedelta
    opened: datetime | None = None
    reopened: datetime | None = None
    shut: datetime | None = None

    def presence(
        self, person: Annotator, answered: datetime | None, now: datetime
    ) -> Presence:
        """Return the presence of a person, given their last answer."""
        at = min(now, self.shut or now)
        seen = last_seen(person, answered)
        if seen is None:
            since = _invited(person)
            waited = at - max(since, self.opened or since)
            return Presence(person, since, False, False, waited > NOT_BEGUN)
        away = at - max(seen, self.reopened or seen) > self.patience
        is_at_work = not away and person.state not in Annotator.STOPPED
        return Presence(person, seen, True, is_at_work, away)


def last_seen(person: Annotator, answered: datetime | None) -> datetime | None:
    """Return the time of a person's last page, consent or answer."""
    signs = (person.last_seen_at, person.instructed_at, person.consented_at, answered)
    return max((at for at in signs if at is not None), default=None)


def _invited(person: Annotator) -> datetime:
    invitation = getattr(person, "invitation", None)
    return invitation.created_at if invitation else person.created_at


def calendar(study: Study, patience: int) -> Calendar:
    """Return the calendar of a study."""
    return Calendar(timedelta(days=patience), *openings(study))


def openings(study: Study) -> tuple[datetime | None, datetime | None, datetime | None]:
    """Return when a study was last opened, reopened and shut."""
    moves = study.events.filter(
        kind__in=(Kind.STUDY_LAUNCHED, Kind.STUDY_PAUSED, Kind.STUDY_CLOSED)
    )
    latest = list(moves.order_by("-id").values_list("kind", "at"))
    stops = list(takewhile(lambda move: move[0] != Kind.STUDY_LAUNCHED, latest))
    launches = latest[len(stops) :]
    opened = launches[0][1] if launches else None
    shut = study.created_at if study.state == Study.State.DRAFT else None
    # A launch with another one before it reopened the study.
    return opened, opened if launches[1:] else None, stops[-1][1] if stops else shut


def answers_by_day(study: Study) -> list[tuple[int, datetime, int]]:
    """Return the number of slots each person submitted per day (UTC), oldest first."""
    rows = study.slots.filter(
        state=Slot.State.SUBMITTED, ordinal__isnull=False, purpose=Purpose.REAL
    ).order_by()
    # Times are stored in UTC. TruncDay would call Python for every row on SQLite.
    day = Left(Cast("submitted_at", TextField()), 10)
    counted = rows.values(day=day).values_list("annotator", "day", Count("pk"))
    return [
        (annotator, datetime.fromisoformat(day).replace(tzinfo=UTC), n)
        for annotator, day, n in counted.order_by("day")
    ]


def patience_days(by_day: Iterable[tuple[int, datetime, int]]) -> int:
    """Return after how many days a person counts as away, from the days of answers."""
    return patience_of(pauses((who, day) for who, day, _n in by_day))


def pauses(days: Iterable[tuple[int, datetime]]) -> list[int]:
    """Return the pauses in days between a person's days of answers."""
    in_order = pairwise(sorted(days))
    return [(b - a).days for (one, a), (other, b) in in_order if one == other]


def patience_of(lengths: Iterable[int]) -> int:
    """Return after how many days a person counts as away, from the usual pauses."""
    ordered = sorted(lengths)
    if len(ordered) < ENOUGH_PAUSES:
        return USUAL_DAYS
    usual = ordered[math.ceil(SHARE * len(ordered)) - 1]
    return min(max(usual, LEAST_DAYS), MOST_DAYS)
