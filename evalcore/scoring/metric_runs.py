"""Runs that compute missing scores, on one machine or many, and survive any kill.

The remaining work is stored in the database. A run is cut into chunks. A worker takes a
chunk by marking it, stores each value as it comes, and sends heartbeats. A chunk whose
worker falls silent goes to another worker, which computes only what is still missing.
"""

import logging
import time
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Unpack

from django.db import OperationalError, transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from evalcore.metrics.base import FatalError, MissingRequirements
from evalcore.models import Benchmark, MetricChunk, MetricRun
from evalcore.scoring import asked_again, score_rows
from evalcore.scoring.chunks import (
    ChunkLostError,
    ChunkProgress,
    ChunkWork,
    ScoringError,
    lock_run,
    report,
    sign,
)
from evalcore.scoring.planning import chunks_of, planned_metrics
from evalcore.scoring.run_options import RunOptions, checked_options, outputs_of
from evalcore.scoring.turns import free, lacking_here, take
from evalcore.serving.workers import Heartbeat

logger = logging.getLogger(__name__)

RunState = MetricRun.State
Queue = MetricChunk.Queue
OPEN = (RunState.QUEUED, RunState.RUNNING)
# A chunk fails after this many lost workers.
MOST_LOST = 3
SHOWN_FAILURES = 5

# Queueing ---------------------------------------------------------------------------


def queue_run(
    benchmark: Benchmark, metrics: Sequence[str], **options: Unpack[RunOptions]
) -> MetricRun:
    """Queue the missing scores of a benchmark; workers, or `run`, compute them.

    `benchmark`: whose outputs are scored. `metrics`: names, with `@profile` for another
    profile than the default.
    """
    names = sorted(set(metrics))
    return MetricRun.objects.create(
        benchmark=benchmark,
        source=MetricRun.Source.COMPUTED,
        metrics=names,
        options=checked_options(benchmark, names, **options),
    )


def plan(run: MetricRun) -> None:
    """Cut a queued run into chunks of missing work, once and in one transaction."""
    metrics, unknown = planned_metrics(run)
    with transaction.atomic():
        planned = MetricRun.objects.filter(pk=run.pk, state=RunState.QUEUED).update(
            state=RunState.RUNNING, started_at=timezone.now()
        )
        if not planned:
            return
        if unknown:
            _end(run, [["", "", unknown]])
            return
        identities = {one.name: one.asked for one in metrics if one.asked}
        options = run.options | {"identities": identities}
        outputs = outputs_of(run)
        already = asked_again.existing_rows(run, metrics, outputs)
        if asked := score_rows.asked_stories(outputs, metrics):
            options["asked"] = asked
        total = 0
        for queue in Queue.values:
            own = [one for one in metrics if one.metric.info.queue == queue]
            chunks, pieces = chunks_of(run, queue, own, outputs, already)
            MetricChunk.objects.bulk_create(chunks)
            total += pieces
        MetricRun.objects.filter(pk=run.pk).update(total=total, done=0, options=options)
        finish_if_done(run.pk)


def finish_if_done(run_id: int) -> None:
    """End a run whose chunks have all ended; record their failures."""
    with transaction.atomic():
        run = MetricRun.objects.select_for_update().get(pk=run_id)
        chunks = list(run.chunks.all())
        if run.state != RunState.RUNNING or any(c.state in OPEN for c in chunks):
            return
        _end(run, [failure for chunk in chunks for failure in chunk.failures])


def _end(run: MetricRun, failures: Sequence[Sequence[str]]) -> None:
    run.state = RunState.FAILED if failures else RunState.DONE
    run.error = _summary(failures, run.total)
    run.finished_at = timezone.now()
    run.save(update_fields=["state", "error", "finished_at"])


def finish_ended_runs() -> None:
    """End runs whose chunks have ended but whose worker died before ending the run."""
    under_way = MetricChunk.objects.filter(state__in=OPEN)
    ended = MetricRun.objects.filter(
        state=RunState.RUNNING, source=MetricRun.Source.COMPUTED
    ).exclude(pk__in=under_way.values("run"))
    for run_id in ended.values_list("pk", flat=True):
        finish_if_done(run_id)


def stop(runs: QuerySet[MetricRun]) -> int:
    """Stop those of the runs that have not ended; return how many.

    Stored values stay, and queueing the same metrics again continues from there. A
    worker on a stopped chunk stores nothing more; it continues to the end of its batch
    or to its next heartbeat, whichever comes later.
    """
    with transaction.atomic():
        open_runs = runs.filter(state__in=OPEN, source=MetricRun.Source.COMPUTED)
        keys = list(open_runs.select_for_update().values_list("pk", flat=True))
        MetricRun.objects.filter(pk__in=keys).update(
            state=RunState.STOPPED, finished_at=timezone.now()
        )
        MetricChunk.objects.filter(run__in=keys, state__in=OPEN).update(
            state=RunState.STOPPED, worker=""
        )
    return len(keys)


def begin_again(benchmark: Benchmark) -> None:
    """Take open chunks from their workers, within a transaction that changes outputs.

    What workers compute of the old outputs is not stored. A worker can take a chunk
    only after the transaction.
    """
    runs = benchmark.metric_runs.filter(
        state=RunState.RUNNING, source=MetricRun.Source.COMPUTED
    )
    keys = list(runs.select_for_update(no_key=True).values_list("pk", flat=True))
    open_chunks = MetricChunk.objects.filter(run__in=keys, state__in=OPEN)
    open_chunks.update(state=RunState.QUEUED, worker="")


def _summary(failures: Sequence[Sequence[str]], total: int) -> str:
    """Describe the failures; a reason shared by a whole chunk appears once."""
    fatal = list(dict.fromkeys(reason for what, _m, reason in failures if not what))
    single = [failure for failure in failures if failure[0]]
    lines = list(fatal)
    if single:
        examples = "; ".join(f"{w}: {m}: {r}" for w, m, r in single[:SHOWN_FAILURES])
        more = "; ..." if len(single) > SHOWN_FAILURES else ""
        lines.append(
            f"{len(single)} of {total} values could not be computed: {examples}{more}"
        )
    return "; ".join(lines)


# Working ----------------------------------------------------------------------------


def waiting_runs() -> list[int]:
    """Return the runs with free chunks, oldest first."""
    chunks = MetricChunk.objects.filter(free()).values("run")
    waiting = MetricRun.objects.filter(
        Q(state=RunState.QUEUED) | Q(state=RunState.RUNNING, pk__in=chunks)
    )
    return list(waiting.order_by("pk").values_list("pk", flat=True))


def run(run_id: int, progress: ChunkProgress | None = None) -> MetricRun:
    """Compute a run's missing scores in this process until the run has ended."""
    row = MetricRun.objects.select_related("benchmark").get(pk=run_id)
    plan(row)
    while True:
        work(run_id=run_id, progress=progress)
        row.refresh_from_db()
        if row.state not in OPEN:
            return row
        report(row, progress)
        time.sleep(1)


def work(
    queues: Iterable[str] = Queue.values,
    *,
    run_id: int | None = None,
    seconds: float | None = None,
    progress: ChunkProgress | None = None,
    only_ready: bool = False,
) -> bool:
    """Compute free chunks, run by run in turn; return whether some remain.

    After `seconds` no further output is begun. `progress` receives the finished and
    total pieces of the run. `only_ready` leaves chunks to other workers if their
    metrics lack something here.
    """
    finish_ended_runs()
    end = None if seconds is None else time.monotonic() + seconds
    while end is None or time.monotonic() < end:
        chunk = take(list(queues), run_id, only_ready=only_ready)
        if chunk is None:
            return False
        _work_on(chunk, end, progress)
    return True


def waiting_for(run: MetricRun) -> dict[str, MissingRequirements]:
    """Return missing requirements of metrics in chunks that no worker will take.

    If a worker is busy in the same queue, the queue's other chunks merely wait for it.
    """
    at_work = run.chunks.filter(state=RunState.RUNNING).exclude(free()).values("queue")
    waiting = run.chunks.filter(state=RunState.QUEUED).exclude(queue__in=at_work)
    metrics = waiting.values_list("metrics", flat=True)
    return lacking_here(sorted({name for names in metrics for name in names}))


def _work_on(
    chunk: MetricChunk, end: float | None, progress: ChunkProgress | None
) -> None:
    """Compute one chunk, and record how it ended."""
    work = ChunkWork(chunk, end, progress)
    try:
        if chunk.lost >= MOST_LOST:
            raise ScoringError(
                f"{chunk.lost} workers died while computing it; look for the reason "
                "at the end of their logs, or in the system's log about memory"
            )
        with Heartbeat(f"metric chunk {chunk.pk}", partial(sign, chunk)) as signs:
            complete = work.compute(signs)
        state = RunState.QUEUED if not complete else RunState.DONE
    except ChunkLostError:
        logger.info("metric chunk %s: another worker has it", chunk.pk)
        return
    except (KeyboardInterrupt, OperationalError):
        # The next worker continues.
        MetricChunk.objects.filter(pk=chunk.pk, worker=chunk.worker).update(
            state=RunState.QUEUED
        )
        raise
    except Exception as error:
        # A FatalError already says what is wrong and where.
        traceback_error = None if isinstance(error, FatalError) else error
        logger.error(
            "metric chunk %s failed: %s", chunk.pk, error, exc_info=traceback_error
        )
        work.failures.append(["", "", str(error) or type(error).__name__])
        state = RunState.FAILED
        MetricChunk.objects.filter(
            run=chunk.run_id, queue=chunk.queue, state=RunState.QUEUED
        ).update(state=RunState.FAILED)
    with transaction.atomic():
        lock_run(chunk)
        MetricChunk.objects.filter(pk=chunk.pk, worker=chunk.worker).update(
            state=state,
            failures=[*chunk.failures, *work.failures],
            environment=chunk.environment | work.environment,
        )
        finish_if_done(chunk.run_id)
