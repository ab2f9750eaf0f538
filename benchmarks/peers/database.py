"""A PostgreSQL of one's own, with the settings that it has by itself."""

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.peers.processes import run

START_SECONDS = 60


@dataclass
class Database:
    uri: str
    pid: int


def programs() -> Path | None:
    """Return the folder of the programs of an installed PostgreSQL, if there is one."""
    found = shutil.which("postgres")
    return Path(found).resolve().parent if found else None


@contextmanager
def postgres() -> Iterator[Database]:
    """Run the installed PostgreSQL on a temporary folder.

    It refuses to run as root, and is then run as the user of its package.
    """
    binaries = programs()
    if binaries is None:
        raise RuntimeError("No program called postgres is installed.")
    owner = {"user": "postgres", "group": "postgres"} if os.geteuid() == 0 else {}
    with tempfile.TemporaryDirectory(prefix="peers-pg-") as folder:
        if owner:
            shutil.chown(folder, **owner)
        data = Path(folder) / "data"
        how = {**owner, "cwd": folder}
        words = "--username postgres --auth trust --encoding UTF8 --locale C.UTF-8"
        run([binaries / "initdb", "-D", data, *words.split()], **how)
        process = subprocess.Popen(
            [
                binaries / "postgres",
                "-D",
                data,
                "-k",
                folder,
                "-c",
                "listen_addresses=",
            ],
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            **how,
        )
        try:
            _wait(binaries, folder)
            uri = f"postgresql://postgres@/postgres?host={folder}"
            yield Database(uri, process.pid)
        finally:
            process.send_signal(signal.SIGINT)  # fast: whoever is connected is cut off
            process.wait(60)


def _wait(binaries: Path, folder: str) -> None:
    end = time.monotonic() + START_SECONDS
    ask = [binaries / "pg_isready", "--quiet", "-h", folder]
    while subprocess.run(ask, check=False).returncode != 0:
        if time.monotonic() > end:
            raise TimeoutError("PostgreSQL does not answer")
        time.sleep(0.2)
