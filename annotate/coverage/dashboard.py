"""Contents of the progress page."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, cast

from django.core.cache import cache
from django.utils import timezone
from django.utils.translation import get_language

from annotate.coverage import forecast, snapshots
from annotate.coverage.alert_lines import Alert
from annotate.coverage.alerts import alerts
from annotate.coverage.completion import Outlook, outlook, times, waiting
from annotate.coverage.counts import (
    HeatMap,
    Totals,
    grid,
    of_question,
    totals,
    units,
)
from annotate.coverage.shares import shares
from annotate.coverage.snapshots import Topic, topics
from annotate.coverage.summary import late, sentence
from annotate.kinds.registry import counted, kind_of
from annotate.models import Question, Snapshot, Study
from annotate.payment.costs import Costs, costs
from annotate.payment.table import PersonRow, people_rows
from annotate.people.status import Status

PEOPLE_SHOWN = 30
VERSION_LASTS = 600  # seconds until a page is rendered again: alerts may be due


@dataclass(frozen=True)
class AlphaRow:
    """Agreement on one topic, or the reason why it is undefined."""

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
        """Return the position of alpha on a line from 0 to 1, in per cent."""
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
    """Status of a study: figures, totals, alerts and expected finish."""

    figures: snapshots.Figures
    totals: Totals
    alerts: list[Alert]
    outlook: Outlook
    sentence: str


@dataclass(frozen=True)
class Dashboard(StudyStanding):
    """Status of a study with the other contents of the page."""

    sessions: int
    chart: forecast.Chart | None
    by_day: bool
    grid: HeatMap
    questions: list[Question]
    question: Question | None
    alphas: list[AlphaRow]
    people: list[PersonRow]
    n_people: int
    costs: Costs | None
    by_status: list[tuple[Status, int]]

    @property
    def minutes(self) -> float | None:
        """Return the median minutes of people who finished, with their training."""
        return cast("float | None", self.figures.tallies.get("minutes"))


def version(study: Study, now: datetime | None = None) -> str:
    """Return a text that changes whenever the page does."""
    event, taken = snapshots.versions(study)
    seconds = int((now or timezone.now()).timestamp())
    return f"{event}-{taken}-{seconds // VERSION_LASTS}"


def standing(
    study: Study,
    now: datetime | None = None,
    *,
    base: str = "",
    stored_only: bool = False,
) -> StudyStanding:
    """Return the status of a study; links in its alerts begin with `base`."""
    now = now or timezone.now()
    total = totals(study)
    figures = snapshots.current_figures(
        study, total.wanted, now, stored_only=stored_only
    )
    total = replace(total, surplus=figures.tallies.get("surplus", 0))
    people = shares(study, figures.tallies, now) if total.left > 0 else []
    waits = waiting(study, figures.tallies, people, total.left)
    needed = alerts(
        study,
        figures.tallies,
        waits=waits,
        left=total.left,
        alphas=figures.alphas,
        now=now,
        base=base,
    )
    stalled = any(alert.kind == "stalled" for alert in needed)
    until = outlook(
        study, figures.tallies, people, waits, total.left, has_stalled=stalled, now=now
    )
    needed += late(study, figures.tallies, until, total, now)
    needed.sort(key=lambda alert: -alert.weight)
    return StudyStanding(figures, total, needed, until, sentence(study, total, until))


def first_alert(study: Study) -> Alert | None:
    """Return the most important alert by stored figures, cached until they change."""
    key = f"first-alert-{study.pk}-{version(study)}-{get_language()}"

    def found() -> list[Alert]:
        if not Snapshot.objects.filter(study=study).exists():
            return []
        return standing(study, stored_only=True).alerts[:1]

    listed = cast("list[Alert]", cache.get_or_set(key, found, VERSION_LASTS))
    return listed[0] if listed else None


def dashboard(
    study: Study,
    *,
    question: str = "",
    stories: str = "",
    rows: str = "",
    everybody: bool = False,
    now: datetime | None = None,
    base: str = "",
) -> Dashboard:
    """Return the contents of the page, in a number of queries that does not grow."""
    stands = standing(study, now, base=base)
    figures, total = stands.figures, stands.totals
    # A checklist is submitted as a whole, so its questions share their counts.
    questions = [q for q in counted(study.asked) if not kind_of(q).of_shots]
    chosen = next((q for q in questions if q.key == question), None)
    counts = units(study)
    people = people_rows(study, now, signals=figures.signals, with_codes=False)
    chart, by_day = _chart(figures.tallies, total.wanted)
    by_status = Counter(row.status for row in people)
    return Dashboard(
        **vars(stands),
        sessions=forecast.sessions_left(
            total.left,
            total.submitted,
            figures.tallies.get("sessions", 0),
            study.session_size,
        ),
        chart=chart,
        by_day=by_day,
        grid=grid(
            of_question(counts, study, chosen) if chosen else counts,
            stories=stories,
            rows=rows,
        ),
        questions=questions,
        question=chosen,
        alphas=[_alpha_row(topic, figures, total) for topic in topics(study)],
        people=people if everybody else people[:PEOPLE_SHOWN],
        n_people=len(people),
        costs=costs(study, people),
        by_status=[(status, by_status[status]) for status in Status],
    )


def _chart(
    counted: Mapping[str, Any], wanted: int
) -> tuple[forecast.Chart | None, bool]:
    """Chart answers by day, or by hour while they span less than three days."""
    days, hours = (times(counted.get(name, [])) for name in ("days", "hours"))
    if hours and hours[-1][0] - days[0][0] < timedelta(days=3):
        return forecast.chart(hours, wanted, forecast.HOUR), False
    return forecast.chart(days, wanted, forecast.DAY), True


def _alpha_row(topic: Topic, figures: snapshots.Figures, total: Totals) -> AlphaRow:
    row = figures.alphas.get(topic.key)
    if row is None:
        return AlphaRow(topic, "waiting" if total.submitted else "none")
    return AlphaRow(topic, **row)
