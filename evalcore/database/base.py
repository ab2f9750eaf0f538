"""Django's SQLite backend with private files and a queue of writers.

Django finds the class by the names `base` and `DatabaseWrapper`.

SQLite has one writer at a time. Others retry after pauses that grow to a tenth of a
second, in which the file lies idle and later writers pass by. Here they wait for a lock
of the operating system, which wakes one of them as soon as the writer has finished. The
system releases it when a process dies.

The lock is advisory: SQLite itself keeps the file safe from programs that ignore it.
"""

import fcntl
import logging
import os
import threading
from collections import defaultdict
from pathlib import Path
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.db import OperationalError
from django.db.backends.sqlite3 import base

logger = logging.getLogger(__name__)

OTHERS = 0o077
# SQLite's files beside a database; new ones get the mode of the database.
BESIDE = ("", "-wal", "-shm", "-journal")
# One lock per process, so that its threads wait for each other.
_THREADS: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)


def make_private(database: Path) -> None:
    """Make a database file readable by its owner only; create it if missing."""
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
    # SQLite itself reports a missing folder.
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
            f"Other users can read the database {path}. Run `chmod 600 {path}` as the "
            f"owner of the file ({error.strerror})."
        ) from error
    if is_open:
        raise ImproperlyConfigured(
            f"Other users can read every file in {path.parent}. Mount it with "
            "umask=077, or choose another folder for the database."
        )
    logger.warning(
        "Other users of this machine could read %s and the links and tokens in it. Its "
        "mode has been changed to 600.",
        path,
    )


class WritersLine:
    """A connection's turn at the write lock of a database file."""

    def __init__(self, database: str, seconds: float) -> None:
        self._path = f"{database}-line"
        self._seconds = seconds
        self._threads = _THREADS[self._path]
        self._file: int | None = None
        self._is_first = False

    def enter(self) -> bool:
        """Wait for this connection's turn; return whether it came in time.

        The first thread of a process waits as long as it takes, the others behind it
        give up in time, so that pages are served during a long write.
        """
        if not self._threads.acquire(timeout=self._seconds):
            return False
        self._is_first = True
        try:
            if self._file is None:
                flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
                self._file = os.open(self._path, flags, 0o600)
            fcntl.flock(self._file, fcntl.LOCK_EX)
        except BaseException:
            self.leave()
            raise
        return True

    def leave(self) -> None:
        """Release the lock, if this connection has it."""
        if not self._is_first:
            return
        if self._file is not None:
            fcntl.flock(self._file, fcntl.LOCK_UN)
        self._is_first = False
        self._threads.release()

    def close(self) -> None:
        """Release the lock and close the file."""
        self.leave()
        if self._file is not None:
            os.close(self._file)
            self._file = None


class DatabaseWrapper(base.DatabaseWrapper):
    """A connection that takes the write lock before it writes.

    Transactions begin with the write lock (`transaction_mode` is IMMEDIATE). A single
    statement outside of one waits as SQLite has it.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._line: WritersLine | None = None

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        """Open the file, which its owner alone may read."""
        make_private(Path(conn_params["database"]))
        return super().get_new_connection(conn_params)

    def _start_transaction_under_autocommit(self) -> None:
        if self._line is None:
            seconds = self.settings_dict["OPTIONS"]["timeout"]
            self._line = WritersLine(str(self.settings_dict["NAME"]), seconds)
        if not self._line.enter():
            raise OperationalError("database is locked")
        try:
            super()._start_transaction_under_autocommit()  # type: ignore[misc]
        except BaseException:
            self._line.leave()
            raise

    def _commit(self) -> None:
        super()._commit()  # type: ignore[misc]
        self._leave()

    def _rollback(self) -> None:
        try:
            super()._rollback()  # type: ignore[misc]
        finally:
            self._leave()

    def _close(self) -> None:
        try:
            super()._close()  # type: ignore[misc]
        finally:
            if self._line is not None:
                self._line.close()

    def _leave(self) -> None:
        if self._line is not None:
            self._line.leave()
