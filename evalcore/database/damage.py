"""Detection of damaged databases."""

from django.db import DatabaseError, connection

# SQLite's codes for a file that is damaged or not a database, and PostgreSQL's
# class of them.
CORRUPT, NO_DATABASE = 11, 26
POSTGRES_CLASS = "XX0"
REMEDY = (
    "Stop the server, keep a copy of the files, and restore the newest backup "
    "(docs/how-to/back-up.md)"
)


def message_of(said: object) -> str:
    """Return the database's message on one line."""
    return " ".join(str(said).split())


def is_damage(error: DatabaseError) -> bool:
    """Say whether the database cannot read its own files."""
    code = getattr(error.__cause__, "sqlite_errorcode", 0) & 0xFF
    state = getattr(error.__cause__, "sqlstate", None) or ""
    return code in (CORRUPT, NO_DATABASE) or state.startswith(POSTGRES_CLASS)


def describe(reason: str) -> str:
    """Return a sentence about the damage, with a remedy."""
    name = connection.settings_dict["NAME"]
    more = (
        ", or repair the file with sqlite3's .recover"
        if connection.vendor == "sqlite"
        else ""
    )
    return f"The database {name} is damaged ({reason}). {REMEDY}{more}."


def find_damage() -> str:
    """Have SQLite check its whole file; return the damage, or an empty text.

    PostgreSQL checks each page that it reads.
    """
    if connection.vendor != "sqlite":
        return ""
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA quick_check(1)")
        found = message_of(cursor.fetchone()[0])
    return "" if found == "ok" else found
