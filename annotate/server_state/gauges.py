"""What Prometheus is told of the server beside its requests, asked as it comes by."""

import logging
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta

from django.db import Error
from django.db.models import Count
from django.utils import timezone
from prometheus_client import Metric
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from annotate.coverage.counts import totals
from annotate.models import Report, Study
from annotate.server_state import disk, jobs
from annotate.server_state.arrivals import in_hand, submitted
from evalcore.models import MetricChunk, Worker

logger = logging.getLogger(__name__)

COUNTED = ("queued", "running", "failed")


class ServerGauges(Collector):
    """Gauges of the whole server, whichever of its processes is asked."""

    def collect(self) -> Iterator[Metric]:
        """Return the gauges; where the database is away, that and little else."""
        try:
            found = [*_slots(), *_jobs(), *_workers(), _size()]
        except Error:
            logger.exception("the database cannot be asked for gauges")
            found = []
        yield GaugeMetricFamily(
            "plumbline_database_up", "1 while the database answers", int(bool(found))
        )
        yield from found
        yield _disks()


def _slots() -> Iterator[Metric]:
    slots = GaugeMetricFamily(
        "plumbline_slots",
        "Slots of open studies within their redundancy, and excluded ones",
        labels=("study", "state"),
    )
    for study in Study.objects.filter(state=Study.State.OPEN).defer(*Study.LONG):
        found = totals(study, surplus=0)
        for state in ("open", "leased", "submitted", "excluded"):
            slots.add_metric((study.slug, state), getattr(found, state))
    yield slots
    now = timezone.now()
    yield GaugeMetricFamily(
        "plumbline_submitted_last_minute",
        "Slots submitted in the last 60 seconds",
        submitted(now - timedelta(minutes=1), now).count(),
    )
    yield GaugeMetricFamily(
        "plumbline_leases",
        "Slots that annotators have in hand",
        in_hand().count(),
    )


def _jobs() -> Iterator[Metric]:
    reports = GaugeMetricFamily("plumbline_reports", "Reports", labels=("state",))
    rows = Report.objects.order_by().values_list("state").annotate(n=Count("pk"))
    known = Counter(dict(rows))
    for state in COUNTED:
        reports.add_metric((state,), known[state])
    yield reports
    chunks = GaugeMetricFamily(
        "plumbline_score_chunks",
        "Parts of computations of scores",
        labels=("state", "queue"),
    )
    found = MetricChunk.objects.filter(state__in=COUNTED).order_by()
    parts = Counter(
        {
            (state, queue): n
            for state, queue, n in found.values_list("state", "queue").annotate(
                n=Count("pk")
            )
        }
    )
    for queue in MetricChunk.Queue.values:
        for state in COUNTED:
            chunks.add_metric((state, queue), parts[state, queue])
    yield chunks
    now = timezone.now()
    waits = [
        (now - job.since).total_seconds() for job in jobs.unfinished(now) if job.waits
    ]
    yield GaugeMetricFamily(
        "plumbline_oldest_job_waits_seconds",
        "How long the oldest job has been waiting for a worker; 0 if none is",
        max(waits, default=0),
    )


def _workers() -> Iterator[Metric]:
    ages = GaugeMetricFamily(
        "plumbline_worker_silent_seconds",
        "Since when a kind of worker has given no sign of life",
        labels=("kind",),
    )
    now = timezone.now()
    for row in Worker.objects.all():
        if row.seen_at is not None:
            ages.add_metric((row.kind,), (now - row.seen_at).total_seconds())
    yield ages


def _size() -> Metric:
    return GaugeMetricFamily(
        "plumbline_database_bytes",
        "Room that the database takes",
        disk.database_bytes(),
    )


def _disks() -> Metric:
    free = GaugeMetricFamily(
        "plumbline_disk_free_bytes", "Room that is left on a disk", labels=("folder",)
    )
    for one in disk.disks():
        for name in one.names:
            free.add_metric((name,), one.free)
    return free
