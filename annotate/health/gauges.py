"""Gauges of server health for the server page and Prometheus."""

import shutil
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import product
from pathlib import Path

from django.conf import settings
from django.db import connection
from django.db.models import Count, Max, Q, QuerySet

from annotate.coverage.counts import totals
from annotate.models import Report, Slot, Study
from annotate.reports import building
from evalcore.models import MetricChunk, MetricRun, Worker
from evalcore.scoring import metric_runs, turns

# With less space than this, a disk counts as nearly full.
FEW_BYTES = 2 * 10**9
COUNTED = ("queued", "running", "failed")

# Values of a gauge by the values of its labels.
Values = Mapping[tuple[str, ...], float]


@dataclass(frozen=True)
class Disk:
    """A disk, and the settings that name a folder on it."""

    names: tuple[str, ...]
    folder: Path
    free: int
    total: int

    @property
    def is_nearly_full(self) -> bool:
        return self.free < FEW_BYTES


def disks() -> list[Disk]:
    """Return the disks of DATA_DIR and MEDIA_ROOT, which may be one."""
    found: dict[int, Disk] = {}
    for name in ("DATA_DIR", "MEDIA_ROOT"):
        folder: Path = getattr(settings, name)
        with suppress(OSError):  # the page names a folder that cannot be read elsewhere
            device = folder.stat().st_dev
            usage = shutil.disk_usage(folder)
            known = found.get(device)
            names = (*known.names, name) if known else (name,)
            first = known.folder if known else folder
            found[device] = Disk(names, first, usage.free, usage.total)
    return list(found.values())


def database_bytes() -> int:
    """Return the size of the database, with SQLite's write-ahead log."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_database_size(current_database())")
            return int(cursor.fetchone()[0])
    name = str(connection.settings_dict["NAME"])
    files = [Path(name), Path(f"{name}-wal")]
    return sum(file.stat().st_size for file in files if file.exists())


def submitted(start: datetime, end: datetime) -> QuerySet[Slot]:
    """Return the slots submitted in a period."""
    return _slots().filter(submitted_at__gte=start, submitted_at__lt=end)


def in_hand() -> QuerySet[Slot]:
    """Return the leased slots."""
    return _slots().filter(state=Slot.State.LEASED)


def _slots() -> QuerySet[Slot]:
    """Return the slots of all studies by study, which the indexes begin with."""
    studies = list(Study.objects.order_by().values_list("pk", flat=True))
    return Slot.objects.filter(study__in=studies)


def waits(now: datetime) -> dict[str, float]:
    """Return the waiting times of the oldest report and metric run, in seconds.

    A job whose worker was killed waits since its last heartbeat.
    """
    reports = Report.objects.filter(building.waiting())
    signs = reports.values_list("heartbeat_at", "created_at")
    chunks = MetricRun.objects.filter(
        state__in=metric_runs.OPEN, source=MetricRun.Source.COMPUTED
    ).annotate(
        sign=Max(
            "chunks__heartbeat_at", filter=Q(chunks__state=MetricRun.State.RUNNING)
        ),
        last=Max("chunks__heartbeat_at"),
    )
    lost = Q(sign__isnull=True) | Q(sign__lt=now - turns.SILENT)
    runs = chunks.filter(lost).values_list("last", "created_at")
    return {
        kind: max((now - (last or created)).total_seconds() for last, created in rows)
        for kind, rows in (("report", list(signs)), ("scores", list(runs)))
        if rows
    }


def _slots_of_studies(now: datetime) -> Values:
    studies = Study.objects.filter(state=Study.State.OPEN).defer(*Study.LONG)
    return {
        (study.slug, state): getattr(found, state)
        for study in studies
        for found in [totals(study)]
        for state in ("open", "leased", "submitted", "excluded")
    }


def reports(now: datetime) -> Values:
    rows = Report.objects.order_by().values_list("state")
    counted = dict(rows.annotate(n=Count("pk")))
    return {(state,): counted.get(state, 0) for state in COUNTED}


def chunks(now: datetime) -> Values:
    rows = MetricChunk.objects.order_by().values_list("state", "queue")
    counted = {tuple(key): n for *key, n in rows.annotate(n=Count("pk"))}
    kinds = product(COUNTED, MetricChunk.Queue.values)
    return {kind: counted.get(kind, 0) for kind in kinds}


def _seconds_silent(now: datetime) -> Values:
    workers = Worker.objects.filter(seen_at__isnull=False)
    seen = workers.values_list("kind", "seen_at")
    return {(kind,): (now - at).total_seconds() for kind, at in seen if at}


# Help, labels and values of each gauge.
GAUGES: dict[str, tuple[str, tuple[str, ...], Callable[[datetime], Values]]] = {
    "slots": (
        "Slots of running studies within their redundancy, and excluded slots",
        ("study", "state"),
        _slots_of_studies,
    ),
    "reports": ("Reports", ("state",), reports),
    "score_chunks": ("Chunks of metric runs", ("state", "queue"), chunks),
    "worker_silent_seconds": (
        "Seconds since the last heartbeat of a kind of worker",
        ("kind",),
        _seconds_silent,
    ),
    "submitted_last_minute": (
        "Slots submitted in the last 60 seconds",
        (),
        lambda now: {(): submitted(now - timedelta(minutes=1), now).count()},
    ),
    "leases": (
        "Slots leased to annotators",
        (),
        lambda now: {(): in_hand().count()},
    ),
    "oldest_job_waits_seconds": (
        "Seconds that the oldest job has waited for a worker; 0 without waiting jobs",
        (),
        lambda now: {(): max(waits(now).values(), default=0)},
    ),
    "database_bytes": (
        "Size of the database",
        (),
        lambda now: {(): database_bytes()},
    ),
}
