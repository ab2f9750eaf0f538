"""The Celery application; `celery -A evalcore.celery worker` runs it."""

import os
from pathlib import Path

from celery import Celery
from celery.app.utils import Settings
from celery.signals import worker_ready

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "evalcore.settings")

app = Celery("plumbline")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
app.autodiscover_tasks(["analysis.web"])


@app.on_after_configure.connect
def make_queue_folders(source: Settings, **_kwargs: object) -> None:
    """Create the folders of the filesystem broker, which expects them to exist."""
    options = source.broker_transport_options or {}
    for folder in options.values():
        if isinstance(folder, str):
            Path(folder).mkdir(parents=True, exist_ok=True)


@worker_ready.connect
def look_for_work(**_kwargs: object) -> None:
    """Look for work that was left while no worker ran; the bell may be lost."""
    for entry in app.conf.beat_schedule.values():
        app.send_task(entry["task"])
