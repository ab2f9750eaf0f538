"""`serve --only`: one of the processes, restarted by the caller."""

import os
import signal
import socket
import subprocess
import sys

import pytest
from django.core.management import CommandError, call_command

from tests import migrated
from tests.serving import ROOT, answers, free_port, wait_until

pytestmark = pytest.mark.sqlite


def start(folder, part: str, **variables: str) -> subprocess.Popen:
    env = os.environ | {"DATA_DIR": str(folder), "DATABASE_URL": ""} | variables
    return subprocess.Popen(
        [sys.executable, "manage.py", "serve", "--only", part],
        cwd=ROOT,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def told_to_end(process: subprocess.Popen) -> int:
    process.send_signal(signal.SIGTERM)
    try:
        return process.wait(60)
    finally:
        process.kill()
        process.communicate()


@pytest.fixture
def prepared(django_db_setup, migrated_copy, tmp_path):
    """A data folder whose database is migrated, as far as one is kept."""
    if isinstance(migrated_copy, migrated.File):
        migrated.copy(migrated_copy.path, tmp_path / "plumbline.sqlite3")


@pytest.mark.slow
@pytest.mark.usefixtures("prepared")
def test_web_server_and_worker_start_and_end_separately(tmp_path):
    port = free_port()
    notes = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    notes.bind(str(tmp_path / "notes"))
    notes.settimeout(120)
    web = start(tmp_path, "web", PORT=str(port), NOTIFY_SOCKET=str(tmp_path / "notes"))
    worker = start(tmp_path, "gpu-2")
    try:
        # What systemd waits for, from the process that it started.
        assert notes.recv(1000).startswith(b"READY=1")
        wait_until(lambda: answers(port), 120, "the first page")
        command = f"/proc/{worker.pid}/cmdline"

        def is_celery() -> bool:
            assert worker.poll() is None, worker.communicate()[0]
            with open(command, "rb") as stream:
                words = stream.read().split(b"\0")
            return {b"celery", b"gpu", b"gpu-2@%h"} <= set(words)

        wait_until(is_celery, 120, "the worker")
    finally:
        ended = told_to_end(web), told_to_end(worker)
    assert ended[0] == 0
    # The signal may come before Celery listens.
    assert ended[1] in (0, -signal.SIGTERM)


@pytest.mark.parametrize("part", ["pages", "gpu-", "web-2", "cpu 2", ""])
def test_unknown_part_is_refused(part):
    with pytest.raises(CommandError, match="write web, beat or the name of a queue"):
        call_command("serve", f"--only={part}")
