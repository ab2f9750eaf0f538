"""Statements that go to the database directly behave as those of Django's cursor."""

import pytest
from django.core.signals import request_started
from django.db import (
    IntegrityError,
    OperationalError,
    ProgrammingError,
    connection,
    connections,
)
from django.db.transaction import TransactionManagementError, atomic
from django.test.utils import CaptureQueriesContext

from evalcore.database.prepared import change, rows_of
from tests.factories import make_benchmark

pytestmark = pytest.mark.postgresql

TITLES = "SELECT slug FROM evalcore_benchmark WHERE slug LIKE %s ORDER BY slug"


@pytest.fixture(autouse=True)
def benchmarks(db):
    for slug in ("a%s", "a%b", "c"):
        make_benchmark(slug=slug, stories=1, shots=1, pictures=False)


def test_values_and_percent_signs(db):
    assert rows_of(TITLES, ["a%"]) == [("a%b",), ("a%s",)]
    sql = "SELECT slug FROM evalcore_benchmark WHERE slug = 'a%%s' AND slug <> %s"
    assert rows_of(sql, ["c"]) == [("a%s",)]


def test_how_many_rows_it_changed(db):
    sql = "UPDATE evalcore_benchmark SET title = %s WHERE slug <> %s"
    assert change(sql, ["?", "c"]) == 2
    assert change(sql.replace("<>", "="), ["?", "d"]) == 0


def test_it_is_logged_and_counted_where_anybody_asks():
    with CaptureQueriesContext(connection) as asked:
        assert rows_of(TITLES, ["c"]) == [("c",)]
        sql = "UPDATE evalcore_benchmark SET title = %s WHERE slug = %s"
        assert change(sql, ["?", "c"]) == 1
    read, written = asked
    assert read["sql"].startswith("SELECT slug FROM evalcore_benchmark")
    assert written["sql"].startswith("UPDATE evalcore_benchmark SET title")


def test_its_errors_are_those_of_django(db):
    with pytest.raises(IntegrityError), atomic():
        change("UPDATE evalcore_benchmark SET slug = %s", ["same"])
    with pytest.raises((OperationalError, ProgrammingError)), atomic():
        rows_of("SELECT slug FROM nowhere WHERE slug = %s", ["c"])


def test_nothing_is_asked_in_a_transaction_that_is_to_be_rolled_back(db):
    with atomic():
        try:
            with atomic(savepoint=False):
                change("UPDATE evalcore_benchmark SET slug = %s", ["same"])
        except IntegrityError:
            with pytest.raises(TransactionManagementError):
                rows_of(TITLES, ["c"])
            connection.set_rollback(True)


def test_a_connection_that_was_closed_is_opened_again(transactional_db):
    make_benchmark(slug="after", stories=1, shots=1, pictures=False)
    connection.close()
    assert rows_of(TITLES, ["after"]) == [("after",)]


@pytest.mark.skipif(connection.vendor != "postgresql", reason="ends a connection")
def test_a_connection_that_died_is_opened_anew_by_the_next_request(transactional_db):
    """PostgreSQL was started again while nobody asked anything."""
    make_benchmark(slug="after", stories=1, shots=1, pictures=False)
    (before,) = rows_of("SELECT pg_backend_pid()", [])[0]
    other = connections.create_connection("default")
    try:
        with other.cursor() as cursor:
            cursor.execute("SELECT pg_terminate_backend(%s, 10000)", [before])
    finally:
        other.close()
    request_started.send(sender=None)
    connection.health_check_enabled = True
    assert rows_of(TITLES, ["after"]) == [("after",)]
    assert rows_of("SELECT pg_backend_pid()", []) != [(before,)]
