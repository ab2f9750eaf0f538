"""What keeps a web server from serving pages, and what merely lets work wait.

Asked every second by balancers, whoever they are: it is cheap, and no sentence names a
folder, an address or an account.
"""

import socket
import tempfile
from functools import lru_cache, partial
from urllib.parse import urlsplit

from django.conf import settings
from django.core.cache import cache
from django.db import Error, connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from evalcore.serving import workers

# Whether the broker answers is asked anew after so long, and so long waited for.
BROKER_SECONDS, BROKER_WAIT_SECONDS = 10, 1.0
PORTS = {"redis": 6379, "rediss": 6379, "amqp": 5672, "amqps": 5671}


def missing() -> dict[str, str]:
    """Return what pages cannot do without and do not have, in a sentence each."""
    found = {"database": _about_database(), "media": _about_media()}
    return {what: sentence for what, sentence in found.items() if sentence}


def waiting() -> dict[str, str]:
    """Return what lets work wait while pages go on, in a sentence each."""
    found = {"broker": about_broker(), "workers": _about_workers()}
    return {what: sentence for what, sentence in found.items() if sentence}


def _about_database() -> str:
    try:
        n = len(missing_migrations())
    except Error:
        return "The database cannot be reached."
    return f"{n} migrations are not applied: manage.py migrate" if n else ""


def missing_migrations() -> frozenset[tuple[str, str]]:
    """Return the migrations of this version that the database has not seen."""
    applied = MigrationRecorder(connection).applied_migrations()
    return _migrations() - set(applied)


@lru_cache
def _migrations() -> frozenset[tuple[str, str]]:
    """Return the migrations that this version consists of; they do not change."""
    return frozenset(MigrationLoader(None).graph.nodes)


def can_store_media() -> bool:
    """Say whether a file can be written where pictures lie, by writing one."""
    try:
        with tempfile.TemporaryFile(dir=settings.MEDIA_ROOT, buffering=0) as file:
            file.write(b"x")
    except OSError:
        return False
    return True


def _about_media() -> str:
    return "" if can_store_media() else "MEDIA_ROOT cannot be written."


def about_broker() -> str:
    """Say that the broker does not answer; a folder of this machine always does."""
    parts = urlsplit(settings.CELERY_BROKER_URL)
    if parts.scheme not in PORTS:
        return ""
    host, port = parts.hostname or "localhost", parts.port or PORTS[parts.scheme]
    listens = cache.get_or_set(
        f"broker-{host}-{port}", partial(_listens, host, port), BROKER_SECONDS
    )
    return "" if listens else "The broker does not answer: jobs wait."


def _listens(host: str, port: int) -> bool:
    try:
        socket.create_connection((host, port), BROKER_WAIT_SECONDS).close()
    except OSError:
        return False
    return True


def _about_workers() -> str:
    try:
        still = [row.kind for row in workers.standing_still()]
    except Error:
        return ""  # the database says so itself
    return f"No sign of life of workers: {', '.join(still)}." if still else ""
