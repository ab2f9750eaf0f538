"""Supervisor of the web server and workers of one machine.

The web server decides how long it lasts. A worker that ends is started again, each time
a little later, until it has run well for a while.
"""

import logging
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from functools import partial
from pathlib import Path

from django.conf import settings
from django.db import Error, connection
from django.utils import timezone

from evalcore.models import MetricChunk
from evalcore.serving import workers
from evalcore.serving.web_server import end_with

# One worker per queue, so that hours of scoring delay nothing else.
QUEUES = tuple(MetricChunk.Queue.values)
# One of them alone, or one of several workers of a queue: `gpu`, `gpu-2`.
PART = re.compile(rf"web|beat|(?:{'|'.join(QUEUES)})(?:-\w+)?", re.ASCII)

EVEN = "evalcore.serving.web_server.EvenWorker"
THREADS = 4  # of each process; they share its time, and wait for slow networks
# gunicorn and Celery put the working directory first on the path unless it is there
# already: a file `analysis.py` of the user's would be taken for ours.
RUN = (
    "import os, runpy, sys; sys.path.append(os.getcwd()); del sys.argv[0]; "
    "runpy.run_module(sys.argv[0], run_name='__main__', alter_sys=True)"
)
PYTHON = [sys.executable, "-c", RUN]
CELERY = [*PYTHON, "celery", "--quiet", "-A", "evalcore.celery"]
# A separate process, so that the caller sees it end.
BEAT = [*CELERY, "beat", "--loglevel", "warning"]


def web_command(bind: str, port: int) -> list[str]:
    """Return the command of the web server."""
    # Read before the processes part, so that they share what they have read.
    options = (
        f"--workers {settings.WEB_WORKERS} --threads {THREADS} --preload "
        f"--worker-class {EVEN} --log-level warning --no-control-socket"
    )
    if settings.LOG_FORMAT == "json":
        options += " --logger-class evalcore.serving.web_server.JsonLines"
    address = f"{host(bind)}:{port}"
    server = [*PYTHON, "gunicorn", "evalcore.wsgi", "--bind", address]
    return [*server, *options.split()]


def forget_counts(folder: Path) -> None:
    """Empty the folder in which the web server's processes count requests.

    Those of an earlier server are added to the new ones' otherwise.
    """
    for path in folder.glob("*.db"):
        path.unlink(missing_ok=True)


def host(bind: str) -> str:
    """Return the address for use before a port; IPv6 in brackets."""
    return f"[{bind}]" if ":" in bind else bind


def worker_command(name: str) -> list[str]:
    """Return the command of a worker; `gpu-2` also serves the queue `gpu`."""
    # One process that works by itself: no child outlives it when it is killed.
    options = (
        f"worker --pool solo --queues {name.partition('-')[0]} --hostname {name}@%h "
        "--loglevel warning --without-gossip --without-mingle --without-heartbeat"
    )
    return [*CELERY, *options.split()]


def devices(text: str) -> tuple[str, ...]:
    """Return the devices of GPUs that are given by number.

    >>> devices("0, 1")
    ('cuda:0', 'cuda:1')
    """
    numbers = [part.strip() for part in text.split(",")]
    are_numbers = all(number.isascii() and number.isdigit() for number in numbers)
    if not are_numbers or len({*numbers}) < len(numbers):
        raise ValueError("write the numbers of GPUs, each once, such as 0,1")
    return tuple(f"cuda:{number}" for number in numbers)


def on_device(device: str, command: Sequence[str]) -> list[str]:
    """Return a command whose networks run on a device."""
    return ["env", f"EVALCORE_DEVICE={device}", *command]


def worker_commands(
    queues: Sequence[str] = QUEUES, gpus: Sequence[str] = ()
) -> dict[str, list[str]]:
    """Return the command of each worker by its name: one a queue, `gpu` one a GPU."""
    commands = {name: worker_command(name) for name in queues}
    if gpus:
        commands.pop("gpu")
        for device in gpus:
            name = f"gpu-{device.rpartition(':')[2]}"
            commands[name] = on_device(device, worker_command(name))
    return commands


def become(part: str, *, bind: str, port: int) -> None:
    """Replace this process by one of the parts; the caller restarts it."""
    if part == "web":
        command = web_command(bind, port)
    else:
        command = BEAT if part == "beat" else worker_command(part)
    os.execv(command[0], command)


logger = logging.getLogger(__name__)

STOP_SECONDS = 10
TICK_SECONDS = 0.1
# Until a worker is started again: doubled each time, but for one that ran for long.
FIRST_WAIT, LONGEST_WAIT, WELL_SECONDS = 1.0, 60.0, 60.0
# A window that is closed hangs up, unless nohup has it ignored.
STOPPING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class Child(subprocess.Popen[bytes]):
    """A process in a separate group, so that its children end with it.

    On Linux it also ends when this process is killed.
    """

    def __init__(self, command: Sequence[str]) -> None:
        own = partial(end_with, os.getpid())
        super().__init__(command, process_group=0, preexec_fn=own)

    def end(self, deadline: float) -> None:
        """Wait until it has ended, then kill the rest of its group."""
        with suppress(subprocess.TimeoutExpired):
            self.wait(max(0.0, deadline - time.monotonic()))
        # Nobody is left, as a rule; macOS says it the other way.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        self.wait()


class KeptWorker:
    """A worker that restarts whenever it ends; `gpu-1` serves the queue `gpu`."""

    def __init__(self, name: str, command: Sequence[str]) -> None:
        self.name = name
        self.kind = name.partition("-")[0]
        self.child: Child | None = None
        self._command = command
        self._wait = FIRST_WAIT
        self._started = self._due = time.monotonic()

    def keep(self) -> None:
        """Start it when due; clean up after it has ended."""
        now = time.monotonic()
        if self.child is None and now >= self._due:
            self._started = now
            try:
                self.child = Child(self._command)
            except OSError as error:  # no memory for one more process, as a rule
                self._start_later(f"could not be started: {error.strerror}")
        elif self.child is not None and (status := self.child.poll()) is not None:
            self.child.end(now)
            self.child = None
            self._start_later(
                f"was stopped by {signal.Signals(-status).name}"
                if status < 0
                else f"exited (status {status})"
            )

    def _start_later(self, why: str) -> None:
        now = time.monotonic()
        wait = FIRST_WAIT if now - self._started >= WELL_SECONDS else self._wait
        self._due, self._wait = now + wait, min(2 * wait, LONGEST_WAIT)
        logger.warning(
            "The %s worker %s. The website keeps running; the worker restarts in %.0f "
            "s.",
            self.name,
            why,
            wait,
        )
        again = timezone.now() + timedelta(seconds=wait)
        _tell_pages(partial(workers.expect, self.kind, again))


def _tell_pages(put_down: Callable[[], object]) -> None:
    """Write to the database in a thread, so that nothing here waits for it."""

    def tell() -> None:
        try:
            put_down()
        except Error as error:
            logger.warning("Could not record the state of the workers (%s)", error)
        finally:
            connection.close()  # this thread's own

    threading.Thread(target=tell, daemon=True).start()


def run(
    web: Sequence[str] | None,
    work: Mapping[str, Sequence[str]],
    address: tuple[str, int],
    ready: Callable[[], object],
) -> int | None:
    """Run a web server and workers until the former ends or a signal comes.

    Workers, given by name, start when the web server listens, or at once without one.
    Return its exit status, or None after a signal.
    """
    signals: list[int] = []
    for number in STOPPING:
        if signal.getsignal(number) is not signal.SIG_IGN:
            # Raising could strike between a child's start and its being known.
            signal.signal(number, lambda number, _frame: signals.append(number))
    connection.close()
    server = None if web is None else Child(web)
    kept: list[KeptWorker] = []
    try:
        while not signals and (server is None or server.poll() is None):
            if not kept and (server is None or _listens(address)):
                ready()
                kept = [KeptWorker(*one) for one in work.items()]
                kinds = dict.fromkeys(worker.kind for worker in kept)
                _tell_pages(partial(workers.sign, tuple(kinds)))
            for worker in kept:
                worker.keep()
            time.sleep(TICK_SECONDS)
        return None if signals or server is None else server.poll()
    finally:
        children = [] if server is None else [server]
        children += [one.child for one in kept if one.child is not None]
        for child in children:
            child.terminate()
        deadline = time.monotonic() + STOP_SECONDS
        for child in children:
            child.end(deadline)


def _listens(address: tuple[str, int]) -> bool:
    try:
        socket.create_connection(address, 1).close()
    except OSError:
        return False
    return True
