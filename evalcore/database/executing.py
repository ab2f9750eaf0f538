"""Statements that were built once, given to the database without detours."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from django.db import connection
from django.db.backends.sqlite3.base import FORMAT_QMARK_REGEX


def execute(sql: str, params: Sequence[Any]) -> tuple[list[Any], int]:
    """Execute a statement with `%s` in the place of its values.

    Django's cursor translates a statement for SQLite each time, which takes as long as
    SQLite needs to answer; only where queries are logged or counted it is still used.

    Returns
    -------
    list and int
        The rows that it yields, and how many it changed.
    """
    direct = connection.vendor == "sqlite" and not (
        connection.queries_logged or connection.execute_wrappers
    )
    if not direct:
        with connection.cursor() as cursor:
            cursor.execute(sql, params)
            return cursor.fetchall() if cursor.description else [], cursor.rowcount
    connection.ensure_connection()
    connection.validate_no_broken_transaction()
    with connection.wrap_database_errors:
        done = connection.connection.execute(_for_sqlite(sql), params)
        return done.fetchall(), done.rowcount


@lru_cache(maxsize=1000)
def _for_sqlite(sql: str) -> str:
    marked: str = FORMAT_QMARK_REGEX.sub("?", sql)
    return marked.replace("%%", "%")
