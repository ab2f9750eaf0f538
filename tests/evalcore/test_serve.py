"""The two processes of `make run`, started and stopped for real."""

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def serve(tmp_path: Path, port: int, *options: str) -> subprocess.Popen:
    env = os.environ | {"DATA_DIR": str(tmp_path / "with space"), "DATABASE_URL": ""}
    return subprocess.Popen(
        [sys.executable, "manage.py", "serve", "--port", str(port), *options],
        env=env, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        start_new_session=True,
    )  # fmt: skip


def answers(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz") as response:
            return response.status == 200
    except OSError:
        return False


def group_is_empty(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return True
    return False


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_it_serves_and_stops_without_leaving_anything(tmp_path, how):
    port = free_port()
    server = serve(tmp_path, port)
    try:
        end = time.monotonic() + 60
        while not answers(port):
            assert server.poll() is None, server.stdout.read()
            assert time.monotonic() < end
            time.sleep(0.2)
        server.send_signal(how)
        output, _ = server.communicate(timeout=30)
        end = time.monotonic() + 10
        while not group_is_empty(server.pid):
            assert time.monotonic() < end, "a process was left behind"
            time.sleep(0.1)
    finally:
        if not group_is_empty(server.pid):
            os.killpg(server.pid, signal.SIGKILL)
    assert server.returncode == 0
    assert "create_manager" in output


SIGNALLED_AS_A_CHILD_STARTS = """
import os, subprocess, sys
import django
django.setup()
from evalcore.management.commands import serve

class Starting(subprocess.Popen):
    def __init__(self, _command):
        super().__init__([sys.executable, "-c", "import time; time.sleep(600)"])
        os.kill(os.getpid(), {how})

subprocess.Popen = Starting
serve.run_server(port=8000, bind="127.0.0.1")
"""


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_while_a_child_starts_leaves_nothing_behind(tmp_path, how):
    server = subprocess.Popen(
        [sys.executable, "-c", SIGNALLED_AS_A_CHILD_STARTS.format(how=int(how))],
        env=os.environ | {"DATA_DIR": str(tmp_path)}, cwd=ROOT, start_new_session=True,
    )  # fmt: skip
    try:
        assert server.wait(60) == 0
        assert group_is_empty(server.pid)
    finally:
        if not group_is_empty(server.pid):
            os.killpg(server.pid, signal.SIGKILL)


def test_a_port_in_use_is_explained(tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        server = serve(tmp_path, port)
        output, _ = server.communicate(timeout=60)
    assert server.returncode == 2
    assert f"Port {port} is in use" in output


def test_an_address_of_another_machine_is_explained(tmp_path):
    server = serve(tmp_path, free_port(), "--bind", "192.0.2.1")
    output, _ = server.communicate(timeout=60)
    assert server.returncode == 2
    assert "BIND=192.0.2.1: this machine cannot listen there" in output


def test_a_port_that_is_none_is_explained(tmp_path):
    server = serve(tmp_path, 99999)
    output, _ = server.communicate(timeout=60)
    assert server.returncode == 2
    assert "write a number from 1 to 65535" in output


def test_a_web_worker_loads_neither_torch_nor_pandas(tmp_path):
    code = (
        "import sys; import evalcore.wsgi; from django.urls import get_resolver; "
        "get_resolver().url_patterns; "
        "print([m for m in ('torch', 'pandas', 'scipy', 'plotly') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"DATA_DIR": str(tmp_path)}, cwd=ROOT,
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.strip() == "[]"
