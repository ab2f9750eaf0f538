"""How full the disks are, how large the database is, and what comes in."""

import shutil
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from django.conf import settings
from django.db import connection
from django.db.models import QuerySet

from annotate.models import Slot, Study

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
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_database_size(current_database())")
            return int(cursor.fetchone()[0])
    name = str(connection.settings_dict["NAME"])
    files = [Path(name), Path(f"{name}-wal")]
    return sum(file.stat().st_size for file in files if file.exists())


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
