"""Media in an object store, with a bounded folder of copies on this machine.

Where `MEDIA_ROOT` is an address, a file below the folder of copies has the same name in
the store. What is read is fetched first; what is written is sent before it counts as
stored. Without an address everything lies in the folder alone.
"""

import hashlib
import logging
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock
from typing import Any

from django.conf import settings

from evalcore.object_store import NotStoredError, StoreError, in_words, open_store

logger = logging.getLogger(__name__)

# Pages wait for the store: it is given up soon, and then not asked for some seconds, so
# that answers find a free thread.
HASTY = {"retries": {"max_attempts": 1}, "connect_timeout": 3, "read_timeout": 10}
AWAY_SECONDS = 5.0
# The use of a copy is noted as the time of its file, so often; a copy that was used
# lately may be open.
USE_SECONDS = 600
PIECE = 1 << 20
CHECK = "written-to-check"

_lock = Lock()
_away: dict[str, tuple[float, str]] = {}
_new_bytes = 0


@contextmanager
def temporary_file(folder: Path, extension: str) -> Iterator[Path]:
    """Yield an empty file, which is removed afterwards unless it was moved.

    Moved to its place when it is complete, no reader ever sees half of it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=folder, suffix=f".{extension}")
    os.close(handle)
    os.chmod(name, 0o644)
    try:
        yield Path(name)
    finally:
        Path(name).unlink(missing_ok=True)


def place(draft: Path, path: Path) -> None:
    """Move a complete file to its place below MEDIA_ROOT, and to the store before."""
    path.parent.mkdir(parents=True, exist_ok=True)
    size = draft.stat().st_size
    if settings.MEDIA_STORE:
        with _asked() as (store, root):
            store.put_file(str(draft), f"{root}/{_name(path)}")
    os.replace(draft, path)
    _count(size)


def is_here(path: Path) -> bool:
    """Say whether a file is stored; fetch it from the store if need be."""
    with suppress(FileNotFoundError):
        if time.time() - path.stat().st_mtime > USE_SECONDS:
            os.utime(path)
        return True
    if not settings.MEDIA_STORE:
        return False
    with temporary_file(path.parent, "part") as draft:
        try:
            with _asked() as (store, root):
                store.get_file(f"{root}/{_name(path)}", str(draft))
        except NotStoredError:
            return False
        size = draft.stat().st_size
        os.replace(draft, path)
    _count(size)
    return True


def sizes() -> dict[str, int]:
    """Return the size of each original in the store, by its name."""
    with _asked() as (store, root):
        found = store.find(f"{root}/original", detail=True)
    names = {path: path.removeprefix(f"{root}/") for path in found}
    return {names[path]: int(about["size"]) for path, about in found.items()}


def sha256_of(address: str, name: str) -> str:
    """Return the SHA-256 of a stored file, read in pieces."""
    digest = hashlib.sha256()
    store, root = open_store(address)
    with in_words(f"{address}/{name}"), store.open(f"{root}/{name}", "rb") as file:
        while piece := file.read(PIECE):
            digest.update(piece)
    return digest.hexdigest()


def why_not_writable() -> str:
    """Write a small file to the store; return why that fails, or nothing."""
    try:
        with _asked() as (store, root):
            store.pipe_file(f"{root}/{CHECK}", b"x")
    except StoreError as error:
        return str(error)
    return ""


@contextmanager
def _asked() -> Iterator[tuple[Any, str]]:
    """Yield the store's client and path; errors are sentences, and remembered."""
    address = settings.MEDIA_STORE
    until, why = _away.get(address, (0.0, ""))
    if time.monotonic() < until:
        raise StoreError(why)
    is_s3 = address.startswith("s3")
    options: dict[str, Any] = {"config_kwargs": HASTY} if is_s3 else {}
    try:
        store, root = open_store(address, **options)
        if is_s3:
            store.retries = 1
        with in_words(address):
            yield store, root
    except NotStoredError:
        raise
    except StoreError as error:
        logger.warning("MEDIA_ROOT: %s", error)
        _away[address] = time.monotonic() + AWAY_SECONDS, str(error)
        raise


def _name(path: Path) -> str:
    return path.relative_to(settings.MEDIA_ROOT).as_posix()


def _count(size: int) -> None:
    """Remove copies once a hundredth of their limit is new."""
    global _new_bytes
    most = settings.MEDIA_CACHE_MB * 10**6
    with _lock:
        _new_bytes += size
        if not settings.MEDIA_STORE or _new_bytes < most / 100:
            return
        _new_bytes = 0
    remove_unused_copies(most)


def remove_unused_copies(most: int) -> None:
    """Remove the copies that were unused for longest, until `most` bytes are left."""
    copies = []
    for parent, _folders, names in os.walk(settings.MEDIA_ROOT):
        for path in (Path(parent, name) for name in names):
            with suppress(FileNotFoundError):
                about = path.stat()
                copies.append((about.st_mtime, about.st_size, path))
    total, lately = sum(size for _at, size, _path in copies), time.time() - USE_SECONDS
    for used_at, size, path in sorted(copies):
        if total <= most or used_at > lately:
            return
        path.unlink(missing_ok=True)
        total -= size
