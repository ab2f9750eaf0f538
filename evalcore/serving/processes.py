"""The commands of the processes that serve pages and do the work beside them."""

import os
import re
import sys
from pathlib import Path

from django.conf import settings

from evalcore.models import MetricChunk

# A worker a queue: hours of scoring keep nothing else waiting.
QUEUES = tuple(MetricChunk.Queue.values)
# One of them alone, or one of several workers of a queue: `gpu`, `gpu-2`.
PART = re.compile(rf"web|beat|(?:{'|'.join(QUEUES)})(?:-\w+)?", re.ASCII)

EVEN = "evalcore.serving.even_worker.EvenWorker"
THREADS = 4  # of each process; they share its time, and wait for slow networks
CELERY = [sys.executable, "-m", "celery", "--quiet", "-A", "evalcore.celery"]
# A process of its own, so that whoever starts it sees it end.
BEAT = [*CELERY, "beat", "--loglevel", "warning"]


def web_command(bind: str, port: int) -> list[str]:
    """Return what serves the pages."""
    # Read before the processes part, so that they share what they have read.
    options = (
        f"--workers {settings.WEB_WORKERS} --threads {THREADS} --preload "
        f"--worker-class {EVEN} --log-level warning --no-control-socket"
    )
    if settings.LOG_FORMAT == "json":
        options += " --logger-class evalcore.serving.json_lines.JsonLines"
    address = f"{host(bind)}:{port}"
    server = [sys.executable, "-m", "gunicorn", "evalcore.wsgi", "--bind", address]
    return [*server, *options.split()]


def forget_counts(folder: Path) -> None:
    """Empty the folder in which the web server's processes count requests.

    Those of an earlier server are added to the new ones' otherwise.
    """
    for path in folder.glob("*.db"):
        path.unlink(missing_ok=True)


def host(bind: str) -> str:
    """Return the address as it stands before a port's colon."""
    return f"[{bind}]" if ":" in bind else bind


def worker_command(name: str) -> list[str]:
    """Return what works for a queue: for `gpu`, and so do `gpu-2` and `gpu-3`."""
    # One process that works by itself: no child outlives it when it is killed.
    options = (
        f"worker --pool solo --queues {name.partition('-')[0]} --hostname {name}@%h "
        "--loglevel warning --without-gossip --without-mingle --without-heartbeat"
    )
    return [*CELERY, *options.split()]


def become(part: str, *, bind: str, port: int) -> None:
    """Go on as one of the processes; whoever started this one keeps it at work."""
    if part == "web":
        command = web_command(bind, port)
    else:
        command = BEAT if part == "beat" else worker_command(part)
    os.execv(command[0], command)
