"""Which outputs lack a score, and computing them.

What is left to do stands in the database: a value that exists is not computed again, so
a run that was killed goes on where it stopped, and running it twice is harmless.
"""

import logging
from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta

import numpy as np
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from evalcore import media
from evalcore.metrics import registry
from evalcore.metrics.base import Metric, Picture, Value
from evalcore.models import Benchmark, Frame, MetricRun, MetricScore, Output

logger = logging.getLogger(__name__)

# A running job without a sign for this long was killed.
SILENT = timedelta(seconds=90)
# What a formula or a decoder raises on one output; the others do not depend on it.
# Anything else, such as a database that is gone, ends the run.
UNSCORABLE = (ArithmeticError, OSError, RuntimeError, ValueError)
SHOWN_FAILURES = 5
Progress = Callable[[int, int], None]


class ScoringError(ValueError):
    """Some scores cannot be computed; the message says which, and why."""


def queue_run(benchmark: Benchmark, metrics: Sequence[str]) -> MetricRun:
    """Ask for the missing scores of a benchmark; a worker, or `run`, computes them.

    Raises
    ------
    evalcore.metrics.registry.UnknownMetricError
        A metric does not exist.
    """
    for name in metrics:
        registry.load(name)
    return MetricRun.objects.create(
        benchmark=benchmark,
        source=MetricRun.Source.COMPUTED,
        metrics=sorted(set(metrics)),
    )


def _waiting() -> Q:
    """Return the condition that nobody works on a run: queued, or its worker killed."""
    silent = Q(heartbeat_at__isnull=True) | Q(heartbeat_at__lt=timezone.now() - SILENT)
    return Q(state=MetricRun.State.QUEUED) | (Q(state=MetricRun.State.RUNNING) & silent)


def waiting_runs() -> list[int]:
    """Return the runs that nobody works on, oldest first."""
    waiting = MetricRun.objects.filter(_waiting()).order_by("pk")
    return list(waiting.values_list("pk", flat=True))


def run(run_id: int, progress: Progress | None = None) -> MetricRun:
    """Compute what a run lacks; return at once if another worker has it."""
    claimed = MetricRun.objects.filter(_waiting(), pk=run_id).update(
        state=MetricRun.State.RUNNING,
        started_at=timezone.now(),
        heartbeat_at=timezone.now(),
    )
    row = MetricRun.objects.select_related("benchmark").get(pk=run_id)
    if not claimed:
        return row
    try:
        _compute(row, progress)
    except Exception as error:
        logger.exception("metric run %s failed", run_id)
        row.state = MetricRun.State.FAILED
        row.error = str(error) or type(error).__name__
    else:
        row.state = MetricRun.State.DONE
    row.finished_at = timezone.now()
    row.save(update_fields=["state", "error", "finished_at"])
    return row


def _compute(row: MetricRun, progress: Progress | None) -> None:
    metrics = [registry.load(name) for name in row.metrics]
    lacking = [m.info.name for m in metrics if m.missing()]
    if lacking:
        raise ScoringError(
            f"not ready here: {', '.join(lacking)}; see manage.py metrics"
        )
    outputs = _outputs_to_score(row.benchmark, metrics)
    row.total, row.done = len(outputs), 0
    row.save(update_fields=["total", "done"])
    failed = []
    for output, wanted in outputs:
        try:
            _score_output(row, output, wanted)
        except UNSCORABLE as error:
            name = f"{output.method.name} / {output.story.key}"
            logger.exception("metric run %s: %s", row.pk, name)
            failed.append(f"{name}: {error}")
        row.done += 1
        row.heartbeat_at = timezone.now()
        row.save(update_fields=["done", "heartbeat_at"])
        if progress is not None:
            progress(row.done, row.total)
    if failed:
        raise ScoringError(
            f"{len(failed)} of {len(outputs)} outputs could not be scored: "
            f"{'; '.join(failed[:SHOWN_FAILURES])}"
        )


def forget_computed(output: Output) -> None:
    """Remove what was computed of an output whose shots or pictures have changed."""
    MetricScore.objects.filter(
        run__source=MetricRun.Source.COMPUTED,
        story=output.story_id,
        method=output.method_id,
    ).delete()


def _outputs_to_score(
    benchmark: Benchmark, metrics: Iterable[Metric]
) -> list[tuple[Output, list[Metric]]]:
    """Return the outputs that have frames, with the metrics that each one lacks."""
    metrics = list(metrics)
    have = set(
        MetricScore.objects.filter(
            benchmark=benchmark, metric__in=[m.info.name for m in metrics]
        ).values_list("metric", "metric_version", "backend", "story", "method")
    )
    outputs = (
        Output.objects.filter(story__benchmark=benchmark, frames__isnull=False)
        .distinct()
        .select_related("story", "method")
        .order_by("pk")
    )
    todo = []
    for output in outputs:
        lacking = [
            m
            for m in metrics
            if (m.info.name, m.info.version, m.info.backend,
                output.story_id, output.method_id) not in have
        ]  # fmt: skip
        if lacking:
            todo.append((output, lacking))
    return todo


def measure(output: Output, metrics: Iterable[Metric]) -> list[tuple[Metric, Value]]:
    """Compute metrics of any output, a degraded twin too; nothing is stored.

    A score is stored by story and method, where a twin has no place.
    """
    frames = output.frames.select_related("media").order_by("number")
    pictures = [(frame.number, _pixels(frame)) for frame in frames]
    return [(metric, value) for metric in metrics for value in metric.score(pictures)]


def _score_output(row: MetricRun, output: Output, metrics: Iterable[Metric]) -> None:
    """Store every value of one output at once, so that none is half there.

    Pictures are read before the database is locked.
    """
    shots = dict(output.frames.values_list("number", "shot"))
    scores = [
        MetricScore(
            run=row,
            benchmark_id=row.benchmark_id,
            method_id=output.method_id,
            story_id=output.story_id,
            shot_id=None if value.shot is None else shots[value.shot],
            metric=metric.info.name,
            metric_version=metric.info.version,
            backend=metric.info.backend,
            higher_is_better=metric.info.higher_is_better,
            value=value.value,
        )
        for metric, value in measure(output, metrics)
        if value.value is not None
    ]
    with transaction.atomic():
        MetricScore.objects.bulk_create(scores, ignore_conflicts=True)


def _pixels(frame: Frame) -> Picture | None:
    stored = frame.media
    if stored is None:
        return None
    picture = media.open_picture(media.original_path(stored).read_bytes())
    return np.asarray(picture)
