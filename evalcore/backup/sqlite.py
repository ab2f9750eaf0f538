"""An SQLite file: copied while it is written to, and put in the place of another."""

import fcntl
import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import quote

from django.db import connection

from evalcore.backup import files
from evalcore.backup.manifest import BackupError
from evalcore.backup.snapshot import Ask

NAME = "SQLite"
FILE = "database.sqlite3"
# Where SQLite locks its files (its `PENDING_BYTE` and what follows): with a log of
# writes (WAL) every open connection holds a shared lock on these bytes.
FIRST_BYTE, BYTES = 0x40000002, 510
# What SQLite keeps beside a database; of another database they would be taken for its.
BESIDE = ("", "-wal", "-shm", "-journal")


def _live() -> Path:
    return Path(connection.settings_dict["NAME"])


def _open(path: Path, mode: str) -> sqlite3.Connection:
    return sqlite3.connect(f"file:{quote(str(path))}?mode={mode}", uri=True)


@contextmanager
def dumped(path: Path) -> Iterator[Ask]:
    """Copy the database into a file, and lend what asks the copy.

    All pages are read in one go: writers go on, and readers never stop them.
    """
    try:
        with closing(sqlite3.connect(path)) as copy:
            copy.execute("PRAGMA synchronous=OFF")  # it is synced once, at the end
            with closing(_open(_live(), "rw")) as source:
                source.backup(copy)
            copy.execute("PRAGMA journal_mode=DELETE")
            _check(copy, _live())
            yield lambda sql: copy.execute(sql).fetchall()
    except sqlite3.Error as error:
        raise BackupError(
            f"{_live()} could not be copied to {path}: {error}."
        ) from error
    files.sync(path)


def _check(opened: sqlite3.Connection, named: Path) -> None:
    ((found,),) = opened.execute("PRAGMA quick_check(1)")
    if found != "ok":
        raise BackupError(
            f"{named} is damaged ({found}). Keep the backups that there are: restore "
            "one of them, or repair the file with sqlite3's .recover."
        )


def tables(ask: Ask) -> list[str]:
    """Return the names of the tables."""
    named = "SELECT name FROM sqlite_master WHERE type = 'table'"
    return [
        name for (name,) in ask(f"{named} AND name NOT LIKE 'sqlite~_%' ESCAPE '~'")
    ]


def check_unused() -> None:
    """Refuse while another process has the database open."""
    connection.close()
    if not _live().exists():
        return
    with _live().open("rb+") as opened:
        try:
            lock = fcntl.LOCK_EX | fcntl.LOCK_NB
            fcntl.lockf(opened, lock, BYTES, FIRST_BYTE)
        except OSError as error:
            raise BackupError(
                f"Another process has {_live()} open: stop the server first, its "
                "workers too."
            ) from error


def is_empty() -> bool:
    """Say whether nothing is there that could be lost."""
    live, *beside = _all_files()
    if any(path.exists() for path in beside):
        return False  # writes of a server that was killed, and this file lacks them
    if not live.exists():
        return True
    try:
        with closing(_open(live, "ro&immutable=1")) as opened:
            return not tables(lambda sql: opened.execute(sql).fetchall())
    except sqlite3.Error:
        return False  # damaged, which somebody may want to repair


def _all_files() -> list[Path]:
    """Return the database file, and what SQLite keeps beside it."""
    return [_live().with_name(_live().name + end) for end in BESIDE]


def load(path: Path, aside: Path | None) -> str:
    """Put a copy in the database's place; return where the old one is now."""
    draft = _live().with_name(_live().name + files.UNFINISHED)
    kept = []
    try:
        shutil.copyfile(path, draft)
        files.sync(draft)
        for old in _all_files():
            if old.exists() and aside is not None:
                kept.append(shutil.move(old, aside / old.name))
            else:
                old.unlink(missing_ok=True)
        os.replace(draft, _live())
        files.sync(_live().parent)
    finally:
        draft.unlink(missing_ok=True)
    return str(kept[0]) if kept else ""
