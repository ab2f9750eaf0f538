"""`make run` with its real processes, for tests and the pressure runs."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def answers(port: int) -> bool:
    """Say whether a server of this machine can be asked for a page."""
    try:
        address = f"http://127.0.0.1:{port}/healthz"
        with urllib.request.urlopen(address) as response:
            return response.status == 200
    except OSError:
        return False


def hear_signals() -> None:
    """Undo what tests inherit: nohup ignores SIGHUP, a job in the background SIGINT."""
    for number in (signal.SIGHUP, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)


def wait_until(is_so, seconds: float, what: str) -> float:
    """Return how many seconds it took until something was so."""
    began = time.monotonic()
    while not is_so():
        assert time.monotonic() - began < seconds, f"{what}: not within {seconds} s"
        time.sleep(0.05)
    return time.monotonic() - began


class Served:
    """`manage.py serve` on a temporary folder; all its processes can be found.

    Every process that it starts, and every one that those start, has its folder in the
    environment, whatever its group or parent.
    """

    def __init__(self, folder: Path, *options: str, port: int = 0, **variables: str):
        self.folder, self.port = folder, port or free_port()
        self.mark = f"DATA_DIR={folder}".encode()
        env = os.environ | {"DATA_DIR": str(folder), "DATABASE_URL": ""} | variables
        # A pipe that nobody reads would fill, and block the logger.
        self.output = tempfile.TemporaryFile()  # noqa: SIM115 open as long as it
        self.process = subprocess.Popen(
            [
                sys.executable,
                "manage.py",
                "serve",
                "--port",
                str(self.port),
                *options,
            ],
            env=env,
            cwd=ROOT,
            stdout=self.output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=hear_signals,
        )

    def __enter__(self) -> "Served":
        return self

    def __exit__(self, *_error: object) -> None:
        self.process.kill()
        for pid in self.pids():
            os.kill(pid, signal.SIGKILL)
        self.process.wait()
        self.output.close()

    def answers(self) -> bool:
        """Say whether a page can be asked for."""
        assert self.process.poll() is None, self.ended()
        return answers(self.port)

    def pids(self, *words: str) -> list[int]:
        """Return the processes that belong to it and have words in their command."""
        found = []
        for path in Path("/proc").iterdir():
            try:
                own = self.mark in (path / "environ").read_bytes().split(b"\0")
                command = (path / "cmdline").read_bytes().decode().split("\0")
            except (OSError, UnicodeDecodeError):
                continue  # it has just ended, or is none
            if own and set(words) <= set(command):
                found.append(int(path.name))
        return sorted(found)

    def workers(self) -> dict[str, list[int]]:
        """Return the processes of Celery by what they do."""
        kinds = ("cpu", "gpu", "judge", "beat")
        return {kind: self.pids("celery", kind) for kind in kinds}

    def wait_for_pages(self) -> None:
        wait_until(self.answers, 120, "the first page")

    def wait_for_workers(self) -> None:
        wait_until(lambda: all(self.workers().values()), 120, "the workers")

    def stop(self, how: signal.Signals = signal.SIGTERM) -> str:
        """Send a signal; return what was printed."""
        self.process.send_signal(how)
        return self.ended()

    def ended(self) -> str:
        """Wait for the end; return what was printed."""
        self.process.wait(60)
        self.output.seek(0)
        return self.output.read().decode()
