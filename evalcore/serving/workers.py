"""Heartbeats of worker processes, and the workers that are missing.

They may run anywhere, started by anybody: what counts is their last sign of life, which
stands in the database, where every web process sees it. Being started is such a sign.
"""

import logging
import threading
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from functools import partial

from django.db import Error, connection
from django.db.models import Q
from django.http import HttpRequest
from django.utils import timezone

from evalcore.models import MetricChunk, MetricRun, Worker

logger = logging.getLogger(__name__)

# Interval between heartbeats.
SIGN_SECONDS = 20.0


class Heartbeat(threading.Thread):
    """Heartbeats, given by a thread as long as the block lasts.

    A single picture may take long, and a judge longer. `lost` is set while the last
    heartbeat found that its job no longer belongs to this process.
    """

    def __init__(self, what: str, sign: Callable[[], bool]) -> None:
        super().__init__(daemon=True)
        self._what = what
        self._sign = sign
        self._over = threading.Event()
        self.lost = False

    def __enter__(self) -> "Heartbeat":
        self.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._over.set()
        self.join()

    def run(self) -> None:
        """Send heartbeats until the work is over."""
        try:
            while not self._over.wait(SIGN_SECONDS):
                try:
                    self.lost = not self._sign()
                except Error:
                    logger.warning("%s: could not record a heartbeat", self._what)
                    connection.close()
        finally:
            connection.close()  # this thread's own


# Two heartbeats may fail before a warning, and none where a process is known to have
# ended: another one of its kind may live.
LATE = timedelta(seconds=3 * SIGN_SECONDS)
LATE_IF_ENDED = timedelta(seconds=1.5 * SIGN_SECONDS)
KINDS = frozenset(Worker.Kind.values)
FOR_SCORES = (Worker.Kind.GPU, Worker.Kind.JUDGE)


def give_signs(kinds: Iterable[str]) -> None:
    """Record heartbeats of this process as long as it runs."""
    own = sorted(KINDS.intersection(kinds))
    Heartbeat(f"worker {', '.join(own)}", partial(sign, own)).start()
    sign(own)


def sign(kinds: Iterable[str]) -> bool:
    """Record heartbeats of kinds of workers, unless one was just recorded."""
    now = timezone.now()
    recent = now - timedelta(seconds=SIGN_SECONDS / 2)
    for kind in kinds:
        Worker.objects.get_or_create(kind=kind)
        due = Q(seen_at__isnull=True) | Q(seen_at__lt=recent)
        Worker.objects.filter(due | Q(restart_at__isnull=False), kind=kind).update(
            seen_at=now, restart_at=None
        )
    return True


def expect(kind: str, restart_at: datetime) -> None:
    """Record that a worker of this kind has ended, and its restart time."""
    Worker.objects.update_or_create(kind=kind, defaults={"restart_at": restart_at})


def of_every_kind() -> list[Worker]:
    """Return a row for each kind of worker, also for those that have never run."""
    known = {row.kind: row for row in Worker.objects.all()}
    return [known.get(kind, Worker(kind=kind)) for kind in Worker.Kind.values]


def standing_still() -> list[Worker]:
    """Return the missing kinds of workers for which jobs wait.

    Networks and judges are not everywhere: their workers are missed once scores wait.
    """
    now = timezone.now()
    late = [row for row in of_every_kind() if is_late(row, now)]
    unfinished = MetricChunk.objects.filter(
        state__in=(MetricRun.State.QUEUED, MetricRun.State.RUNNING)
    )
    if any(row.kind in FOR_SCORES for row in late):
        wanted = set(unfinished.order_by().values_list("queue", flat=True).distinct())
        return [row for row in late if row.kind not in FOR_SCORES or row.kind in wanted]
    return late


def is_late(row: Worker, now: datetime) -> bool:
    """Say whether a worker counts as gone, or has never run."""
    late = LATE_IF_ENDED if row.restart_at else LATE
    return row.seen_at is None or now - row.seen_at > late


def context(_request: HttpRequest) -> dict[str, object]:
    """Provide the missing workers to templates, computed on use."""
    return {"standing_still": standing_still}
