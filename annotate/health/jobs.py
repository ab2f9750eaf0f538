"""Reports and computations of scores that wait or are at work."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Exists, Max, OuterRef, Q, Subquery
from django.utils import timezone

from annotate.models import Report, Study
from annotate.reports import building, study_scores
from evalcore.models import MetricRun
from evalcore.scoring import metric_runs


@dataclass(frozen=True)
class Job:
    """A report or a computation of scores.

    `study` is the slug of one whose pages show it, empty where there is none, and
    `name` what it is of. `waits_for` is empty for one at work.
    """

    kind: str  # report or scores
    pk: int
    name: str
    study: str
    since: datetime
    waits_for: str = ""  # worker or scores
    told: str = ""

    @property
    def waits(self) -> bool:
        """Say whether it waits for somebody who works on it."""
        return self.waits_for == "worker"


def unfinished(now: datetime | None = None) -> list[Job]:
    """Return what waits for a worker, then the rest, the oldest first."""
    now = now or timezone.now()
    found = [*_reports(now), *_runs(now)]
    return sorted(found, key=lambda job: (not job.waits, job.since))


def _reports(now: datetime) -> Iterator[Job]:
    computing = study_scores.computing(benchmark=OuterRef("study__benchmark"))
    rows = Report.objects.filter(state__in=Report.UNFINISHED).values_list(
        "pk",
        "study__slug",
        "state",
        "created_at",
        "heartbeat_at",
        Q(waits=True) & Exists(computing),
        "step",
    )
    for pk, slug, state, created, sign, held, step in rows:
        if state == Report.State.RUNNING and _lives(sign, now, building.SILENT):
            yield Job("report", pk, slug, slug, created, told=step)
        elif state == Report.State.QUEUED and held:
            yield Job("report", pk, slug, slug, created, "scores")
        else:
            yield Job("report", pk, slug, slug, sign or created, "worker")


def _runs(now: datetime) -> Iterator[Job]:
    over = Study.objects.filter(benchmark=OuterRef("benchmark")).order_by("-created_at")
    running = Q(chunks__state=MetricRun.State.RUNNING)
    rows = (
        MetricRun.objects.filter(
            state__in=metric_runs.OPEN, source=MetricRun.Source.COMPUTED
        )
        .annotate(
            sign=Max("chunks__heartbeat_at", filter=running),
            last=Max("chunks__heartbeat_at"),
            of_study=Subquery(over.values("slug")[:1]),
        )
        .select_related("benchmark")
    )
    for run in rows:
        lives = _lives(run.sign, now, metric_runs.SILENT)
        yield Job(
            "scores",
            run.pk,
            run.benchmark.slug,
            run.of_study or "",
            run.created_at if lives else run.last or run.created_at,
            "" if lives else "worker",
            ", ".join(run.metrics),
        )


def _lives(sign: datetime | None, now: datetime, silent: timedelta) -> bool:
    return sign is not None and now - sign <= silent
