"""Browsers are shared out among the processes, and threads take turns often."""

import http.client
import socket
import subprocess
import sys
from collections import Counter
from contextlib import contextmanager
from pathlib import Path

import pytest

from evalcore.serving.supervisor import EVEN
from tests.serving import free_port, wait_until

ROOT = Path(__file__).resolve().parents[3]
APP = """
import os
import sys
import time

def app(environ, start_response):
    if environ["PATH_INFO"] == "/slow":
        print("begun", flush=True)
        time.sleep(600)
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [f"{os.getpid()} {sys.getswitchinterval()}".encode()]
"""


@contextmanager
def serving(tmp_path):
    """Run gunicorn with two processes; lend its arbiter and the port."""
    (tmp_path / "told_pid.py").write_text(APP)
    number = free_port()
    server = subprocess.Popen(
        [
            *[sys.executable, "-m", "gunicorn", "told_pid:app", "--preload"],
            *["--bind", f"127.0.0.1:{number}", "--workers", "2", "--threads", "4"],
            *["--worker-class", EVEN, "--pythonpath", f"{tmp_path},{ROOT}"],
            *["--log-level", "warning", "--no-control-socket"],
        ],
        cwd=ROOT,
        stdout=subprocess.PIPE,
    )
    try:
        wait_until(lambda: who_took(number, 6).total() == 6, 60, "the web server")
        wait_until(lambda: len(who_took(number, 20)) == 2, 60, "both processes")
        yield server, number
    finally:
        server.terminate()
        server.wait(20)
        server.stdout.close()


@pytest.fixture
def port(tmp_path):
    with serving(tmp_path) as (_arbiter, number):
        yield number


def who_took(port: int, browsers: int) -> Counter[bytes]:
    """Open so many connections one after the other; return who took how many.

    Who is a process and the seconds for which one of its threads may keep the others
    waiting.
    """
    lines = [http.client.HTTPConnection("127.0.0.1", port) for _ in range(browsers)]
    found: Counter[bytes] = Counter()
    try:
        for line in lines:
            line.request("GET", "/")
            found[line.getresponse().read()] += 1
    except OSError:  # it does not listen yet
        pass
    finally:
        for line in lines:
            line.close()
    return found


@pytest.mark.slow
def test_connections_are_shared_evenly_by_processes(port):
    assert min(who_took(port, 20).values()) >= 6


def is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True


@pytest.mark.skipif(sys.platform != "linux", reason="needs Linux's prctl")
def test_port_is_free_after_the_arbiter_is_killed(tmp_path):
    """A worker would otherwise answer that request first, for up to 30 seconds."""
    with serving(tmp_path) as (arbiter, number):
        asking = http.client.HTTPConnection("127.0.0.1", number)
        asking.request("GET", "/slow")
        assert arbiter.stdout.readline() == b"begun\n"
        arbiter.kill()
        arbiter.wait(20)
        wait_until(lambda: is_free(number), 10, "the port")
        asking.close()
