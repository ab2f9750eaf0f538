"""How full the disks are, of what, and how long that can go on.

What a folder holds takes long to add up, with hundreds of thousands of pictures in it.
The worker does so every hour, and keeps it with what was free then in a file.
"""

import json
import os
import shutil
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from django.conf import settings
from django.db import connection
from django.utils import timezone

FILE = "disk-use.json"
# Less than this is nearly nothing: a study's pictures may take more.
FEW_BYTES = 2 * 10**9
# How fast a disk fills is told from a week, or nearly one; far ends are not told.
LEAST_WEEK, WEEK = timedelta(days=6), timedelta(days=8)
FURTHEST_DAYS = 365


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
class Measured:
    """What folders held, and what was free on the disk of DATA_DIR at earlier times."""

    at: datetime
    media: int
    reports: int
    free: tuple[tuple[datetime, int], ...]


def disks() -> list[Disk]:
    """Return the disks of DATA_DIR and MEDIA_ROOT, which may be one."""
    found: dict[int, Disk] = {}
    for name in ("DATA_DIR", "MEDIA_ROOT"):
        folder: Path = getattr(settings, name)
        with suppress(OSError):  # that it cannot be read is told elsewhere
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


def measure(now: datetime | None = None) -> None:
    """Add up what folders hold, and keep it."""
    now = now or timezone.now()
    before = measured()
    free = [(at, n) for at, n in before.free if now - at <= WEEK] if before else []
    free.append((now, shutil.disk_usage(settings.DATA_DIR).free))
    found = {
        "at": now.isoformat(),
        "media": _bytes_below(settings.MEDIA_ROOT),
        "reports": _bytes_below(settings.REPORTS_ROOT),
        "free": [[at.isoformat(), n] for at, n in free],
    }
    path = settings.DATA_DIR / FILE
    new = path.with_suffix(f".{os.getpid()}")
    new.write_text(json.dumps(found), encoding="utf-8")
    new.replace(path)


def _bytes_below(folder: Path) -> int:
    """Add up the files of a folder; one that goes meanwhile does not count."""
    total = 0
    for parent, _folders, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                total += os.lstat(os.path.join(parent, name)).st_size
    return total


def measured() -> Measured | None:
    """Return what was last measured; None before the first time."""
    try:
        kept = json.loads((settings.DATA_DIR / FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    free = tuple((datetime.fromisoformat(at), n) for at, n in kept["free"])
    at = datetime.fromisoformat(kept["at"])
    return Measured(at, kept["media"], kept["reports"], free)


def days_left(found: Measured, free: int, now: datetime) -> int | None:
    """Return for how many days the disk of DATA_DIR lasts at the last week's pace.

    None where no week is known, where it does not fill, and where the end is far.
    """
    old = [(at, n) for at, n in found.free if LEAST_WEEK <= now - at <= WEEK]
    if not old:
        return None
    at, then = min(old)
    a_day = (then - free) / ((now - at) / timedelta(days=1))
    if a_day <= 0 or free / a_day > FURTHEST_DAYS:
        return None
    return int(free / a_day)
