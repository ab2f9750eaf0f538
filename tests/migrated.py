"""Copies of a migrated database, to begin with instead of migrating."""

import hashlib
import os
import sqlite3
from contextlib import closing
from pathlib import Path

import psycopg

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("annotate", "analysis", "evalcore")


def key() -> str:
    """Return what changes when a migration does, or a package that brings some."""
    found = hashlib.sha256((ROOT / "requirements.txt").read_bytes())
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("migrations/*.py")):
            found.update(path.name.encode() + b"\0" + path.read_bytes())
    return found.hexdigest()[:16]


class Copy:
    """A migrated database, and the lock of the process that migrates it."""

    def __init__(self, folder: Path):
        self.name = f"migrated_{key()}"
        self.lock = folder / f"{self.name}.lock"


class File(Copy):
    """An SQLite file of this or an earlier run."""

    def __init__(self, folder: Path):
        super().__init__(folder)
        self.path = folder / f"{self.name}.sqlite3"

    def exists(self) -> bool:
        return self.path.exists()

    def use(self, connection) -> None:
        copy(self.path, Path(connection.settings_dict["TEST"]["NAME"]))

    def store(self, connection) -> None:
        copy(Path(connection.settings_dict["NAME"]), self.path)


class Template(Copy):
    """A database on the PostgreSQL server, from which others are created."""

    def execute(self, statement: str):
        """Execute a statement outside the tests' database; return its first row."""
        with psycopg.connect(os.environ["DATABASE_URL"], autocommit=True) as server:
            cursor = server.execute(statement)
            return cursor.fetchone() if cursor.description else None

    def exists(self) -> bool:
        found = f"SELECT 1 FROM pg_database WHERE datname = '{self.name}'"
        return self.execute(found) is not None

    def use(self, connection) -> None:
        connection.settings_dict["TEST"]["TEMPLATE"] = self.name

    def store(self, connection) -> None:
        connection.close()  # a database in use cannot be copied
        source = connection.settings_dict["NAME"]
        self.execute(f'CREATE DATABASE "{self.name}" TEMPLATE "{source}"')


def copy(source: Path, target: Path) -> None:
    """Copy a database that may be open, to a file that is there whole or not at all."""
    target.parent.mkdir(parents=True, exist_ok=True)
    for old in target.parent.glob(f"{target.name}-*"):
        old.unlink()  # what a killed run left beside it (-wal) would be taken for its
    half = target.with_name(f"half.{os.getpid()}.{target.name}")
    with (
        closing(sqlite3.connect(source)) as opened,
        closing(sqlite3.connect(half)) as to,
    ):
        opened.backup(to)
    half.replace(target)
