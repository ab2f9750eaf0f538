"""The processes of `make run`: started, killed and stopped for real."""

import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from evalcore.management.commands import serve
from tests.serving import Served, free_port, wait_until

pytestmark = pytest.mark.sqlite
ROOT = Path(__file__).resolve().parents[3]
ONE_OF_EACH = {"cpu": 1, "gpu": 1, "judge": 1, "beat": 1}


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """A folder whose database is migrated, which takes longer than all the rest."""
    folder = tmp_path_factory.mktemp("prepared")
    subprocess.run(
        [sys.executable, "manage.py", "migrate", "-v", "0"],
        cwd=ROOT,
        check=True,
        env=os.environ | {"DATA_DIR": str(folder), "DATABASE_URL": ""},
    )
    return folder


@pytest.fixture
def served(prepared, tmp_path):
    shutil.copytree(prepared, tmp_path / "with space")
    with Served(tmp_path / "with space") as served:
        served.wait_for_pages()
        yield served


def signs_of_life(served: Served) -> dict[str, str | None]:
    """Return the workers that gave one, and when those that ended start again."""
    with closing(sqlite3.connect(served.folder / "plumbline.sqlite3")) as database:
        sql = "SELECT kind, restart_at FROM evalcore_worker WHERE seen_at IS NOT NULL"
        return dict(database.execute(sql).fetchall())


def counts(served: Served) -> dict[str, int]:
    return {kind: len(pids) for kind, pids in served.workers().items()}


@pytest.mark.slow  # test_killed_worker_restarts_while_pages_work ends with SIGTERM
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGHUP])
def test_serve_stops_every_process(served, how):
    served.wait_for_workers()
    served.stop(how)
    wait_until(lambda: not served.pids(), 60, "the end of every process")
    assert served.process.returncode == 0


@pytest.mark.slow
def test_killed_worker_restarts_while_pages_work(served):
    served.wait_for_workers()
    killed = served.workers()
    for pids in killed.values():
        os.kill(pids[0], signal.SIGKILL)

    def is_replaced() -> bool:
        assert served.answers()
        now = served.workers()
        return all(now[kind] and now[kind] != killed[kind] for kind in killed)

    wait_until(is_replaced, 60, "new workers")
    assert counts(served) == ONE_OF_EACH
    alive = dict.fromkeys(ONE_OF_EACH)
    wait_until(lambda: signs_of_life(served) == alive, 180, "signs of life")
    output = served.stop()
    assert f"http://127.0.0.1:{served.port}/first-start/" in output
    assert output.count("was stopped by SIGKILL") == len(killed)
    assert served.process.returncode == 0
    wait_until(lambda: not served.pids(), 60, "the end of every process")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="needs Linux's prctl")
def test_killed_supervisor_leaves_no_process(served):
    served.wait_for_workers()
    served.process.kill()
    # Workers of gunicorn look at their parent about once a second.
    wait_until(lambda: not served.pids(), 60, "the end of every process")


@pytest.mark.slow
def test_port_in_use_is_explained(tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert f"Port {port} is in use" in refused(tmp_path, port=port)


@pytest.mark.slow
def test_address_of_another_machine_is_explained(tmp_path):
    told = refused(tmp_path, "--bind", "192.0.2.1")
    assert "BIND=192.0.2.1: this machine cannot listen on this address" in told


@pytest.mark.parametrize("bind", ["0.0.0.0", "::"])
@pytest.mark.parametrize("command", ["serve", "demo"])
def test_serve_requires_base_url_when_other_machines_can_connect(
    settings, monkeypatch, command, bind
):
    settings.BASE_URL, settings.DEMO = "", True
    settings.BIND, settings.PORT = bind, free_port()

    def begun(*_given, **_options):
        raise AssertionError("it goes on to the database")

    monkeypatch.setattr("evalcore.serving.schema.bring_up_to_date", begun)
    given = {"bind": bind, "port": settings.PORT} if command == "serve" else {}
    with pytest.raises(CommandError, match="BASE_URL is required") as told:
        call_command(command, **given)
    assert f"BIND={bind} accepts connections from other machines" in str(told.value)
    settings.BASE_URL = "http://192.168.1.20"
    with pytest.raises(AssertionError, match="goes on"):
        call_command(command, **given)


@pytest.mark.parametrize(
    ("base", "proxies", "is_told"),
    [
        ("https://study.example.org", 0, True),
        ("https://study.example.org", 1, False),
        ("http://192.168.1.20", 0, False),
    ],
)
def test_serve_warns_about_untrusted_proxies(settings, capsys, base, proxies, is_told):
    settings.PRODUCTION = False
    settings.BASE_URL, settings.TRUSTED_PROXIES = base, proxies
    serve._tell_where("127.0.0.1", 8000)
    assert ("TRUSTED_PROXIES is not set" in capsys.readouterr().out) is is_told


def refused(tmp_path: Path, *options: str, **how: int) -> str:
    """Return what serve says when it does not start."""
    with Served(tmp_path, *options, **how) as served:
        output = served.ended()
        assert served.process.returncode == 2
    return output


def test_web_worker_loads_pages_without_torch_and_pandas(tmp_path):
    code = (
        "import sys; import evalcore.wsgi; from django.urls import get_resolver; "
        "loaded = set(sys.modules); get_resolver().url_patterns; "
        "print(set(sys.modules) - loaded, "
        "loaded & {'torch', 'pandas', 'scipy', 'plotly'})"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"DATA_DIR": str(tmp_path)},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "set() set()"
