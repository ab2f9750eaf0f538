"""Statements that were built once, given to the database without detours.

Django's cursor translates a statement for SQLite each time, which takes as long as
SQLite needs to answer, and wraps PostgreSQL's once more. Where queries are logged or
counted it is still used.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from django.db import DEFAULT_DB_ALIAS, connections
from django.db.backends.sqlite3.base import FORMAT_QMARK_REGEX


def rows_of(sql: str, params: Sequence[Any]) -> list[Any]:
    """Return the rows of a query with `%s` in the place of its values."""
    with _executed(sql, params) as done:
        found: list[Any] = done.fetchall()
    return found


def change(sql: str, params: Sequence[Any]) -> int:
    """Execute a statement that yields no rows; return how many it changed."""
    with _executed(sql, params) as done:
        number: int = done.rowcount
    return number


@contextmanager
def _executed(sql: str, params: Sequence[Any]) -> Iterator[Any]:
    """Yield a cursor that has executed the statement."""
    connection = connections[DEFAULT_DB_ALIAS]
    if connection.queries_logged or connection.execute_wrappers:
        with connection.cursor() as cursor:
            cursor.execute(sql, params)
            yield cursor
        return
    connection.close_if_health_check_failed()
    connection.ensure_connection()
    connection.validate_no_broken_transaction()
    with connection.wrap_database_errors:
        if connection.vendor == "sqlite":
            yield connection.connection.execute(_for_sqlite(sql), params)
        else:
            with connection.create_cursor() as cursor:
                cursor.execute(sql, params)
                yield cursor


@lru_cache(maxsize=1000)
def _for_sqlite(sql: str) -> str:
    marked: str = FORMAT_QMARK_REGEX.sub("?", sql)
    return marked.replace("%%", "%")
