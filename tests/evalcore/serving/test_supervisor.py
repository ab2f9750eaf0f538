"""Restarts of workers, and the end of their child processes."""

import os
import signal
import subprocess
import sys
import threading
import time
from datetime import timedelta

import pytest
from django.utils import timezone

from evalcore.models import Worker
from evalcore.serving import supervisor
from evalcore.serving.supervisor import KeptWorker
from tests.cases import slow
from tests.serving import free_port, wait_until

pytestmark = pytest.mark.django_db(transaction=True)
PYTHON = [sys.executable, "-S", "-c"]
# Has a child, as a worker with a pool has, and writes its id.
PARENT = """
import os, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(600)"])
with open(sys.argv[1] + ".part", "w") as stream:
    stream.write(str(child.pid))
os.rename(sys.argv[1] + ".part", sys.argv[1])
time.sleep(600)
"""


@pytest.fixture(autouse=True)
def nothing_told_afterwards(transactional_db):
    """Wait for heartbeats still being recorded, which would reach the next test."""
    before = set(threading.enumerate())
    yield
    for telling in set(threading.enumerate()) - before:
        telling.join(60)


@pytest.fixture
def clock(monkeypatch):
    """A clock that the test moves; processes are real."""

    class Clock:
        now = 1000.0

    monkeypatch.setattr(supervisor.time, "monotonic", lambda: Clock.now)
    return Clock


@pytest.fixture
def keeping():
    """Keep a command at work, and leave nothing of it behind."""
    kept: list[KeptWorker] = []

    def keep(*command: str) -> KeptWorker:
        kept.append(KeptWorker("gpu", [*PYTHON, *command]))
        return kept[-1]

    yield keep
    for worker in kept:
        if worker.child is not None:
            worker.child.end(0)


def run_and_end(worker: KeptWorker, clock, seconds: float = 0) -> float:
    """Have it run for so long and end; return until when it is not started again."""
    worker.keep()
    child = worker.child
    assert child is not None
    clock.now += seconds
    child.terminate()
    while worker.child is child:
        worker.keep()
        time.sleep(0.01)
    began = clock.now
    while worker.child is None:
        assert clock.now < began + 100
        clock.now += 0.5
        worker.keep()
    return clock.now - began


@pytest.mark.slow
def test_restart_delay_doubles_up_to_a_minute(keeping, clock, caplog):
    worker = keeping("import time; time.sleep(600)")
    waits = [run_and_end(worker, clock) for _ in range(8)]
    assert waits == [1, 2, 4, 8, 16, 32, 60, 60]
    assert "The gpu worker was stopped by SIGTERM." in caplog.text
    assert "the worker restarts in 60 s" in caplog.text


def test_supervisor_retries_when_a_worker_cannot_start(clock, caplog):
    worker = KeptWorker("cpu", ["/nowhere/at/all"])
    for _ in range(3):
        worker.keep()
    assert worker.child is None
    assert caplog.text.count("could not be started: No such file") == 1
    clock.now += 1
    worker.keep()
    assert caplog.messages[-1].endswith("the worker restarts in 2 s.")


def test_supervisor_ends_children_of_a_killed_worker(keeping, tmp_path):
    worker = keeping(PARENT, str(tmp_path / "child"))
    worker.keep()
    wait_until((tmp_path / "child").exists, 60, "its child")
    child = int((tmp_path / "child").read_text())
    os.kill(worker.child.pid, signal.SIGKILL)
    first = worker.child

    def is_seen_to() -> bool:
        worker.keep()
        return worker.child is not first

    wait_until(is_seen_to, 60, "its end")
    wait_until(lambda: not alive(child), 60, "the end of its child")


def alive(pid: int) -> bool:
    """Say whether a process runs; one that nobody has asked for its status does not."""
    try:
        with open(f"/proc/{pid}/stat") as stream:
            return stream.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_pages_show_when_a_worker_starts_again(keeping, clock):
    worker, before = keeping("raise SystemExit(3)"), timezone.now()
    worker.keep()
    while worker.child is not None:
        worker.keep()
        time.sleep(0.01)
    wait_until(Worker.objects.exists, 60, "its row")
    row = Worker.objects.get(kind="gpu")
    assert row.seen_at is None
    wait = timedelta(seconds=1)
    assert before + wait < row.restart_at <= timezone.now() + wait


SUPERVISE = """
import sys
import django
django.setup()
from evalcore.serving import supervisor, workers
workers.sign = workers.expect = lambda *given: None
web = [sys.executable, "-S", "-c", sys.argv[1]]
worker = [sys.executable, "-S", "-c", "print('a worker'); raise SystemExit(1)"]
address = ("127.0.0.1", int(sys.argv[2]))
raise SystemExit(40 + supervisor.run(web, {"cpu": worker}, address, lambda: None))
"""
LISTEN = """
import socket, time
listening = socket.create_server(("127.0.0.1", {port}))
time.sleep(3)
"""


def supervise(web: str, port: int, **how) -> subprocess.CompletedProcess:
    command = [sys.executable, "-c", SUPERVISE, web, str(port)]
    return subprocess.run(command, timeout=60, **how)


@pytest.mark.parametrize("listens", [True, *slow(False)])
def test_workers_start_when_the_web_server_listens(listens):
    port = free_port()
    web = LISTEN.format(port=port) if listens else "import time; time.sleep(1)"
    found = supervise(web, port, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert found.returncode == 40
    assert (b"a worker" in found.stdout) == listens
