"""The database is brought up to date by one process at a time; nobody is held up."""

import os
import subprocess
import sys
import threading

import pytest
from axes.models import AccessLog
from django.core.management import call_command
from django.db import OperationalError, connection, connections

from evalcore.serving import health, schema
from tests.conftest import is_sqlite
from tests.serving import ROOT

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.postgresql]


def elsewhere(work) -> threading.Thread:
    """Do something on a connection of its own."""

    def run() -> None:
        try:
            work()
        finally:
            connections.close_all()

    thread = threading.Thread(target=run)
    thread.start()
    return thread


def test_one_waits_until_the_other_has_done_it(monkeypatch):
    begun, may_end, order = threading.Event(), threading.Event(), []

    def migrate(name, **_how):
        assert name == "migrate"
        order.append("begins")
        begun.set()
        assert may_end.wait(60)
        order.append("ends")

    monkeypatch.setattr(schema, "call_command", migrate)
    monkeypatch.setattr(schema, "LOOK_AGAIN_SECONDS", 0.01)
    first = elsewhere(schema.bring_up_to_date)
    assert begun.wait(60)
    second = elsewhere(schema.bring_up_to_date)
    second.join(0.5)
    assert order == ["begins"]
    may_end.set()
    first.join(60)
    second.join(60)
    assert order == ["begins", "ends"] * 2


def test_it_migrates():
    call_command("migrate", "axes", "0008", verbosity=0)
    schema.bring_up_to_date()
    assert not health.missing_migrations()


@pytest.fixture
def in_use():
    """Somebody reads the table of logins, and a migration wants it for itself."""
    if is_sqlite():
        pytest.skip("PostgreSQL alone has locks of tables")
    call_command("migrate", "axes", "0008", verbosity=0)
    reading, done = threading.Event(), threading.Event()

    def read() -> None:
        with connection.cursor() as cursor:
            cursor.execute("BEGIN")
            cursor.execute(f"SELECT * FROM {AccessLog._meta.db_table}")
            reading.set()
            done.wait(60)
            cursor.execute("COMMIT")

    reader = elsewhere(read)
    assert reading.wait(60)
    yield done
    done.set()
    reader.join(60)
    call_command("migrate", verbosity=0)


def test_a_table_in_use_is_waited_for_in_short_tries(in_use, monkeypatch, caplog):
    monkeypatch.setattr(schema, "LOCK_TIMEOUT", "20ms")
    monkeypatch.setattr(schema.time, "sleep", lambda _seconds: in_use.set())
    schema.bring_up_to_date()
    assert "A migration was refused a table in use" in caplog.text
    assert not health.missing_migrations()


@pytest.mark.usefixtures("in_use")
def test_a_table_that_stays_in_use_ends_it(monkeypatch):
    monkeypatch.setattr(schema, "LOCK_TIMEOUT", "20ms")
    monkeypatch.setattr(schema.time, "sleep", lambda _seconds: None)
    with pytest.raises(OperationalError, match="lock timeout"):
        schema.bring_up_to_date()


def test_a_deadlock_with_somebody_at_work_is_tried_again(monkeypatch):
    """PostgreSQL takes either of the two; this once it is the migration."""
    if is_sqlite():
        pytest.skip("PostgreSQL alone has locks of tables")
    statements = iter(["DO $$ BEGIN RAISE deadlock_detected; END $$", "SELECT 1"])

    def migrate(_name, **_how):
        with connection.cursor() as cursor:
            cursor.execute(next(statements))

    monkeypatch.setattr(schema, "call_command", migrate)
    monkeypatch.setattr(schema.time, "sleep", lambda _seconds: None)
    schema.bring_up_to_date()
    assert list(statements) == []


def test_a_process_that_dies_gives_its_turn_back(tmp_path):
    """Its lock is that of its connection, or of its open file."""
    if is_sqlite():
        pytest.skip("a lock of a file is let go of by the operating system")
    code = (
        "import django, os; django.setup()\n"
        "from evalcore.serving import schema\n"
        "schema._wait_for_turn()\n"
        "os._exit(7)\n"
    )
    url = os.environ["DATABASE_URL"].replace(
        "/postgres?", f"/{connection.settings_dict['NAME']}?"
    )
    died = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env=os.environ
        | {
            "DATA_DIR": str(tmp_path),
            "DATABASE_URL": url,
            "DJANGO_SETTINGS_MODULE": "evalcore.settings",
        },
        check=False,
    )
    assert died.returncode == 7
    schema.bring_up_to_date()
