"""How the server does, in a few cheap queries."""

import shutil
import sqlite3
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from django.conf import settings
from django.db import connection
from django.db.models import QuerySet
from django.utils import timezone

from analysis.version import VERSION
from annotate.health.jobs import Job, unfinished
from annotate.models import Slot, Study
from evalcore.models import Worker
from evalcore.serving import workers
from evalcore.serving.health import STARTED_AT

# Less than this is nearly nothing: a study's pictures may take more.
FEW_BYTES = 2 * 10**9


@dataclass(frozen=True)
class Disk:
    """A disk, and which of the settings name a folder on it."""

    names: tuple[str, ...]
    folder: Path
    free: int
    total: int

    @property
    def is_nearly_full(self) -> bool:
        return self.free < FEW_BYTES


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

    workers: list[WorkerRow]
    jobs: list[Job]
    last_minute: int
    last_hour: int
    leases: int
    disks: list[Disk]
    database_bytes: int
    database: str
    minutes_up: int
    started_at: datetime = STARTED_AT
    version: str = VERSION


def overview(now: datetime | None = None) -> Overview:
    """Return how the server does now."""
    now = now or timezone.now()
    missed = {row.kind for row in workers.standing_still()}
    minute = now.replace(second=0, microsecond=0)
    last_minute, last_hour = (
        submitted(minute - timedelta(minutes=n), minute).count() for n in (1, 60)
    )
    return Overview(
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
        unfinished(now),
        last_minute,
        last_hour,
        in_hand().count(),
        disks(),
        database_bytes(),
        _database(),
        (now - STARTED_AT) // timedelta(minutes=1),
    )


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
    """Return how much room the database takes, what is not in its file yet included."""
    if connection.vendor == "postgresql":
        return int(_ask("SELECT pg_database_size(current_database())"))
    name = str(connection.settings_dict["NAME"])
    files = [Path(name), Path(f"{name}-wal")]
    return sum(file.stat().st_size for file in files if file.exists())


def _database() -> str:
    """Return what the database is called, and its version."""
    if connection.vendor == "sqlite":
        return f"SQLite {sqlite3.sqlite_version}"
    return f"PostgreSQL {_ask('SHOW server_version').split()[0]}"


def _ask(question: str) -> str:
    with connection.cursor() as cursor:
        cursor.execute(question)
        return str(cursor.fetchone()[0])


def submitted(start: datetime, end: datetime) -> QuerySet[Slot]:
    """Return the slots submitted in a stretch of time."""
    return _slots().filter(submitted_at__gte=start, submitted_at__lt=end)


def in_hand() -> QuerySet[Slot]:
    """Return the slots that annotators have in hand."""
    return _slots().filter(state=Slot.State.LEASED)


def _slots() -> QuerySet[Slot]:
    """Return the slots of all studies, which are named: indexes begin with them."""
    studies = list(Study.objects.order_by().values_list("pk", flat=True))
    return Slot.objects.filter(study__in=studies)


def seconds_silent(now: datetime) -> dict[str, float]:
    """Return how long each kind of worker that was ever there has given no sign."""
    return {
        row.kind: (now - row.seen_at).total_seconds()
        for row in Worker.objects.all()
        if row.seen_at is not None
    }
