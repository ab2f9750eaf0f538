"""Environments, servers and databases of the tools, and the processors they use."""

import os
import shutil
import signal
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
import venv
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

START_SECONDS = 900  # Label Studio makes its database
SETTLE_SECONDS = 3  # until all processes of a server serve
DATABASE_SECONDS = 60


def environment(folder: Path, *packages: str) -> Path:
    """Return an interpreter that has these packages; install them if it is missing."""
    done = folder / "installed"
    if not done.exists():
        venv.create(folder, with_pip=True, clear=True)
        pip = (folder / "bin" / "python", "-m", "pip", "install", "-q")
        subprocess.run([*pip, *packages], check=True)
        done.touch()
    return folder / "bin" / "python"


def run(command: Sequence[str | Path], **more) -> str:
    """Return what a command prints; raise if it fails."""
    done = subprocess.run(
        command, check=True, stdout=subprocess.PIPE, text=True, **more
    )
    return done.stdout


@contextmanager
def server(
    command: Sequence[str | Path], ready: str, *, log: Path, cwd: Path, **settings: str
) -> Iterator[int]:
    """Serve until the end; yield the process, once `ready` is answered.

    It is killed, with all it has started: whatever it only kept in memory is lost.
    """
    with log.open("ab") as output:
        process = subprocess.Popen(
            command,
            cwd=cwd,
            env=os.environ | settings,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    try:
        _wait(process, ready, log)
        time.sleep(SETTLE_SECONDS)
        yield process.pid
    finally:
        for one in reversed(tree(process.pid)):
            with suppress(psutil.NoSuchProcess):
                one.kill()
        process.wait()


def _wait(process: subprocess.Popen, ready: str, log: Path) -> None:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end and process.poll() is None:
        try:
            urllib.request.urlopen(ready, timeout=30).close()
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            time.sleep(0.3)
        else:
            return
    last = "\n".join(log.read_text(errors="replace").splitlines()[-20:])
    raise RuntimeError(f"{ready} is not served; the log ends with:\n{last}")


def tree(pid: int) -> list[psutil.Process]:
    """Return a process and all that descend from it, parents first."""
    parent = psutil.Process(pid)
    return [parent, *parent.children(recursive=True)]


def cpu_seconds(*pids: int) -> float:
    """Return what processes, and all that descend from them, have used so far."""
    used = 0.0
    for process in {one for pid in pids for one in tree(pid)}:
        with suppress(psutil.NoSuchProcess):
            times = process.cpu_times()
            used += times.user + times.system
    return used


def postgres_programs() -> Path | None:
    """Return the folder of the programs of an installed PostgreSQL, if there is one."""
    found = shutil.which("postgres")
    return Path(found).resolve().parent if found else None


@contextmanager
def postgres() -> Iterator[tuple[str, int]]:
    """Run the installed PostgreSQL on a temporary folder; yield address and process.

    It refuses to run as root, and is then run as the user of its package.
    """
    binaries = postgres_programs()
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
            [binaries / "postgres", "-D", data, "-k", folder, "-h", ""],
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            **how,
        )
        try:
            _wait_for_postgres(binaries, folder)
            uri = f"postgresql://postgres@/postgres?host={folder}"
            yield uri, process.pid
        finally:
            process.send_signal(signal.SIGINT)  # fast: connections are cut
            process.wait(60)


def _wait_for_postgres(binaries: Path, folder: str) -> None:
    end = time.monotonic() + DATABASE_SECONDS
    ask = [binaries / "pg_isready", "--quiet", "-h", folder]
    while subprocess.run(ask, check=False).returncode != 0:
        if time.monotonic() > end:
            raise TimeoutError("PostgreSQL does not answer")
        time.sleep(0.2)
