"""The line in which those who want to write to an SQLite file wait.

SQLite has one writer at a time. Who comes while it writes asks again after pauses that
grow to a tenth of a second, in which the file lies idle and others pass by. Here they
wait for a lock of the operating system, which wakes one of them as soon as the writer
has finished, and is let go of when a process dies, however it dies.

The line is a courtesy: the file is safe without it, and who does not know of it is kept
out by SQLite itself.
"""

import fcntl
import os
import threading
from collections import defaultdict

# One place a process at the counter: its threads wait behind each other.
_THREADS: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)


class WritersLine:
    """A connection's place in the line of a database file.

    Parameters
    ----------
    database
        The path of the database file; the lock is a file beside it.
    seconds
        How long to wait.
    """

    def __init__(self, database: str, seconds: float) -> None:
        self._path = f"{database}-line"
        self._seconds = seconds
        self._threads = _THREADS[self._path]
        self._file: int | None = None
        self._is_first = False

    def enter(self) -> bool:
        """Wait until it is this connection's turn; say whether that came in time.

        The first thread of a process waits as long as it takes, the others behind it
        give up in time: the pages of a process go on while somebody writes for long.
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
        """Let the next one write; nothing happens to who has had no turn."""
        if not self._is_first:
            return
        if self._file is not None:
            fcntl.flock(self._file, fcntl.LOCK_UN)
        self._is_first = False
        self._threads.release()

    def close(self) -> None:
        """Leave, and let go of the file."""
        self.leave()
        if self._file is not None:
            os.close(self._file)
            self._file = None
