"""The migrated SQLite file of an earlier run, to begin with instead of migrating."""

import hashlib
import os
import sqlite3
from contextlib import closing
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("annotate", "analysis", "evalcore")


def key() -> str:
    """Return what changes when a migration does, or a package that brings some."""
    found = hashlib.sha256((ROOT / "requirements.txt").read_bytes())
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("migrations/*.py")):
            found.update(path.name.encode() + b"\0" + path.read_bytes())
    return found.hexdigest()[:16]


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
