"""Celery rings the bell; the work and its state are in `evalcore.scoring.metric_runs`.

A worker of the queue `gpu` computes what learned metrics need, one of the queue `judge`
asks judges, who may take their time while nothing else has to wait for them, and one of
the queue `cpu` computes the rest. A task gives way after a while, so that others in its
queue come to their turn, and rings again if something is left.
"""

from celery import shared_task

from evalcore.models import MetricChunk, MetricRun
from evalcore.scoring import metric_runs

SLICE_SECONDS = 30.0


def ring() -> None:
    """Tell the workers of every queue that there is something to do."""
    for queue in MetricChunk.Queue.values:
        score.apply_async((queue,), queue=queue)


@shared_task
def score(queue: str) -> None:
    """Plan what is asked for, and compute what is free, for a while."""
    for run in MetricRun.objects.filter(state=MetricRun.State.QUEUED).order_by("pk"):
        metric_runs.plan(run)
    if metric_runs.work([queue], seconds=SLICE_SECONDS, only_ready=True):
        score.apply_async((queue,), queue=queue)


@shared_task
def sweep() -> None:
    """Ring for whatever nobody works on."""
    metric_runs.finish_what_has_ended()
    if metric_runs.waiting_runs():
        ring()
