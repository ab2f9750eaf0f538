"""The web server's worker: gunicorn's threads, which take turns often and evenly.

Browsers keep their connections open, and whichever process happens to be awake takes
new ones: one of them often had all the work while the others slept. Here a process that
holds some already lets those that hold fewer go first.

Within a process one thread computes at a time. Whoever has an answer of the database,
and perhaps the lock that all others wait for, waits until another one's turn ends.
"""

import socket
import sys
import time

from gunicorn.workers.gthread import ThreadWorker

from evalcore.serving.parent_death import end_with

# For each connection that a process holds it stands back so long, up to the longest.
STEP_SECONDS, LONGEST_SECONDS = 0.001, 0.005
# So long is a turn while others wait; Python's own are five times as long.
TURN_SECONDS = 0.001


class EvenWorker(ThreadWorker):
    """A worker that takes a new connection the later, the more it holds."""

    def init_process(self) -> None:
        """Begin to serve; end with the arbiter, which would leave the port taken."""
        end_with(self.ppid)
        sys.setswitchinterval(TURN_SECONDS)
        super().init_process()

    def accept(self, listener: socket.socket) -> None:
        """Take a connection, if nobody else has done so meanwhile."""
        time.sleep(min(STEP_SECONDS * self.nr_conns, LONGEST_SECONDS))
        super().accept(listener)
