"""Web server and workers of one machine: started, kept at work, and none left behind.

The web server decides how long it lasts. A worker that ends is started again, each time
a little later, until it has run well for a while.
"""

import logging
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import timedelta
from functools import partial
from types import FrameType

from django.db import Error, connection
from django.utils import timezone

from evalcore.serving import workers
from evalcore.serving.parent_death import end_with

logger = logging.getLogger(__name__)

STOP_SECONDS = 10
TICK_SECONDS = 0.2
# Until a worker is started again: doubled each time, but for one that ran for long.
FIRST_WAIT, LONGEST_WAIT, WELL_SECONDS = 1.0, 60.0, 60.0
# Somebody waits for the pages. What all processes import at once, none has soon.
HEAD_START_SECONDS = 1.5
# A window that is closed hangs up, unless nohup has it ignored.
STOPPING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class Child:
    """A process in a group of its own, so that all it starts can be ended with it.

    On Linux it also ends when this process is killed.
    """

    def __init__(self, command: Sequence[str]) -> None:
        self._process = subprocess.Popen(
            command, process_group=0, preexec_fn=partial(end_with, os.getpid())
        )

    def ended(self) -> int | None:
        """Return the exit status, negative for a signal; None while it runs."""
        return self._process.poll()

    def ask_to_end(self) -> None:
        """Ask it to end in good order."""
        if self.ended() is None:
            self._process.terminate()

    def end(self, deadline: float) -> None:
        """Wait until it has ended; what is left of its group then is killed."""
        try:
            self._process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            logger.warning("%s did not end in time", self._process.args)
        # Nobody is left, as a rule; macOS says it the other way.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


class KeptWorker:
    """A worker that is started again whenever it ends.

    Parameters
    ----------
    kind
        What it does, as its signs of life name it.
    command
        What runs it.
    after
        In how many seconds it is started first.
    """

    def __init__(self, kind: str, command: Sequence[str], after: float = 0) -> None:
        self.kind = kind
        self.child: Child | None = None
        self._command = command
        self._wait = FIRST_WAIT
        self._started = time.monotonic()
        self._due = self._started + after

    def keep(self) -> None:
        """Start it if it is time; see to what is left of it if it has ended."""
        if self.child is None:
            if time.monotonic() >= self._due:
                self._start()
        elif (status := self.child.ended()) is not None:
            self.child.end(time.monotonic())
            self.child = None
            self._start_later(_ending(status))

    def _start(self) -> None:
        self._started = time.monotonic()
        try:
            self.child = Child(self._command)
        except OSError as error:  # no memory for one more process, as a rule
            self._start_later(f"could not be started: {error.strerror}")

    def _start_later(self, why: str) -> None:
        now = time.monotonic()
        if now - self._started >= WELL_SECONDS:
            self._wait = FIRST_WAIT
        wait = self._wait
        self._due = now + wait
        self._wait = min(2 * wait, LONGEST_WAIT)
        logger.warning(
            "The %s worker %s. The pages go on; it is started again in %.0f s.",
            self.kind,
            why,
            wait,
        )
        again = timezone.now() + timedelta(seconds=wait)
        _tell_pages(partial(workers.expect, self.kind, again))


def _tell_pages(put_down: Callable[[], object]) -> None:
    """Put something down in a thread: nothing here waits for a busy database."""

    def tell() -> None:
        try:
            put_down()
        except Error as error:
            logger.warning("The pages are not told of the workers (%s)", error)
        finally:
            connection.close()  # this thread's own

    threading.Thread(target=tell, daemon=True).start()


def _ending(status: int) -> str:
    if status < 0:
        return f"was ended by {signal.Signals(-status).name}"
    return f"ended by itself (exit status {status})"


def run(web: Sequence[str], work: dict[str, Sequence[str]]) -> int | None:
    """Run a web server and workers until the former ends or a signal comes.

    Parameters
    ----------
    web
        The command of the web server.
    work
        Those of the workers, by kind.

    Returns
    -------
    int or None
        The web server's exit status; None after a signal.
    """
    signals: list[int] = []

    def note(number: int, _frame: FrameType | None) -> None:
        # Raising here could strike between a child's start and its being known.
        signals.append(number)

    for number in STOPPING:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, note)
    connection.close()
    server = Child(web)
    kept = [KeptWorker(*one, after=HEAD_START_SECONDS) for one in work.items()]
    try:
        _tell_pages(partial(workers.sign, tuple(work)))
        while not signals and server.ended() is None:
            for worker in kept:
                worker.keep()
            time.sleep(TICK_SECONDS)
        return None if signals else server.ended()
    finally:
        _stop([server, *(worker.child for worker in kept if worker.child is not None)])


def _stop(children: Sequence[Child]) -> None:
    for child in children:
        child.ask_to_end()
    deadline = time.monotonic() + STOP_SECONDS
    for child in children:
        child.end(deadline)
