"""Settings of PostgreSQL."""

from time import monotonic, sleep

from django.db import connection
from django.db.models import Model


def analyze(*models: type[Model]) -> None:
    """Count the rows of tables that have just grown by many.

    PostgreSQL looks by itself only after a while, and never into an open transaction.
    Until then it takes the tables for small: a report right after an import was joined
    row by row and took many minutes. No other database needs it.
    """
    if connection.vendor != "postgresql":
        return
    tables = ", ".join(
        connection.ops.quote_name(model._meta.db_table) for model in models
    )
    with connection.cursor() as cursor:
        cursor.execute(f"ANALYZE {tables}")


class OpenTransactionsError(RuntimeError):
    """A transaction of somebody else has not ended in time."""


def await_open_transactions(seconds: float = 30.0) -> None:
    """Wait until every transaction of others that is writing now has ended.

    PostgreSQL gives out ids before rows are committed: a row with a smaller id can
    appear after one with a larger. After waiting, every row with an id or a time from
    before the call is visible. SQLite writes one transaction after the other.
    """
    if connection.vendor != "postgresql":
        return
    waiting, deadline = _writing(), monotonic() + seconds
    while waiting:
        if monotonic() > deadline:
            raise OpenTransactionsError(f"{len(waiting)} transactions are still open")
        sleep(0.05)
        waiting &= _writing()


def _writing() -> set[tuple[int, str]]:
    """Return process and number of each transaction of others that writes."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_stat_clear_snapshot()")
        cursor.execute(
            "SELECT pid, backend_xid::text FROM pg_stat_activity"
            " WHERE datname = current_database() AND backend_xid IS NOT NULL"
            " AND pid <> pg_backend_pid()"
        )
        return set(cursor.fetchall())


def one_at_a_time(what: str) -> None:
    """Wait, within a transaction, for others that have called it for the same.

    SQLite's transactions wait for each other anyway.
    """
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(hashtext(%s))", [what])
