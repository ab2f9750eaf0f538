"""Everything that the coverage page shows, put together from its parts."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, cast

from django.db.models import Count
from django.utils import timezone

from annotate.coverage import forecast, snapshots
from annotate.coverage.alerts import BEHIND, Alert, alerts
from annotate.coverage.completion import Outlook, outlook, times, waiting
from annotate.coverage.counts import (
    Totals,
    UnitCounts,
    asked_of,
    leases,
    of_question,
    totals,
    units,
)
from annotate.coverage.heat_map import HeatMap, grid
from annotate.coverage.snapshots import Topic, topics
from annotate.kinds.registry import counted, kind_of
from annotate.models import CHECKS, Annotator, Flag, Question, Slot, Study
from annotate.people.presence import last_seen

PEOPLE_SHOWN, LEASES_SHOWN = 30, 20
VERSION_LASTS = 600  # seconds after which a page is drawn anew, alerts may be due
SEVERITY = {"exclude": 0, "pause": 1, "warn": 2, "note": 3}


@dataclass(frozen=True)
class PersonRow:
    """One annotator with counts, signals and flags, as far as they are known."""

    annotator: Annotator
    counted: Mapping[str, Any]
    signals: Mapping[str, Any]
    flags: tuple[Flag, ...]
    n_checks: int = 0

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

    @property
    def order(self) -> tuple[int, str]:
        """Return what sorts those to look at first."""
        worst = min((SEVERITY[flag.action] for flag in self.flags), default=9)
        return worst, self.annotator.name


@dataclass(frozen=True)
class AlphaRow:
    """Agreement on one topic now, and what to expect when the study is complete."""

    topic: Topic
    reason: str = ""
    alpha: float | None = None
    low: float | None = None
    high: float | None = None
    then_low: float | None = None
    then_high: float | None = None
    n_units: int = 0
    n_answers: int = 0
    mean_k: float = 0.0
    reliability: float | None = None
    then_k: float = 0.0
    then_reliability: float | None = None

    @property
    def dot(self) -> float:
        """Return where alpha stands on a line from 0 to 1, in per cent."""
        return _per_cent(self.alpha)

    @property
    def now_bar(self) -> tuple[float, float]:
        """Return start and length of the interval on that line."""
        return _bar(self.low, self.high)

    @property
    def then_bar(self) -> tuple[float, float]:
        """Return the same of the interval to be expected."""
        return _bar(self.then_low, self.then_high)


def _per_cent(value: float | None) -> float:
    return round(100 * min(max(value or 0.0, 0.0), 1.0), 1)


def _bar(low: float | None, high: float | None) -> tuple[float, float]:
    start = _per_cent(low)
    return start, round(_per_cent(high) - start, 1)


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
    leases: list[Slot]

    @property
    def has_checks(self) -> bool:
        return any(row.n_checks for row in self.people)

    @property
    def marks(self) -> dict[str, bool]:
        """Return which small marks stand in the map, so that its legend names them."""
        cells = [cell for row in self.grid.rows for cell in row.cells if cell]
        return {
            "leased": any(cell.leased and not cell.folded for cell in cells),
            "aside": any(cell.aside for cell in cells),
        }


def version(study: Study, now: datetime | None = None) -> str:
    """Return what changes when the page does; a few cheap queries."""
    event, taken = snapshots.versions(study)
    seconds = int((now or timezone.now()).timestamp())
    return f"{event}-{taken}-{seconds // VERSION_LASTS}"


def standing(
    study: Study, now: datetime | None = None, found: UnitCounts | None = None
) -> StudyStanding:
    """Return how a study stands; `found` are its units where they were read already."""
    now = now or timezone.now()
    total = totals(study, found=found, surplus=0)
    known = snapshots.known(study, total.wanted, now)
    total = replace(total, surplus=known.tallies.get("surplus", 0))
    waits = waiting(study, known.tallies, total.left, now)
    needed = alerts(
        study,
        known.tallies,
        waits=waits,
        left=total.left,
        computed_at=_computed_at(study, known, now),
        now=now,
    )
    stalled = any(alert.kind == "stalled" for alert in needed)
    until = outlook(
        study, known.tallies, waits, total.left, has_stalled=stalled, now=now
    )
    return StudyStanding(known, total, needed, until)


def _computed_at(
    study: Study, known: snapshots.KnownFigures, now: datetime
) -> datetime | None:
    """Return when the worker last computed, if it is late."""
    if not known.is_behind or known.at is None or now - known.at <= BEHIND:
        return None
    # A quiet hour before the latest event is no delay of the worker's.
    waits = study.events.filter(id__gt=known.event, at__lt=now - BEHIND)
    return known.at if waits.exists() else None


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
    now = now or timezone.now()
    found = units(study)
    stands = standing(study, now, found)
    known, total = stands.known, stands.totals
    # Whoever submits a checklist has looked at all of it.
    questions = [q for q in counted(study.asked) if not kind_of(q).of_shots]
    chosen = next((q for q in questions if q.key == question), None)
    shown = of_question(found, study, chosen) if chosen else found
    drawn, by_day = _chart(known.tallies, total, stands.outlook, now)
    seen = person_rows(study, known, None if everybody else PEOPLE_SHOWN)
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
        grid=grid(shown, stories=stories, rows=rows),
        questions=questions,
        question=chosen,
        alphas=[
            _alpha_row(study, topic, known.alphas, found, total.wanted)
            for topic in topics(study)
        ],
        people=_with_checks(study, seen),
        n_people=study.annotators.count(),
        leases=list(
            leases(study).select_related(
                "annotator", "unit__story", *study.output_paths("unit__", "__method")
            )[:LEASES_SHOWN]
        ),
    )


def person_rows(
    study: Study, known: snapshots.KnownFigures, most: int | None = None
) -> list[PersonRow]:
    """Return everybody's row, or so many: those with flags first, then by name."""
    flags: dict[int, list[Flag]] = defaultdict(list)
    for flag in Flag.objects.filter(annotator__study=study, resolved_at__isnull=True):
        flags[flag.annotator_id].append(flag)
    counted = known.tallies.get("people", {})

    def row(annotator: Annotator) -> PersonRow:
        return PersonRow(
            annotator,
            counted.get(str(annotator.pk), {}),
            known.signals.get(str(annotator.pk), {}),
            tuple(flags.get(annotator.pk, ())),
        )

    everybody = study.annotators.order_by("name")
    flagged = sorted(
        map(row, everybody.filter(pk__in=flags)), key=lambda found: found.order
    )
    room = None if most is None else max(most - len(flagged), 0)
    return [*flagged[:most], *map(row, everybody.exclude(pk__in=flags)[:room])]


def _with_checks(study: Study, rows: list[PersonRow]) -> list[PersonRow]:
    """Count the checks of those who are shown; by annotator an index finds them."""
    slots = study.slots.filter(
        annotator__in=[row.annotator.pk for row in rows],
        purpose__in=CHECKS,
        state=Slot.State.SUBMITTED,
    )
    counted = slots.order_by().values_list("annotator").annotate(n=Count("pk"))
    checks = dict(counted)
    return [replace(row, n_checks=checks.get(row.annotator.pk, 0)) for row in rows]


def _chart(
    counted: Mapping[str, Any], total: Totals, until: Outlook, now: datetime
) -> tuple[forecast.Chart | None, bool]:
    """Draw days, or hours while all answers came within three days."""
    days, hours = (times(counted.get(name, [])) for name in ("days", "hours"))
    ends: list[datetime | None] = []
    if until.has_date and not until.waiting.slots:
        ends = [until.forecast.early, until.forecast.median, until.forecast.late]
    young = bool(hours) and hours[-1][0] - days[0][0] < timedelta(days=3)
    if young:
        return forecast.chart(hours, total.wanted, forecast.HOUR, now, ends), False
    return forecast.chart(days, total.wanted, forecast.DAY, now, ends), True


def _alpha_row(
    study: Study, topic: Topic, known: Mapping[str, Any], found: UnitCounts, total: int
) -> AlphaRow:
    row = known.get(topic.key)
    if row is None:
        return AlphaRow(topic, "waiting" if found.done.any() else "none")
    if "alpha" not in row:
        return AlphaRow(topic, row["reason"], n_answers=row.get("n_answers", 0))
    units_then, wanted = len(found), total
    if len(topic.questions) == 1 and topic.questions[0].stories:
        asked = asked_of(found, study, topic.questions[0])
        units_then, wanted = int(asked.sum()), int(found.wanted[asked].sum())
    then_k = wanted / units_then / study.rounds if units_then else 0.0
    low, high = row.get("low"), row.get("high")
    then: tuple[float | None, float | None] = (None, None)
    if low is not None and high is not None:
        # A slot has one answer to a question, and many boxes of a checklist.
        done = int(found.done.sum()) if topic.is_of_shots else row["n_answers"]
        then = forecast.expected_interval(row["alpha"], low, high, done, wanted)
    then_reliability = None
    if not study.is_side_by_side:
        then_reliability = forecast.spearman_brown(row["alpha"], then_k)
    return AlphaRow(
        topic,
        then_low=then[0],
        then_high=then[1],
        then_k=then_k,
        then_reliability=then_reliability,
        **row,
    )
