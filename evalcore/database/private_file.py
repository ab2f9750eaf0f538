"""The mode of an SQLite file, which holds everybody's links and tokens."""

import logging
import os
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

logger = logging.getLogger(__name__)

OTHERS = 0o077
# What SQLite keeps beside a database; new ones have the mode of the database.
BESIDE = ("", "-wal", "-shm", "-journal")


def make_private(database: Path) -> None:
    """Let the owner alone read a database file; create it if it is not there."""
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
    # Of a folder that is not there, SQLite says so itself.
    if not database.exists() and database.parent.is_dir():
        os.close(os.open(database, flags, 0o600))
    for end in BESIDE:
        _tighten(database.with_name(database.name + end))


def _tighten(path: Path) -> None:
    try:
        if not path.stat().st_mode & OTHERS:
            return
        path.chmod(0o600)
        is_open = path.stat().st_mode & OTHERS
    except FileNotFoundError:
        return
    except OSError as error:
        raise ImproperlyConfigured(
            f"Others may read the database in {path}: run `chmod 600 {path}` as the "
            f"user whose file it is ({error.strerror})."
        ) from error
    if is_open:
        raise ImproperlyConfigured(
            f"Others may read every file in {path.parent}: mount it with umask=077, "
            "or choose another folder for the database."
        )
    logger.warning(
        "Other accounts of this machine could read %s, and the links and tokens in it. "
        "Its mode is 600 from now on.",
        path,
    )
