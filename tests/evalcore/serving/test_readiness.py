"""/readyz with what is really broken: database, migrations, pictures, broker."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.cache import cache
from django.db.migrations.recorder import MigrationRecorder
from django.utils import timezone

from evalcore.models import Worker
from tests.serving import free_port

ROOT = Path(__file__).resolve().parents[3]

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def all_well(settings):
    """A server that lacks nothing."""
    cache.clear()
    settings.MEDIA_ROOT.mkdir()
    for kind in Worker.Kind.values:
        Worker.objects.create(kind=kind, seen_at=timezone.now())


def ask(client) -> tuple[int, str, dict]:
    answer = client.get("/readyz")
    told = answer.json()
    return answer.status_code, told["status"], told["reasons"]


def test_server_is_ready(client):
    assert ask(client) == (200, "ready", {})
    assert client.post("/readyz").status_code == 405


def test_server_is_not_ready_without_migrations(client):
    MigrationRecorder.Migration.objects.filter(app="annotate").last().delete()
    status, word, reasons = ask(client)
    assert (status, word, [*reasons]) == (503, "not ready", ["database"])
    assert reasons["database"] == "1 migrations are not applied. Run plumbline migrate."


def test_server_is_ready_with_a_newer_database(client):
    MigrationRecorder.Migration.objects.create(app="annotate", name="9999_later")
    assert ask(client)[0] == 200


def test_server_is_not_ready_without_writable_media(client, settings):
    settings.MEDIA_ROOT.rmdir()
    status, _word, reasons = ask(client)
    assert status == 503
    assert reasons == {"media": "MEDIA_ROOT is not writable."}
    assert str(settings.MEDIA_ROOT) not in str(reasons)


def test_server_is_ready_without_broker(client, settings):
    settings.CELERY_BROKER_URL = f"redis://:secret@127.0.0.1:{free_port()}/0"
    status, word, reasons = ask(client)
    assert (status, word) == (200, "degraded")
    assert reasons == {"broker": "The message broker does not respond, so jobs wait."}


def test_server_is_ready_without_workers(client):
    Worker.objects.exclude(kind="gpu").update(seen_at=None)
    assert ask(client) == (
        200,
        "degraded",
        {"workers": "No heartbeat from workers: cpu, beat."},
    )


AWAY = """
import os, django
django.setup()
from django.test import Client
print(Client().get("/readyz").content.decode())
"""


@pytest.mark.slow
@pytest.mark.sqlite
def test_server_is_not_ready_without_database(tmp_path):
    (tmp_path / "db").mkdir()
    code = AWAY.replace(
        "django.setup()", "django.setup(); os.rmdir(os.environ['AWAY'])"
    )
    env = {
        "AWAY": str(tmp_path / "db"),
        "DATA_DIR": str(tmp_path / "data"),
        "DATABASE_URL": f"sqlite:///{tmp_path}/db/gone.sqlite3",
        "DJANGO_SETTINGS_MODULE": "evalcore.settings",
    }
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env=os.environ | env,
        check=True,
    )
    assert '"status": "not ready"' in done.stdout
    assert "The database cannot be reached." in done.stdout
    assert str(tmp_path) not in done.stdout


def test_probes_are_answered_for_any_machine(client, settings):
    settings.SECURE_SSL_REDIRECT = True
    for address in ("/readyz", "/healthz"):
        got = client.get(address, REMOTE_ADDR="192.0.2.1", headers={"host": "10.0.0.7"})
        assert got.status_code == 200
