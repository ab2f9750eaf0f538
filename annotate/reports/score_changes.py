"""Changes of a benchmark's scores, noted in the log of every study over it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Unpack

from django.db import transaction
from django.db.models import Count, QuerySet

from annotate import event_log
from annotate.models import Event, Study, User
from evalcore.models import Benchmark, MetricRun
from evalcore.scoring import deleting, metric_runs
from evalcore.scoring.deleting import StoredValues
from evalcore.scoring.run_options import RunOptions


def queue_again(
    benchmark: Benchmark,
    metrics: Sequence[str],
    user: User | None = None,
    **options: Unpack[RunOptions],
) -> MetricRun:
    """Queue a run that replaces existing values; see `metric_runs.queue_run`."""
    with transaction.atomic():
        run = metric_runs.queue_run(benchmark, metrics, **options)
        _note(benchmark, user, asked_again=run.metrics, run=run.pk)
    return run


def delete_values(values: StoredValues, user: User | None, by: str) -> tuple[int, int]:
    """Delete values and absences; return how many of each.

    `by`: name for the record of the runs.
    """
    with transaction.atomic():
        scores, absences = deleting.delete(values, by)
        _note(
            values.benchmark,
            user,
            deleted=values.what,
            values=scores,
            undefined=absences,
        )
    return scores, absences


def _note(benchmark: Benchmark, user: User | None, **details: Any) -> None:
    for study in Study.objects.filter(benchmark=benchmark).values_list("pk", flat=True):
        event_log.note(Event.Kind.SCORES_CHANGED, study, user=user, **details)


@dataclass(frozen=True)
class Uses:
    """Users of the scores of a benchmark."""

    studies: list[Study]
    questions: list[str]  # questions that name one of the metrics
    reports: int  # stored reports, which keep their own numbers


def uses_of(values: StoredValues) -> Uses:
    """Return what uses values that may be deleted."""
    studies: QuerySet[Study] = Study.objects.filter(benchmark=values.benchmark)
    metrics = set(values.scores.order_by().values_list("metric", flat=True).distinct())
    named = studies.filter(questions__metric__in=metrics)
    counted = studies.annotate(n=Count("reports")).values_list("n", flat=True)
    return Uses(
        list(studies.order_by("slug")),
        sorted(
            f"{slug}: {key}"
            for slug, key in named.values_list("slug", "questions__key").distinct()
        ),
        sum(counted),
    )
