"""Everything that the coverage page shows, put together from its parts."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, cast

from django.db.models import Count
from django.utils import timezone

from annotate.coverage import forecast, snapshots
from annotate.coverage.alerts import Alert, alerts
from annotate.coverage.completion import Outlook, outlook, times, waiting
from annotate.coverage.counts import (
    HeatMap,
    Totals,
    grid,
    of_question,
    totals,
    units,
)
from annotate.coverage.snapshots import Topic, topics
from annotate.kinds.registry import counted, kind_of
from annotate.models import CHECKS, Annotator, Flag, Question, Slot, Study
from annotate.people.presence import last_seen

PEOPLE_SHOWN = 30
VERSION_LASTS = 600  # seconds after which a page is drawn anew, alerts may be due
SEVERITY = {"exclude": 0, "pause": 1, "warn": 2, "note": 3}


@dataclass(frozen=True)
class PersonRow:
    """One annotator with counts, signals and flags, as far as they are known."""

    annotator: Annotator
    counted: Mapping[str, Any]
    signals: Mapping[str, Any]
    flags: tuple[Flag, ...]
    n_checks: int

    @property
    def last(self) -> datetime | None:
        """Return when they were last seen, or last submitted."""
        answered = self.counted.get("last")
        return last_seen(
            self.annotator, datetime.fromisoformat(answered) if answered else None
        )

    @property
    def rest(self) -> float | None:
        """Return the agreement with the others."""
        return cast("float | None", self.signals.get("rest", [None])[0])

    @property
    def checks(self) -> list[tuple[str, int, int]]:
        """Return kind, per cent and number of each check there was."""
        found = self.signals.get("checks", {})
        return [
            (kind, round(100 * value), n)
            for kind, (value, n) in found.items()
            if value is not None
        ]


@dataclass(frozen=True)
class AlphaRow:
    """Agreement on one topic, or why there is none."""

    topic: Topic
    reason: str = ""
    alpha: float | None = None
    low: float | None = None
    high: float | None = None
    n_units: int = 0
    n_answers: int = 0
    mean_k: float = 0.0
    reliability: float | None = None

    @property
    def dot(self) -> float:
        """Return where alpha stands on a line from 0 to 1, in per cent."""
        return _per_cent(self.alpha)

    @property
    def bar(self) -> tuple[float, float]:
        """Return start and length of the interval on that line."""
        start = _per_cent(self.low)
        return start, round(_per_cent(self.high) - start, 1)


def _per_cent(value: float | None) -> float:
    return round(100 * min(max(value or 0.0, 0.0), 1.0), 1)


@dataclass(frozen=True)
class StudyStanding:
    """How a study stands: what is known, what needs attention, and until when."""

    known: snapshots.KnownFigures
    totals: Totals
    alerts: list[Alert]
    outlook: Outlook


@dataclass(frozen=True)
class Dashboard(StudyStanding):
    """What the page shows beside how the study stands."""

    sessions: int
    chart: forecast.Chart | None
    by_day: bool
    grid: HeatMap
    questions: list[Question]
    question: Question | None
    alphas: list[AlphaRow]
    people: list[PersonRow]
    n_people: int

    @property
    def has_checks(self) -> bool:
        return any(row.n_checks for row in self.people)


def version(study: Study, now: datetime | None = None) -> str:
    """Return what changes when the page does; a few cheap queries."""
    event, taken = snapshots.versions(study)
    seconds = int((now or timezone.now()).timestamp())
    return f"{event}-{taken}-{seconds // VERSION_LASTS}"


def standing(study: Study, now: datetime | None = None) -> StudyStanding:
    """Return how a study stands."""
    now = now or timezone.now()
    total = totals(study, surplus=0)
    known = snapshots.known(study, total.wanted, now)
    total = replace(total, surplus=known.tallies.get("surplus", 0))
    waits = waiting(study, known.tallies, total.left, now)
    needed = alerts(
        study,
        known.tallies,
        waits=waits,
        left=total.left,
        now=now,
    )
    stalled = any(alert.kind == "stalled" for alert in needed)
    until = outlook(
        study, known.tallies, waits, total.left, has_stalled=stalled, now=now
    )
    return StudyStanding(known, total, needed, until)


def dashboard(
    study: Study,
    *,
    question: str = "",
    stories: str = "",
    rows: str = "",
    everybody: bool = False,
    now: datetime | None = None,
) -> Dashboard:
    """Put the page together; the number of queries does not depend on the size."""
    stands = standing(study, now)
    known, total = stands.known, stands.totals
    # Whoever submits a checklist has looked at all of it.
    questions = [q for q in counted(study.asked) if not kind_of(q).of_shots]
    chosen = next((q for q in questions if q.key == question), None)
    found = units(study)
    drawn, by_day = _chart(known.tallies, total.wanted)
    return Dashboard(
        **vars(stands),
        sessions=forecast.sessions_left(
            total.left,
            total.submitted,
            known.tallies.get("sessions", 0),
            study.session_size,
        ),
        chart=drawn,
        by_day=by_day,
        grid=grid(
            of_question(found, study, chosen) if chosen else found,
            stories=stories,
            rows=rows,
        ),
        questions=questions,
        question=chosen,
        alphas=[_alpha_row(topic, known, total) for topic in topics(study)],
        people=person_rows(study, known, None if everybody else PEOPLE_SHOWN),
        n_people=study.annotators.count(),
    )


def person_rows(
    study: Study, known: snapshots.KnownFigures, most: int | None = None
) -> list[PersonRow]:
    """Return everybody's row, or so many: those with flags first, then by name."""
    flags: dict[int, list[Flag]] = defaultdict(list)
    for flag in Flag.objects.filter(annotator__study=study, resolved_at__isnull=True):
        flags[flag.annotator_id].append(flag)
    everybody = study.annotators.order_by("name")
    flagged = sorted(
        everybody.filter(pk__in=flags), key=lambda one: _gravity(flags[one.pk])
    )
    room = None if most is None else max(most - len(flagged), 0)
    shown = [*flagged[:most], *everybody.exclude(pk__in=flags)[:room]]
    # By annotator an index finds them.
    slots = study.slots.filter(
        annotator__in=[person.pk for person in shown],
        purpose__in=CHECKS,
        state=Slot.State.SUBMITTED,
    )
    counted = slots.order_by().values_list("annotator").annotate(n=Count("pk"))
    checks = dict(counted)
    return [
        PersonRow(
            person,
            known.tallies.get("people", {}).get(str(person.pk), {}),
            known.signals.get(str(person.pk), {}),
            tuple(flags.get(person.pk, ())),
            checks.get(person.pk, 0),
        )
        for person in shown
    ]


def _gravity(flags: list[Flag]) -> int:
    return min(SEVERITY[flag.action] for flag in flags)


def _chart(
    counted: Mapping[str, Any], wanted: int
) -> tuple[forecast.Chart | None, bool]:
    """Draw days, or hours while all answers came within three days."""
    days, hours = (times(counted.get(name, [])) for name in ("days", "hours"))
    if hours and hours[-1][0] - days[0][0] < timedelta(days=3):
        return forecast.chart(hours, wanted, forecast.HOUR), False
    return forecast.chart(days, wanted, forecast.DAY), True


def _alpha_row(topic: Topic, known: snapshots.KnownFigures, total: Totals) -> AlphaRow:
    row = known.alphas.get(topic.key)
    if row is None:
        return AlphaRow(topic, "waiting" if total.submitted else "none")
    return AlphaRow(topic, **row)
