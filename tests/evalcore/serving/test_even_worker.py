"""Browsers are shared out among the processes, and threads take turns often."""

import http.client
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from evalcore.serving.even_worker import TURN_SECONDS
from evalcore.serving.processes import EVEN
from tests.serving import free_port, wait_until

ROOT = Path(__file__).resolve().parents[3]
APP = """
import os
import sys

def app(environ, start_response):
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [f"{os.getpid()} {sys.getswitchinterval()}".encode()]
"""


@pytest.fixture
def port(tmp_path):
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
    )
    try:
        wait_until(lambda: who_took(number, 6).total() == 6, 60, "the web server")
        wait_until(lambda: len(who_took(number, 20)) == 2, 60, "both processes")
        yield number
    finally:
        server.terminate()
        server.wait(20)


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


def test_each_process_has_its_share_of_the_connections(port):
    assert min(who_took(port, 20).values()) >= 6


def test_threads_take_turns_more_often_than_usual(port):
    told = {who.split()[1].decode() for who in who_took(port, 20)}
    assert told == {str(TURN_SECONDS)}
    assert sys.getswitchinterval() > TURN_SECONDS
