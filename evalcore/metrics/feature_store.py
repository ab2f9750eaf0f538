"""Features on disk: one file for each encoder, however many pictures it has seen.

A file is an SQLite database, which several processes may use. Where a process is killed
within a write, the features of that write are absent and all others complete.
"""

import hashlib
import math
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path

import numpy as np

from evalcore.metrics.base import FatalError, Feature

TABLES = (
    "encoder (id TEXT PRIMARY KEY)",
    "feature (key BLOB PRIMARY KEY, kind TEXT NOT NULL, shape TEXT NOT NULL, "
    "data BLOB NOT NULL)",
)
# Larger than the default, so that most features lie on one page.
PAGE_BYTES = 16384
WAIT_SECONDS = 60.0
LOOKED_UP_TOGETHER = 500


class FeatureStore:
    """Features on disk, by encoder and item."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def get_many(self, encoder: str, keys: Iterable[str]) -> dict[str, Feature]:
        if not self.path(encoder).is_file():
            return {}
        names = {_digest(key): key for key in keys}
        waiting = iter(names)
        found: dict[str, Feature] = {}
        with self._opened(encoder) as database:
            while some := list(islice(waiting, LOOKED_UP_TOGETHER)):
                rows = database.execute(
                    "SELECT key, kind, shape, data FROM feature WHERE key IN "
                    f"({','.join('?' * len(some))})",
                    some,
                )
                found |= {names[key]: _unpacked(*stored) for key, *stored in rows}
        return found

    def put_many(self, encoder: str, features: Mapping[str, Feature]) -> None:
        """Store features, all or none of them; later ones replace earlier ones."""
        rows = [(_digest(key), *_packed(one)) for key, one in features.items()]
        if not rows:
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        with self._opened(encoder) as database, database:
            database.executemany(
                "INSERT OR REPLACE INTO feature VALUES (?, ?, ?, ?)", rows
            )

    def path(self, encoder: str) -> Path:
        """Return the file with an encoder's features."""
        name = hashlib.sha256(encoder.encode()).hexdigest()[:16]
        return self.folder / f"{name}.sqlite3"

    @contextmanager
    def _opened(self, encoder: str) -> Iterator[sqlite3.Connection]:
        path = self.path(encoder)
        try:
            with closing(
                sqlite3.connect(path, timeout=WAIT_SECONDS, isolation_level="IMMEDIATE")
            ) as database:
                database.execute("PRAGMA synchronous = NORMAL")
                if not path.is_file() or path.stat().st_size == 0:
                    _create(database, encoder)
                yield database
        except sqlite3.Error as error:
            raise FatalError(
                f"{path}: {error}; expected a file with features: delete it, and they "
                "are computed again"
            ) from error


def _create(database: sqlite3.Connection, encoder: str) -> None:
    database.execute(f"PRAGMA page_size = {PAGE_BYTES}")
    with database:
        database.execute("BEGIN IMMEDIATE")
        for table in TABLES:
            database.execute(f"CREATE TABLE IF NOT EXISTS {table}")
        database.execute("INSERT OR IGNORE INTO encoder VALUES (?)", (encoder,))


def _digest(key: str) -> bytes:
    return hashlib.sha256(key.encode()).digest()


def _packed(feature: Feature) -> tuple[str, str, bytes]:
    if feature.dtype.hasobject:
        raise TypeError(f"features are numbers or texts, not {feature.dtype}")
    return feature.dtype.str, ",".join(map(str, feature.shape)), feature.tobytes()


def _unpacked(kind: str, shape: str, data: bytes) -> Feature:
    sizes = tuple(int(size) for size in shape.split(",") if size)
    if math.prod(sizes) == 0:
        return np.empty(sizes, kind)
    return np.frombuffer(data, kind).reshape(sizes)
