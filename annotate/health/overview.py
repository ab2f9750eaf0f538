"""Everything that the page of the server shows, in a few cheap queries."""

import sqlite3
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256

from django.db import connection
from django.utils import timezone

from analysis.options import VERSION
from annotate.health import measures
from annotate.health.jobs import Job, failed, unfinished
from annotate.health.troubles import Trouble, troubles
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
class Overview:
    """How the server does; sizes are in bytes, and numbers of slots as they came in."""

    troubles: list[Trouble]
    workers: list[WorkerRow]
    jobs: list[Job]
    failed: list[Job]
    last_minute: int
    last_hour: int
    leases: int
    disks: list[measures.Disk]
    database_bytes: int
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
    disks, waiting, lost = measures.disks(), unfinished(now), failed(now)
    still = workers.standing_still()
    missed = {row.kind for row in still}
    minute = now.replace(second=0, microsecond=0)
    last_minute, last_hour = (
        measures.submitted(minute - timedelta(minutes=n), minute).count()
        for n in (1, 60)
    )
    return Overview(
        troubles(disks, still, waiting, lost, now),
        [
            WorkerRow(
                row.kind,
                row.seen_at,
                row.restart_at,
                workers.is_late(row, now),
                row.kind in missed,
            )
            for row in workers.of_every_kind()
        ],
        waiting,
        lost,
        last_minute,
        last_hour,
        measures.in_hand().count(),
        disks,
        measures.database_bytes(),
        _database(),
        (now - STARTED_AT) // timedelta(minutes=1),
    )


def _database() -> str:
    """Return what the database is called, and its version."""
    if connection.vendor == "sqlite":
        return f"SQLite {sqlite3.sqlite_version}"
    with connection.cursor() as cursor:
        cursor.execute("SHOW server_version")
        return f"PostgreSQL {cursor.fetchone()[0].split()[0]}"
