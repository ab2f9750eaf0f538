"""Celery rings the bell; the work and its state are in `evalcore.scoring`.

A worker of the queue `gpu` computes what learned metrics need, one of the queue `cpu`
the rest; judges, who may take their time, are asked by the former. A task gives way
after a while, so that others in its queue come to their turn, and rings again if
something is left.
"""

from celery import shared_task

from evalcore import scoring
from evalcore.models import MetricChunk, MetricRun

SLICE_SECONDS = 30.0
Queue = MetricChunk.Queue
# Which chunks the workers of a queue of Celery take.
CHUNKS = {"cpu": (Queue.CPU,), "gpu": (Queue.GPU, Queue.JUDGE)}


def ring() -> None:
    """Tell the workers of both queues that there is something to do."""
    for queue in CHUNKS:
        score.apply_async((queue,), queue=queue)


@shared_task
def score(queue: str) -> None:
    """Plan what is asked for, and compute what is free, for a while."""
    for run in MetricRun.objects.filter(state=MetricRun.State.QUEUED).order_by("pk"):
        scoring.plan(run)
    if scoring.work(CHUNKS[queue], seconds=SLICE_SECONDS, only_ready=True):
        score.apply_async((queue,), queue=queue)


@shared_task
def sweep() -> None:
    """Ring for whatever nobody works on."""
    scoring.finish_what_has_ended()
    if scoring.waiting_runs():
        ring()
