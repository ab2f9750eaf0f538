"""The database is brought up to date by one process at a time; nobody is held up."""

import threading

import pytest
from axes.models import AccessLog
from django.core.management import call_command
from django.db import OperationalError, connection, connections

from evalcore.serving import health, schema
from tests.conftest import is_sqlite

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.postgresql]


def elsewhere(work) -> threading.Thread:
    """Run a function on a new connection."""

    def run() -> None:
        try:
            work()
        finally:
            connections.close_all()

    thread = threading.Thread(target=run)
    thread.start()
    return thread


def test_migrations_run_in_one_process_at_a_time(monkeypatch):
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


def test_schema_is_migrated():
    call_command("migrate", "axes", "0008", verbosity=0)
    schema.bring_up_to_date()
    assert not health.missing_migrations()


@pytest.fixture
def in_use():
    """A reader of the table of logins, which a migration needs to lock."""
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


def test_migration_retries_when_a_table_is_in_use(in_use, monkeypatch, caplog):
    monkeypatch.setattr(schema, "LOCK_TIMEOUT", "20ms")
    monkeypatch.setattr(schema.time, "sleep", lambda _seconds: in_use.set())
    schema.bring_up_to_date()
    assert "A migration could not lock a table that is in use" in caplog.text
    assert not health.missing_migrations()


@pytest.mark.usefixtures("in_use")
def test_migration_fails_when_a_table_stays_in_use(monkeypatch):
    monkeypatch.setattr(schema, "LOCK_TIMEOUT", "20ms")
    monkeypatch.setattr(schema.time, "sleep", lambda _seconds: None)
    with pytest.raises(OperationalError, match="lock timeout"):
        schema.bring_up_to_date()
