"""Turns of runs: which free chunk a worker takes next.

Runs that wait in a queue take turns, chunk by chunk, so that a small new run does not
wait for a long one. The next is the run that was worked on longest ago, by the
heartbeats of its chunks.
"""

import uuid
from collections.abc import Iterable, Sequence
from datetime import timedelta

from django.db import transaction
from django.db.models import (
    Case,
    F,
    Max,
    PositiveSmallIntegerField,
    Q,
    Value,
    When,
)
from django.utils import timezone

from evalcore.metrics import registry
from evalcore.metrics.base import MissingRequirements
from evalcore.models import MetricChunk, MetricRun

RunState = MetricRun.State
Queue = MetricChunk.Queue
# A chunk without a heartbeat for this long has lost its worker.
SILENT = timedelta(seconds=90)


def free() -> Q:
    """Return the condition of chunks that no live worker has."""
    silent = Q(heartbeat_at__isnull=True) | Q(heartbeat_at__lt=timezone.now() - SILENT)
    return Q(state=RunState.QUEUED) | (Q(state=RunState.RUNNING) & silent)


def take(
    queues: Sequence[str], run_id: int | None, *, only_ready: bool = False
) -> MetricChunk | None:
    """Take the next chunk of the run whose turn it is; None if none is free.

    `only_ready` leaves chunks to other workers if their metrics lack something here.
    """
    worker = uuid.uuid4().hex
    for run in _in_turn(queues, run_id):
        chunks = MetricChunk.objects.filter(free(), run=run, queue__in=queues)
        for key, metrics in chunks.order_by("pk").values_list("pk", "metrics"):
            if only_ready and lacking_here(metrics):
                continue
            if _taken(key, worker):
                own = MetricChunk.objects.filter(pk=key, worker=worker)
                chunk = own.select_related("run__benchmark").first()
                if chunk is not None:  # otherwise the run was stopped meanwhile
                    return chunk
    return None


def _in_turn(queues: Sequence[str], run_id: int | None) -> list[int]:
    """Return the runs with free chunks, the one worked on longest ago first."""
    waiting = MetricChunk.objects.filter(free(), queue__in=queues)
    runs = MetricRun.objects.filter(
        state=RunState.RUNNING, pk__in=waiting.values("run")
    )
    if run_id is not None:
        runs = runs.filter(pk=run_id)
    worked = Max("chunks__heartbeat_at", filter=Q(chunks__queue__in=queues))
    turns = runs.annotate(worked=worked).order_by(
        F("worked").asc(nulls_first=True), "pk"
    )
    return list(turns.values_list("pk", flat=True))


def lacking_here(names: Iterable[str]) -> dict[str, MissingRequirements]:
    """Return the missing requirements of metrics that are not ready here."""
    known = [name for name in names if name.partition("@")[0] in registry.METRICS]
    missing = {name: registry.load(name).missing() for name in known}
    return {name: lacks for name, lacks in missing.items() if lacks}


def _taken(key: int, worker: str) -> bool:
    """Mark a chunk as taken, unless it or another one of its budget is taken."""
    with transaction.atomic():
        chunk = MetricChunk.objects.filter(free(), pk=key)
        if MetricChunk.objects.filter(pk=key, queue=Queue.JUDGE).exists():
            # The lock keeps two workers from both seeing no other.
            run = MetricRun.objects.select_for_update().get(chunks=key)
            asking = run.chunks.filter(queue=Queue.JUDGE, state=RunState.RUNNING)
            if asking.exclude(free()).exists():
                return False
        more = When(state=RunState.RUNNING, then=F("lost") + Value(1))
        lost = Case(more, default=F("lost"), output_field=PositiveSmallIntegerField())
        return bool(
            chunk.update(
                state=RunState.RUNNING,
                worker=worker,
                heartbeat_at=timezone.now(),
                lost=lost,
            )
        )
