"""Files on the disk: copied piece by piece, and kept by their content."""

import hashlib
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

# Written through before the next one is read: who saves an answer meanwhile waits for
# the disk behind a piece, not behind a whole video.
PIECE = 8 << 20
# What a killed run leaves: a file, or a backup, that is not complete.
UNFINISHED = ".unfinished"


class ChangedError(ValueError):
    """A file does not hold, or no longer holds, what it should."""


@contextmanager
def owners_alone() -> Iterator[None]:
    """Let what is written be read by this user alone: it has everybody's links."""
    before = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(before)


def copy(source: Path, target: Path, sha256: str) -> None:
    """Copy a file onto the disk; its place has all of it or nothing.

    Raises
    ------
    ChangedError
        What was read has another SHA-256.
    """
    draft = target.with_name(target.name + UNFINISHED)
    found = hashlib.sha256()
    try:
        with source.open("rb") as reader, draft.open("wb", buffering=0) as writer:
            while piece := reader.read(PIECE):
                found.update(piece)
                _write(writer.fileno(), piece)
        if found.hexdigest() != sha256:
            raise ChangedError(f"{source} does not hold what its SHA-256 says.")
        os.replace(draft, target)
    finally:
        draft.unlink(missing_ok=True)


def _write(number: int, piece: bytes) -> None:
    left = memoryview(piece)
    while left:
        left = left[os.write(number, left) :]
    os.fsync(number)


def write(target: Path, data: bytes) -> None:
    """Write a small new file through to the disk."""
    with target.open("wb", buffering=0) as writer:
        _write(writer.fileno(), data)


def sync(path: Path) -> None:
    """Have the disk hold a file, or the names in a folder."""
    number = os.open(path, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


class FileStore:
    """Files by the SHA-256 of their content, each kept once for all backups.

    Parameters
    ----------
    folder
        Where they lie, below the first two letters of their names.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.added: list[Path] = []
        self.added_bytes = 0

    def path(self, sha256: str) -> Path:
        """Return where a file lies, if it is there."""
        return self._folder / sha256[:2] / sha256

    def add(self, source: Path, sha256: str, size: int) -> None:
        """Keep a file unless it is there, even if its source is gone by now.

        What is there was read and written through when it came, and is not read again.

        Raises
        ------
        ChangedError
            The file does not hold what has that SHA-256.
        """
        target = self.path(sha256)
        if not target.exists() or target.stat().st_size != size:
            target.parent.mkdir(parents=True, exist_ok=True)
            copy(source, target, sha256)
            self.added.append(target)
            self.added_bytes += size

    def sync(self) -> None:
        """Have the disk hold the names of what was added."""
        parents = {path.parent for path in self.added}
        for folder in (*parents, self._folder) if parents else ():
            sync(folder)

    def forget_added(self) -> None:
        """Remove what was added, after which the disk is as full as before."""
        for path in self.added:
            path.unlink(missing_ok=True)

    def keep_only(self, wanted: Iterable[str]) -> None:
        """Remove every other file."""
        kept = set(wanted)
        for path in self._folder.glob("*/*"):
            if path.name not in kept:
                path.unlink()
