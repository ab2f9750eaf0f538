"""Everything that the page of the server shows, in a few cheap queries."""

import sqlite3
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256

from django.db import connection
from django.utils import timezone

from analysis.version import VERSION
from annotate.server_state import disk
from annotate.server_state.arrivals import LastHour, in_hand, last_hour
from annotate.server_state.jobs import Job, failed, unfinished
from annotate.server_state.troubles import Trouble, troubles
from evalcore.models import Worker
from evalcore.serving import workers
from evalcore.serving.health import STARTED_AT


@dataclass(frozen=True)
class WorkerRow:
    """A kind of worker: when it was last heard of, and whether it counts as gone.

    It is missed only while something waits for it.
    """

    kind: str
    seen_at: datetime | None
    restart_at: datetime | None
    is_late: bool
    is_missed: bool


@dataclass(frozen=True)
class DiskUse:
    """The disks, what takes their room, and for how many days they last."""

    disks: list[disk.Disk]
    database: int
    measured: disk.Measured | None
    days_left: int | None


@dataclass(frozen=True)
class Overview:
    """How the server does."""

    troubles: list[Trouble]
    workers: list[WorkerRow]
    jobs: list[Job]
    failed: list[Job]
    hour: LastHour
    leases: int
    use: DiskUse
    database: str
    minutes_up: int
    started_at: datetime = STARTED_AT
    version: str = VERSION

    @property
    def state(self) -> str:
        """Return what changes when the page does."""
        return sha256(repr(self).encode()).hexdigest()[:16]


def overview(now: datetime | None = None) -> Overview:
    """Return how the server does now."""
    now = now or timezone.now()
    use = _use(now)
    waiting, lost = unfinished(now), failed(now)
    still = workers.standing_still()
    return Overview(
        troubles(use.disks, still, waiting, lost, now),
        [_worker(row, still, now) for row in workers.of_every_kind()],
        waiting,
        lost,
        last_hour(now),
        in_hand().count(),
        use,
        _database(),
        (now - STARTED_AT) // timedelta(minutes=1),
    )


def _worker(row: Worker, still: list[Worker], now: datetime) -> WorkerRow:
    late = workers.is_late(row, now)
    missed = any(row.kind == other.kind for other in still)
    return WorkerRow(row.kind, row.seen_at, row.restart_at, late, missed)


def _use(now: datetime) -> DiskUse:
    disks, found = disk.disks(), disk.measured()
    days = disk.days_left(found, disks[0].free, now) if found and disks else None
    return DiskUse(disks, disk.database_bytes(), found, days)


def _database() -> str:
    """Return what the database is called, and its version."""
    if connection.vendor == "sqlite":
        return f"SQLite {sqlite3.sqlite_version}"
    with connection.cursor() as cursor:
        cursor.execute("SHOW server_version")
        return f"PostgreSQL {cursor.fetchone()[0].split()[0]}"
