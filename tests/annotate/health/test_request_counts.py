"""Requests counted by several processes of a real web server; some die."""

import os
import re
import signal
import subprocess
import time
import urllib.error
import urllib.request
from collections import Counter
from pathlib import Path

import pytest
from django.conf import settings as live
from django.core.exceptions import ImproperlyConfigured

from evalcore.serving import environment, supervisor
from tests.cases import slow
from tests.serving import answers, free_port, wait_until

ROOT = Path(__file__).resolve().parents[3]
TOKEN = "of-a-prometheus-elsewhere"
COUNT = re.compile(
    r'plumbline_request_seconds_count{route="([^"]*)",status="(\d+)"} (\S+)'
)


class Watched:
    """gunicorn with two processes that count, as `make run` starts it."""

    def __init__(self, folder: Path, **variables: str) -> None:
        self.port, self.log = free_port(), folder / "log.txt"
        self.folder = folder
        env = os.environ | {
            "DATA_DIR": str(folder),
            "DATABASE_URL": f"sqlite:///{live.DATABASES['default']['NAME']}",
            "METRICS": "1",
            **variables,
        }
        command = supervisor.web_command("127.0.0.1", self.port)
        command[command.index("--workers") + 1] = "2"
        with self.log.open("wb") as out:
            self.process = subprocess.Popen(
                command, cwd=ROOT, env=env, stdout=out, stderr=subprocess.STDOUT
            )
        wait_until(self._answers, 120, "the first answer")

    def _answers(self) -> bool:
        assert self.process.poll() is None, self.log.read_text()
        return answers(self.port)

    def ask(self, address: str, **headers: str) -> tuple[int, str]:
        """Ask by a new connection, so that both processes get requests."""
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}{address}", headers=headers
        )
        try:
            with urllib.request.urlopen(request, timeout=60) as response:
                return response.status, response.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def counts(self) -> dict[tuple[str, str], float]:
        found = COUNT.findall(self.ask("/metrics")[1])
        return {(route, status): float(n) for route, status, n in found}

    def processes(self) -> list[int]:
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return [int(pid) for pid in children.read_text().split()]

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(30)


@pytest.fixture
def start(tmp_path, transactional_db):
    started = []

    def begin(**variables: str) -> Watched:
        started.append(Watched(tmp_path, **variables))
        return started[-1]

    yield begin
    for one in started:
        one.stop()


def files(folder: Path) -> list[Path]:
    return sorted(folder.glob("request-counts/*/*.db"))


@pytest.mark.slow
@pytest.mark.sqlite
def test_request_counts_are_summed_and_survive_processes(start, tmp_path):
    server = start()
    asked = Counter()

    def ask_until(processes: int) -> None:
        end = time.monotonic() + 60
        while len(files(tmp_path)) < processes:
            assert time.monotonic() < end, "one process has all the work"
            asked["/login/", "200"] += server.ask("/login/")[0] == 200
            asked["-", "404"] += server.ask("/nothing/")[0] == 404

    ask_until(2)
    assert server.counts() == asked
    os.kill(server.processes()[0], signal.SIGKILL)
    wait_until(lambda: len(server.processes()) == 2, 60, "a new process")
    ask_until(3)
    assert server.counts() == asked
    assert 'plumbline_request_seconds_bucket{le="+Inf"' in server.ask("/metrics")[1]
    assert "plumbline_database_up 1.0" in server.ask("/metrics")[1]

    server.stop()
    (folder,) = {path.parent for path in files(tmp_path)}
    supervisor.forget_counts(folder)
    again = start()
    assert again.counts() == {}


@pytest.mark.slow
@pytest.mark.sqlite
def test_metrics_require_the_token_behind_a_proxy(start):
    """Attack: what a proxy of this machine passes on comes from this machine."""
    server = start(METRICS_TOKEN=TOKEN, TRUSTED_PROXIES="1", METRICS="0")
    right = f"Bearer {TOKEN}"
    assert server.ask("/metrics", Authorization=right)[0] == 200
    for headers in ({}, {"Authorization": f"{right}x"}, {"Authorization": TOKEN}):
        assert server.ask("/metrics", **headers) == (404, "")
    assert TOKEN not in server.log.read_text()


@pytest.mark.slow
@pytest.mark.sqlite
@pytest.mark.parametrize("by_token", [False, *slow(True)])
def test_metrics_are_refused_under_a_host_name_that_is_not_allowed(start, by_token):
    """Attack: a site of that name is led to this machine, and reads what it answers."""
    server = start(**({"METRICS_TOKEN": TOKEN} if by_token else {}))
    headers = {"Authorization": f"Bearer {TOKEN}"} if by_token else {}
    for host in ("evil.example.org", f"evil.example.org:{server.port}", "10.0.0.7"):
        assert server.ask("/metrics", Host=host, **headers)[0] == 400
        assert server.ask("/login/", Host=host)[0] == 400
    for host in ("127.0.0.1", f"localhost:{server.port}"):
        assert server.ask("/metrics", Host=host, **headers)[0] == 200


def test_short_metrics_token_is_refused(monkeypatch):
    for bad in ("short", "x" * 23, "with blanks in it, but long"):
        monkeypatch.setenv("METRICS_TOKEN", bad)
        with pytest.raises(
            ImproperlyConfigured, match="METRICS_TOKEN is too easy to guess"
        ):
            environment.token("METRICS_TOKEN")
    monkeypatch.setenv("METRICS_TOKEN", "x" * 24)
    assert environment.token("METRICS_TOKEN") == "x" * 24


def test_metrics_are_absent_unless_configured(client):
    assert not live.METRICS
    assert not any("prometheus" in name for name in live.MIDDLEWARE)
    assert client.get("/metrics").status_code == 301  # the page of metrics is /metrics/
