"""A database of a PostgreSQL server, by the server's own programs."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.db import connection, transaction
from psycopg import sql
from psycopg.conninfo import make_conninfo

from evalcore.backup.manifest import BackupError
from evalcore.backup.snapshot import Ask

NAME = "PostgreSQL"
FILE = "database.dump"
# What was there before a restore is kept in the database, under such a name.
ASIDE = "before_restore_*"


@contextmanager
def dumped(path: Path) -> Iterator[Ask]:
    """Have pg_dump write the database to a file, and lend what asks that very state."""
    program = _program("pg_dump")
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        cursor.execute("SELECT pg_export_snapshot()")
        (snapshot,) = cursor.fetchone()
        _run(
            program,
            "--format=custom",
            "--no-owner",
            "--no-privileges",
            f"--exclude-schema={ASIDE}",
            f"--snapshot={snapshot}",
            f"--file={path}",
        )

        def ask(query: str) -> list[tuple[Any, ...]]:
            cursor.execute(query)
            found: list[tuple[Any, ...]] = cursor.fetchall()
            return found

        yield ask


def tables(_ask: Ask) -> list[str]:
    """Return the names of the tables."""
    return connection.introspection.table_names()


def check_unused() -> None:
    """Refuse while another process is connected to the database."""
    _program("pg_restore")
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
            " AND backend_type = 'client backend' AND pid <> pg_backend_pid()"
        )
        (others,) = cursor.fetchone()
    if others:
        raise BackupError(
            f"Others are connected to the database {connection.settings_dict['NAME']} "
            f"({others} of them): stop the server first, its workers too."
        )


def is_empty() -> bool:
    """Say whether nothing is there that could be lost."""
    return not connection.introspection.table_names()


def load(path: Path, aside: Path | None) -> str:
    """Restore the file into the database; return where the old tables are now.

    All of it, or nothing: what fails leaves the database as it was.
    """
    if aside is None or is_empty():
        _restore(path)
        return ""
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_schema()")
        (schema,) = cursor.fetchone()
    kept = re.sub(r"\W", "_", aside.name.lower())
    here, there = sql.Identifier(schema), sql.Identifier(kept)
    move = sql.SQL("ALTER SCHEMA {} RENAME TO {}")
    _execute(move.format(here, there), sql.SQL("CREATE SCHEMA {}").format(here))
    try:
        _restore(path)
    except BackupError:
        drop = sql.SQL("DROP SCHEMA {}").format(here)
        _execute(drop, move.format(there, here))
        raise
    return f"schema {kept} of the same database"


def _execute(*statements: sql.Composed) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


def _restore(path: Path) -> None:
    program = _program("pg_restore")
    _run(
        program,
        "--no-owner",
        "--no-privileges",
        "--exit-on-error",
        "--single-transaction",
        str(path),
    )


def _program(name: str) -> str:
    """Return a program of PostgreSQL that knows the server's version.

    Raises
    ------
    BackupError
        There is none, or an older one.
    """
    connection.ensure_connection()
    server = connection.connection.info.server_version // 10_000
    install = (
        f"install PostgreSQL's client programs (Debian, Ubuntu: apt-get install "
        f"postgresql-client-{server}) or put their folder first in PATH"
    )
    program = shutil.which(name)
    if program is None:
        raise BackupError(f"{name} is not in PATH: {install}.")
    told = subprocess.run([program, "--version"], capture_output=True, text=True)
    version = re.search(r"\d+", told.stdout)
    if version is None or int(version[0]) < server:
        raise BackupError(
            f"{program} is too old for the server, which is PostgreSQL {server} "
            f"({told.stdout.strip() or told.stderr.strip()}): {install}."
        )
    return program


def _run(program: str, *options: str) -> None:
    """Run a program on the database in use; the password is seen by nobody."""
    info = connection.connection.info
    # What the connection was told: psycopg's own library may know more than theirs.
    told = connection.get_connection_params().keys() & info.get_parameters().keys()
    where = {name: info.get_parameters()[name] for name in told}
    done = subprocess.run(
        [program, f"--dbname={make_conninfo('', **where)}", *options],
        env=os.environ | ({"PGPASSWORD": info.password} if info.password else {}),
        capture_output=True,
        text=True,
    )
    if done.returncode:
        why = " ".join(done.stderr.split()) or f"it ended with {done.returncode}"
        raise BackupError(f"{Path(program).name} failed: {why}")
