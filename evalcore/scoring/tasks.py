"""Celery tasks that wake workers; state is kept by `evalcore.scoring.metric_runs`.

The queue `gpu` computes learned metrics, `judge` asks judges, which may be slow while
nothing else has to wait for them, and `cpu` computes the rest. A task ends after a
while so that others in its queue get their turn, and sends a new one if work is left.
"""

import math
import time

from celery import shared_task

from evalcore.models import MetricChunk, MetricRun
from evalcore.scoring import metric_runs

SLICE_SECONDS = 30.0
# When this process last sent a message to continue, by queue. Until somebody has it,
# messages of the sweep are too many: other jobs of the queue would wait behind them.
_sent: dict[str, float] = {}


def wake_workers() -> None:
    """Wake the workers of every queue."""
    for queue in MetricChunk.Queue.values:
        score.apply_async((queue,), queue=queue)


@shared_task
def score(queue: str, continues: bool = False) -> None:
    """Plan queued runs, and compute free chunks for a limited time."""
    since = time.monotonic() - _sent.get(queue, -math.inf)
    if not continues and since < 2 * SLICE_SECONDS:
        return
    for run in MetricRun.objects.filter(state=MetricRun.State.QUEUED).order_by("pk"):
        metric_runs.plan(run)
    _sent.pop(queue, None)
    if metric_runs.work([queue], seconds=SLICE_SECONDS, only_ready=True):
        score.apply_async((queue, True), queue=queue)
        _sent[queue] = time.monotonic()


@shared_task
def sweep() -> None:
    """Wake workers for chunks that no worker computes."""
    metric_runs.finish_ended_runs()
    if metric_runs.waiting_runs():
        wake_workers()
