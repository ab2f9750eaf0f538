"""Environments of the tools, their servers, and what these use of the processors."""

import os
import signal
import subprocess
import time
import urllib.error
import urllib.request
import venv
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

START_SECONDS = 900  # Label Studio makes its database
SETTLE_SECONDS = 3  # until all processes of a server serve


def environment(folder: Path, *packages: str) -> Path:
    """Return an interpreter that has these packages; install them if it is missing."""
    done = folder / "installed"
    if not done.exists():
        venv.create(folder, with_pip=True, clear=True)
        pip: list[str | Path] = [
            folder / "bin" / "python",
            "-m",
            "pip",
            "install",
            "-q",
        ]
        subprocess.run([*pip, *packages], check=True)
        done.touch()
    return folder / "bin" / "python"


def version(python: Path | str, package: str) -> str:
    """Return the version of a package that an interpreter has."""
    code = f"from importlib.metadata import version; print(version({package!r}))"
    return run([python, "-c", code]).strip()


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
        for pid in reversed(tree(process.pid)):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
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


def tree(pid: int) -> list[int]:
    """Return a process and all that descend from it, parents first."""
    children = defaultdict(list)
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            # The name, in parentheses, may hold anything.
            parent = int(stat.read_text().rpartition(")")[2].split()[1])
            children[parent].append(int(stat.parent.name))
    found = [pid]
    for one in found:
        found += children[one]
    return found


def cpu_seconds(*pids: int) -> float:
    """Return what processes, and all that descend from them, have used so far."""
    ticks = 0
    for one in {one for pid in pids for one in tree(pid)}:
        with suppress(OSError):
            fields = Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()
            ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")
