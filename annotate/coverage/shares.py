"""Shares of the remaining ratings by person, and the forecast of the finish."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, cast

from django.core.cache import cache
from django.db.models import F

from annotate.coverage.forecast import WINDOW, Forecast, Person, forecast
from annotate.models import Annotator, Study
from annotate.people.presence import USUAL_DAYS, Presence, calendar

# A forecast lasts so long, unless somebody answers.
STEP = timedelta(minutes=10)
NOT_COME = (Annotator.State.PLANNED, Annotator.State.INVITED)


@dataclass(frozen=True)
class Share:
    """The ratings that somebody holds, and their pace."""

    presence: Presence
    held: int
    per_day: float
    last: datetime | None

    @property
    def name(self) -> str:
        return self.presence.person.name

    @property
    def is_counted(self) -> bool:
        """Return whether the forecast counts on this person."""
        return self.presence.is_at_work


def shares(study: Study, counted: Mapping[str, Any], now: datetime) -> list[Share]:
    """Return everybody's share; those at work first, then those who hold most."""
    if not counted:
        return []
    measure = calendar(study, counted["patience"])
    people = study.annotators.select_related("invitation")
    rows = []
    for person in people:
        stored = counted["people"].get(str(person.pk), {})
        last = stored.get("last")
        at = datetime.fromisoformat(last) if last else None
        answers = _answers(counted, person.pk)
        recent = [n for at_hour, n in answers if at_hour > now - WINDOW]
        since = max(now - WINDOW, answers[0][0]) if answers else now
        days = max((now - since) / timedelta(days=1), 1.0)
        held = counted["left"]["held"].get(str(person.pk), 0)
        presence = measure.presence(person, at, now)
        rows.append(Share(presence, held, sum(recent) / days, at))
    return sorted(rows, key=lambda one: (not one.is_counted, -one.held, one.name))


def forecast_of(
    study: Study,
    counted: Mapping[str, Any],
    held: Sequence[Share],
    remaining: int,
    now: datetime,
) -> Forecast:
    """Forecast the finish of the `remaining` ratings that people may come to."""
    people = [
        Person(
            _answers(counted, one.presence.person.pk),
            0 if study.is_open else one.held,
            works=one.is_counted,
            left=one.presence.has_begun
            and not one.is_counted
            and one.presence.person.state != Annotator.State.FINISHED,
        )
        for one in held
        if one.presence.has_begun
    ]
    free = max(remaining - sum(one.held for one in people if one.works), 0)
    at = now - (now - datetime.fromtimestamp(0, UTC)) % STEP
    places = _places(study, held) if study.is_open else None
    patience = counted.get("patience", USUAL_DAYS)
    given = (tuple(people), free, at, patience, places)
    key = f"forecast-{hashlib.sha256(repr(given).encode()).hexdigest()}"
    found = cache.get(key)
    if found is None:
        found = forecast(people, free, at, patience=patience, places=places)
        cache.set(key, found, STEP.total_seconds())
    return cast("Forecast", found)


def _answers(
    counted: Mapping[str, Any], annotator: int
) -> tuple[tuple[datetime, int], ...]:
    rows = counted.get("by_person", {}).get(str(annotator), [])
    return tuple((datetime.fromtimestamp(3600 * hour, UTC), n) for hour, n in rows)


def _places(study: Study, people: Sequence[Share]) -> int:
    """Return how many people may still come."""
    links = study.join_links.filter(closed_at__isnull=True, joined__lt=F("most"))
    free: int = sum(links.values_list(F("most") - F("joined"), flat=True))
    return free + sum(one.presence.person.state in NOT_COME for one in people)
