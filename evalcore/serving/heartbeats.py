"""Signs of life: how whoever waits for work tells a live process from a killed one."""

import logging
import threading
from collections.abc import Callable

from django.db import Error, connection

logger = logging.getLogger(__name__)

# How often a sign of life is given.
SIGN_SECONDS = 20.0


class Heartbeat(threading.Thread):
    """Signs of life, given in a thread of their own as long as the block lasts.

    A single picture may take long, and a judge longer. `lost` is set while the last
    sign found that what it was given for is not this process's own any more.
    """

    def __init__(self, what: str, sign: Callable[[], bool]) -> None:
        super().__init__(daemon=True)
        self._what = what
        self._sign = sign
        self._over = threading.Event()
        self.lost = False

    def __enter__(self) -> "Heartbeat":
        self.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._over.set()
        self.join()

    def run(self) -> None:
        """Give a sign every so often until the work is over."""
        try:
            while not self._over.wait(SIGN_SECONDS):
                try:
                    self.lost = not self._sign()
                except Error:
                    logger.warning("%s: no sign given", self._what)
                    connection.close()
        finally:
            connection.close()  # this thread's own
