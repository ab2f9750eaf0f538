"""What one state of the database holds, asked in SQL and not by models.

A backup is often made by the version that is about to migrate.
"""

from collections.abc import Callable
from typing import Any

# Asks one state of the database, whatever is written meanwhile.
Ask = Callable[[str], list[tuple[Any, ...]]]


def counts(ask: Ask, tables: list[str]) -> dict[str, int]:
    """Return the number of rows of each table."""
    return {
        table: ask(f'SELECT count(*) FROM "{table}"')[0][0] for table in sorted(tables)
    }


def migrations(ask: Ask) -> list[tuple[str, str]]:
    """Return app and name of each migration that was applied."""
    rows = ask("SELECT app, name FROM django_migrations ORDER BY app, name")
    return [(app, name) for app, name in rows]


def originals(ask: Ask) -> list[tuple[str, str, int]]:
    """Return SHA-256, extension and bytes of each picture and video."""
    rows = ask("SELECT sha256, extension, bytes FROM evalcore_mediafile ORDER BY 1")
    return [(sha256, extension, size) for sha256, extension, size in rows]
