"""The database of a backup: SQLite's online copy, or PostgreSQL's dump."""

import fcntl
import os
import re
import shutil
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from django.db import DatabaseError, connection, transaction
from psycopg.conninfo import make_conninfo

from evalcore.database.base import BESIDE

FILES = {"sqlite": "database.sqlite3", "postgresql": "database.dump"}
# Where SQLite locks its files (its `PENDING_BYTE` and what follows): with a log of
# writes (WAL) every open connection holds a shared lock on these bytes.
FIRST_BYTE, BYTES = 0x40000002, 510
ACTIVITY = (
    "SELECT pid FROM pg_stat_activity WHERE datname = current_database()"
    " AND backend_type = 'client backend' AND pid <> pg_backend_pid()"
)


class BackupError(ValueError):
    """A backup cannot be made or restored; the message says why."""


def rows_of(query: str) -> list[Any]:
    """Return the rows of a query to the database in use."""
    with connection.cursor() as cursor:
        cursor.execute(query)
        return list(cursor.fetchall())


@contextmanager
def dumped(path: Path) -> Iterator[Callable[[str], list[Any]]]:
    """Copy the database into a file; yield a function that queries the copied state."""
    if connection.vendor == "postgresql":
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            ((snapshot,),) = rows_of("SELECT pg_export_snapshot()")
            options = "--format=custom", "--exclude-schema=before_restore_*"
            _run("pg_dump", *options, f"--snapshot={snapshot}", f"--file={path}")
            yield rows_of
        return
    live = connection.settings_dict["NAME"]
    try:
        with closing(sqlite3.connect(path)) as copy:
            with closing(sqlite3.connect(live)) as source:
                source.backup(copy)  # in one step: writers continue meanwhile
            copy.execute("PRAGMA journal_mode=DELETE")
            ((found,),) = copy.execute("PRAGMA quick_check(1)")
            if found != "ok":
                raise sqlite3.DatabaseError(found)
            yield lambda query: copy.execute(query).fetchall()
    except sqlite3.Error as error:
        raise BackupError(
            f"{live} is damaged or could not be copied to {path} ({error}). Keep your "
            "existing backups. Restore one of them, or repair the file with sqlite3's "
            ".recover."
        ) from error


def is_empty() -> bool:
    """Say whether the database has no tables; a damaged one may be repaired."""
    try:
        return not connection.introspection.table_names()
    except DatabaseError:
        return False


def check_unused() -> None:
    """Refuse while another process has the database open."""
    named = connection.settings_dict["NAME"]
    if connection.vendor == "postgresql":
        is_used = bool(rows_of(ACTIVITY))
    else:
        connection.close()
        is_used = Path(named).exists() and _is_open(Path(named))
    if is_used:
        raise BackupError(
            f"Another process is using the database {named}. Stop the server and its "
            "workers first."
        )


def _is_open(file: Path) -> bool:
    with file.open("rb+") as opened:
        try:
            fcntl.lockf(opened, fcntl.LOCK_EX | fcntl.LOCK_NB, BYTES, FIRST_BYTE)
        except OSError:
            return True
    return False


def load(path: Path, aside: Path | None) -> str:
    """Replace the database by a copy or dump; return where the old one is now."""
    if connection.vendor == "postgresql":
        return _load_dump(path, aside)
    connection.close()
    live, kept = Path(connection.settings_dict["NAME"]), ""
    draft = live.with_name(f"{live.name}.unfinished")
    try:
        shutil.copyfile(path, draft)
        # Leftovers would be taken for those of the new database.
        for old in (live.with_name(live.name + end) for end in reversed(BESIDE)):
            if old.exists() and aside is not None:
                kept = str(shutil.move(old, aside / old.name))
            old.unlink(missing_ok=True)
        draft.rename(live)
    finally:
        draft.unlink(missing_ok=True)
    os.sync()
    return kept


def _load_dump(path: Path, aside: Path | None) -> str:
    """Restore a dump in one transaction; old tables move to another schema."""
    options = "--exit-on-error", "--single-transaction", str(path)
    if aside is None or is_empty():
        _run("pg_restore", *options)
        return ""
    kept = re.sub(r"\W", "_", aside.name.lower())
    ((schema,),) = rows_of("SELECT quote_ident(current_schema())")
    _execute(f"ALTER SCHEMA {schema} RENAME TO {kept}", f"CREATE SCHEMA {schema}")
    try:
        _run("pg_restore", *options)
    except BackupError:
        _execute(f"DROP SCHEMA {schema}", f"ALTER SCHEMA {kept} RENAME TO {schema}")
        raise
    return f"schema {kept} of the same database"


def _execute(*statements: str) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


def _run(program: str, *options: str) -> None:
    """Run a PostgreSQL program on the database in use; the password stays hidden."""
    connection.ensure_connection()
    info = connection.connection.info
    # Only given parameters: psycopg's library may know more than the program's.
    known = info.get_parameters()
    where = {k: known[k] for k in connection.get_connection_params() if k in known}
    owners = "--no-owner", "--no-privileges"
    command = [program, f"--dbname={make_conninfo('', **where)}", *owners, *options]
    env = os.environ | ({"PGPASSWORD": info.password} if info.password else {})
    try:
        subprocess.run(command, env=env, check=True, capture_output=True, text=True)
    except (FileNotFoundError, subprocess.CalledProcessError) as error:
        why = str(getattr(error, "stderr", "")) or str(error)
        raise BackupError(
            f"{program} failed: {' '.join(why.split())} (for the matching version, run "
            f"apt-get install postgresql-client-{info.server_version // 10_000})"
        ) from error
