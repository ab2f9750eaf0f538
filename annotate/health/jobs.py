"""Reports and computations of scores: which wait, which run, which have failed."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import cast

from django.db.models import Exists, Max, OuterRef, Q, Subquery
from django.utils import timezone

from annotate.models import Report, Study
from annotate.reports import building, study_scores
from evalcore.models import MetricRun
from evalcore.scoring import metric_runs

SHOWN = 10
# What failed longer ago is no news; its study's page still has it.
NEWS = timedelta(days=7)
# Among so many later computations one is looked for that took a failed one up again.
LOOKED_AT = 50


@dataclass(frozen=True)
class Job:
    """A report or a computation of scores.

    `study` is the slug of one whose pages show it, empty where there is none, and
    `name` what it is of. `waits_for` is empty for one at work or at its end.
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


def _reports(now: datetime) -> Iterable[Job]:
    computing = study_scores.computing(benchmark=OuterRef("study__benchmark"))
    rows = (
        Report.objects.filter(state__in=(Report.State.QUEUED, Report.State.RUNNING))
        .annotate(held=Q(waits=True) & Exists(computing))
        .values_list(
            "pk", "study__slug", "state", "created_at", "heartbeat_at", "held", "step"
        )
    )
    for pk, slug, state, created, sign, held, step in rows:
        if state == Report.State.RUNNING and _lives(sign, now, building.SILENT):
            yield Job("report", pk, slug, slug, created, told=step)
        elif state == Report.State.QUEUED and held:
            yield Job("report", pk, slug, slug, created, "scores")
        else:
            yield Job("report", pk, slug, slug, sign or created, "worker")


def _runs(now: datetime) -> Iterable[Job]:
    rows = (
        MetricRun.objects.filter(
            state__in=metric_runs.OPEN, source=MetricRun.Source.COMPUTED
        )
        .annotate(
            sign=Max(
                "chunks__heartbeat_at", filter=Q(chunks__state=MetricRun.State.RUNNING)
            ),
            last=Max("chunks__heartbeat_at"),
            of_study=_study_of("benchmark"),
        )
        .values_list(
            "pk", "benchmark__slug", "of_study", "created_at", "sign", "last", "metrics"
        )
    )
    for pk, benchmark, study, created, sign, last, metrics in rows:
        names = ", ".join(metrics)
        if _lives(sign, now, metric_runs.SILENT):
            yield Job("scores", pk, benchmark, study or "", created, told=names)
        else:
            since = last or created
            yield Job("scores", pk, benchmark, study or "", since, "worker", names)


def _lives(sign: datetime | None, now: datetime, silent: timedelta) -> bool:
    return sign is not None and now - sign <= silent


def _study_of(benchmark: str) -> Subquery:
    """Return the slug of the latest study over a benchmark, as a column."""
    over = Study.objects.filter(benchmark=OuterRef(benchmark)).order_by("-created_at")
    return Subquery(over.values("slug")[:1])


def failed(now: datetime | None = None) -> list[Job]:
    """Return what failed lately and was not taken up again, the latest first."""
    since = (now or timezone.now()) - NEWS
    found = [*_failed_reports(since), *_failed_runs(since)]
    return sorted(found, key=lambda job: job.since, reverse=True)


def _failed_reports(since: datetime) -> Iterable[Job]:
    """Return reports; one that is built again is of the same view, moment and kind."""
    again = Report.objects.filter(
        study=OuterRef("study"),
        view=OuterRef("view"),
        as_of=OuterRef("as_of"),
        command=OuterRef("command"),
        pk__gt=OuterRef("pk"),
    )
    rows = Report.objects.filter(state=Report.State.FAILED, finished_at__gt=since)
    known = rows.exclude(Exists(again)).order_by("-finished_at")
    for pk, slug, at, error in known.values_list(
        "pk", "study__slug", "finished_at", "error"
    )[:SHOWN]:
        yield Job("report", pk, slug, slug, cast(datetime, at), told=error)


def _failed_runs(since: datetime) -> Iterable[Job]:
    """Return computations; who asks for the same metrics again takes one up."""
    rows = (
        MetricRun.objects.filter(
            source=MetricRun.Source.COMPUTED,
            state=MetricRun.State.FAILED,
            finished_at__gt=since,
        )
        .annotate(of_study=_study_of("benchmark"))
        .select_related("benchmark")
        .order_by("-pk")[:SHOWN]
    )
    for run in rows:
        later = MetricRun.objects.filter(
            benchmark=run.benchmark_id, source=MetricRun.Source.COMPUTED, pk__gt=run.pk
        )
        asked = later.values_list("metrics", flat=True)[:LOOKED_AT]
        if not any(set(run.metrics) <= set(metrics) for metrics in asked):
            yield Job(
                "scores",
                run.pk,
                run.benchmark.slug,
                run.of_study or "",
                cast(datetime, run.finished_at),
                told=run.error,
            )
