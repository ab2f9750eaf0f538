"""A temporary site for measurements: made, served, visited, removed."""

import os
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
START_SECONDS = 3  # until all processes of the server serve


@contextmanager
def temporary_site() -> Iterator[Path]:
    """Set Django up on an empty database; yield the folder of its data.

    The folder is removed at the end. The database is SQLite in it, or the empty one at
    DATABASE_URL (`python -m tests.with_postgres ...`). Import models inside only.
    """
    with tempfile.TemporaryDirectory(prefix="plumbline-") as own:
        os.environ.setdefault("DATABASE_URL", "")
        os.environ |= {"DATA_DIR": own, "DJANGO_SETTINGS_MODULE": "evalcore.settings"}
        import django

        django.setup()
        from django.core.management import call_command
        from django.db import connection

        if connection.introspection.table_names():
            raise SystemExit("The database at DATABASE_URL is not empty.")
        call_command("migrate", verbosity=0)
        yield Path(own)


@contextmanager
def serve() -> Iterator[str]:
    """Serve the site as `make run` does, without its workers; yield the address."""
    from evalcore.serving.supervisor import web_command

    port = free_port()
    command = web_command("127.0.0.1", port)
    server = subprocess.Popen(command, cwd=ROOT, start_new_session=True)
    try:
        wait_for(port)
        time.sleep(START_SECONDS)
        yield f"http://127.0.0.1:{port}"
    finally:
        os.killpg(server.pid, signal.SIGKILL)  # it may be busy for minutes
        server.wait()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for(port: int) -> None:
    end = time.monotonic() + 60
    while time.monotonic() < end:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.2)
    raise TimeoutError("the server does not answer")
