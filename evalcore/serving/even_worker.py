"""The web server's worker: gunicorn's threads, with connections shared out evenly.

Browsers keep their connections open, and whichever process happens to be awake takes
new ones: one of them often had all the work while the others slept. Here a process that
holds some already lets those that hold fewer go first.
"""

import socket
import time

from gunicorn.workers.gthread import ThreadWorker

# For each connection that a process holds it stands back so long, up to the longest.
STEP_SECONDS, LONGEST_SECONDS = 0.001, 0.005


class EvenWorker(ThreadWorker):
    """A worker that takes a new connection the later, the more it holds."""

    def accept(self, listener: socket.socket) -> None:
        """Take a connection, if nobody else has done so meanwhile."""
        time.sleep(min(STEP_SECONDS * self.nr_conns, LONGEST_SECONDS))
        super().accept(listener)
