"""The Celery application; `celery -A evalcore.celery worker` runs it."""

import json
import os
import sys
from contextlib import suppress
from pathlib import Path

from celery import Celery, Task
from celery.app.utils import Settings
from celery.signals import (
    beat_embedded_init,
    beat_init,
    task_postrun,
    task_prerun,
    worker_ready,
)
from celery.worker.consumer import Consumer
from kombu.transport import filesystem

from evalcore.serving import log

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "evalcore.settings")

path = sys.path.copy()
app = Celery("plumbline")
# It puts the working directory first, where a user's `analysis.py` hides the library.
sys.path[:] = path
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks(["annotate", "evalcore.scoring"])


@app.on_after_configure.connect
def make_queue_folders(source: Settings, **_kwargs: object) -> None:
    """Create the folders of the filesystem broker, which expects them to exist."""
    options = source.broker_transport_options or {}
    for folder in options.values():
        if isinstance(folder, str):
            Path(folder).mkdir(parents=True, exist_ok=True)
            mend_queue_tables(Path(folder))
            drop_broken_messages(Path(folder))


def mend_queue_tables(folder: Path) -> None:
    """Repair the broker's empty queue tables.

    One is empty for good where its writer was killed, or the disk was full, as it was
    made, and then no bell rings any more.
    """
    for path in folder.glob("*.exchange"):
        with path.open("rb+") as stream:
            filesystem.lock(stream, filesystem.LOCK_EX)  # type: ignore[no-untyped-call] # of kombu
            if not stream.read():
                stream.write(b"[]")


def drop_broken_messages(folder: Path) -> None:
    """Remove incomplete messages of the broker.

    The disk was full, as a rule. Each would end the worker that reads it.
    """
    for path in folder.glob("*.msg"):
        with suppress(FileNotFoundError), path.open("rb") as stream:  # somebody has it
            filesystem.lock(stream, filesystem.LOCK_SH)  # type: ignore[no-untyped-call] # of kombu
            try:
                json.load(stream)
            except ValueError:
                path.unlink()


@worker_ready.connect
def look_for_work(**_kwargs: object) -> None:
    """Look for work left while no worker ran; its message may be lost."""
    for entry in app.conf.beat_schedule.values():
        app.send_task(entry["task"])


@worker_ready.connect
def show_that_a_worker_lives(sender: Consumer, **_kwargs: object) -> None:
    """Record heartbeats for the queues that this worker serves."""
    from evalcore.serving import workers

    workers.give_signs(sender.app.amqp.queues.consume_from)


@task_prerun.connect
def begin_task(task_id: str, task: Task, **_kwargs: object) -> None:
    """Add the task to the context of log lines."""
    log.begin(task=task.name, task_id=task_id)


@task_postrun.connect
def end_task(**_kwargs: object) -> None:
    """Clear the context of log lines."""
    log.end()


@beat_init.connect
@beat_embedded_init.connect
def show_that_the_beat_lives(**_kwargs: object) -> None:
    """Record heartbeats of the scheduler."""
    from evalcore.serving import workers

    workers.give_signs(["beat"])
