"""Settings of the web server: gunicorn's worker and log, and static files."""

import ctypes
import os
import signal
import socket
import sys
import time

from django.contrib.staticfiles.storage import HashedFilesMixin
from gunicorn.config import Config
from gunicorn.glogging import Logger
from gunicorn.workers.gthread import ThreadWorker
from whitenoise.storage import CompressedManifestStaticFilesStorage

from evalcore.serving.log import JsonLine

PR_SET_PDEATHSIG = 1
LINUX = ctypes.CDLL(None) if sys.platform == "linux" else None


def end_with(parent: int) -> None:
    """Have the kernel kill this process when its parent dies; only Linux can."""
    if LINUX is not None:
        LINUX.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it died before
            os._exit(1)


# Delay per open connection, up to the longest delay.
STEP_SECONDS, LONGEST_SECONDS = 0.001, 0.005
# Thread switch interval; Python's default is five times as long.
TURN_SECONDS = 0.001


class EvenWorker(ThreadWorker):
    """A worker that accepts connections later the more it has open."""

    def init_process(self) -> None:
        """Begin to serve; end with the arbiter, which would leave the port taken."""
        end_with(self.ppid)
        sys.setswitchinterval(TURN_SECONDS)
        super().init_process()

    def accept(self, listener: socket.socket) -> None:
        """Accept a connection unless another process has taken it."""
        time.sleep(min(STEP_SECONDS * self.nr_conns, LONGEST_SECONDS))
        super().accept(listener)


class JsonLines(Logger):
    """Logger of gunicorn in the same format, also before Django is loaded."""

    def setup(self, cfg: Config) -> None:
        """Configure the loggers and their format."""
        super().setup(cfg)
        for log in (self.error_log, self.access_log):
            for handler in log.handlers:
                handler.setFormatter(JsonLine())


_imports = HashedFilesMixin._js_module_import_aggregation_patterns[1]  # type: ignore[attr-defined] # private


class HashedStaticFiles(CompressedManifestStaticFilesStorage):
    """Storage that rewrites imports between annotators' scripts to hashed names.

    Scripts of other packages stay as they are: some name files that are not there.
    """

    support_js_module_import_aggregation = True
    _js_module_import_aggregation_patterns = ("plumbline/annotator/*.js", _imports)
