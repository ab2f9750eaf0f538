"""Processes that end with their parent, however it dies."""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1
LINUX = ctypes.CDLL(None) if sys.platform == "linux" else None


def end_with(parent: int) -> None:
    """Have the kernel kill this process when its parent dies; only Linux can."""
    if LINUX is not None:
        LINUX.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it died before
            os._exit(1)
