"""Make a backup: first the database, then the files that it refers to.

Files that the previous backup has, too, are hard links to it. Media in an object store
stay there; the backup has their names and hashes.
"""

import fcntl
import hashlib
import json
import os
import re
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import connection

from analysis.options import VERSION
from evalcore import media_store
from evalcore.backup.databases import FILES, BackupError, dumped
from evalcore.media import file_digest, place_of_original
from evalcore.models import MediaFile

FORMAT = 2
# The second one is a line as `sha256sum` writes and checks it.
NAME, SUM_NAME = "manifest.json", "manifest.sha256"
KEY = "secret_key"
TIME = "%Y-%m-%dT%H%M%SZ"
UNFINISHED = ".unfinished"
# File names that stay inside a server's folders.
SAFE = re.compile(rf"(?:media|reports)(?:/(?!\.\.?(?:/|$))[^/]+)+|{KEY}|database\.\w+")
# Synced before the next one is read: saving an answer meanwhile waits for
# one piece, not for a whole video.
PIECE = 8 << 20
Manifest = dict[str, Any]


def make(folder: Path) -> tuple[Path, Manifest]:
    """Make a backup in a folder of backups; it is renamed when complete on the disk."""
    with private_files(), _own_folder(folder):
        made_at = unused_time(folder)
        draft = folder / f"{made_at.strftime(TIME)}{UNFINISHED}"
        draft.mkdir()
        try:
            manifest = _fill(draft, made_at)
            text = json.dumps(manifest, indent=1, ensure_ascii=False)
            (draft / NAME).write_text(text, encoding="utf-8")
            sha256 = file_digest(draft / NAME)
            (draft / SUM_NAME).write_text(f"{sha256}  {NAME}\n", encoding="ascii")
            os.sync()
            return draft.rename(draft.with_suffix("")), manifest
        finally:
            shutil.rmtree(draft, ignore_errors=True)
            os.sync()


@contextmanager
def private_files() -> Iterator[None]:
    """Make new files private to this user: they contain everybody's links."""
    before = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(before)


@contextmanager
def _own_folder(folder: Path) -> Iterator[None]:
    """Lock the folder against other backups; remove remains of a killed one."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise BackupError(
                f"Another backup is already running in {folder}."
            ) from error
        for half in folder.glob(f"*{UNFINISHED}"):
            shutil.rmtree(half)
        yield


def unused_time(folder: Path, before: str = "") -> datetime:
    """Return the time, once no name in a folder is `before` plus this second."""
    while (folder / f"{before}{(now := datetime.now(UTC)).strftime(TIME)}").exists():
        time.sleep(0.05)
    return now


def _fill(draft: Path, made_at: datetime) -> Manifest:
    """Write everything except the manifest, and return it."""
    path = draft / FILES[connection.vendor]
    tables = sorted(connection.introspection.table_names())
    if MediaFile._meta.db_table not in tables:
        raise BackupError(
            "There is nothing to back up: the database has no tables yet."
        )
    with dumped(path) as ask:
        # In SQL, not by models: the next version is often about to migrate.
        rows = {one: ask(f'SELECT count(*) FROM "{one}"')[0][0] for one in tables}
        migrations = ask("SELECT app, name FROM django_migrations ORDER BY app, name")
        originals = ask(
            "SELECT sha256, extension, bytes FROM evalcore_mediafile ORDER BY 1"
        )
    files = {path.name: file_digest(path)}
    missing: list[str] = []
    new: list[int] = []
    earlier = _earlier(draft.parent)
    in_store: dict[str, str] = {}
    sizes = media_store.sizes() if settings.MEDIA_STORE else {}
    for sha256, extension, size in originals:
        source = place_of_original(sha256, extension)
        place = source.relative_to(settings.MEDIA_ROOT).as_posix()
        name = f"media/{place}"
        if settings.MEDIA_STORE and sizes.get(place) == size:
            in_store[place] = sha256
        elif not settings.MEDIA_STORE and _keep(
            source, draft / name, sha256, earlier.get(sha256), new
        ):
            files[name] = sha256
        else:
            missing.append(name)
    for name, source in _other_files():
        with suppress(FileNotFoundError):  # a report that is being built
            sha256 = file_digest(source)
            if _keep(source, draft / name, sha256, earlier.get(sha256), new):
                files[name] = sha256
    return {
        "format": FORMAT,
        "version": VERSION,
        "made_at": made_at.isoformat(timespec="milliseconds"),
        "engine": connection.vendor,
        "migrations": migrations,
        "rows": rows,
        "files": files,
        "store": settings.MEDIA_STORE,
        "in_store": in_store,
        "missing": missing,
        "new_files": len(new),
        "new_bytes": sum(new),
    }


def _other_files() -> Iterator[tuple[str, Path]]:
    """Yield the reports, and the signing key if it comes from its file."""
    root, key = Path(settings.REPORTS_ROOT), Path(settings.DATA_DIR) / KEY
    for path in sorted(root.rglob("*")):
        if path.is_file():
            yield f"reports/{path.relative_to(root)}", path
    if key.is_file() and key.read_text("ascii").strip() == settings.SECRET_KEY:
        yield KEY, key


def _earlier(folder: Path) -> dict[str, Path]:
    """Return the files of the backup that was made last, by their SHA-256."""
    for backup in sorted(backups(folder), key=os.path.getmtime)[-1:]:
        with suppress(BackupError):
            files = read(backup)["files"]
            return {sha256: backup / name for name, sha256 in files.items()}
    return {}


def _keep(
    source: Path, target: Path, sha256: str, earlier: Path | None, new: list[int]
) -> bool:
    """Link or copy a file, and note the size of a copy; return whether it is whole.

    Files of the previous backup were checked then, and are not read again
    where its size is that of the source.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    with suppress(OSError):  # it is not there; a disk without links
        if earlier and (
            earlier.stat().st_size == source.stat().st_size
            if source.exists()
            else file_digest(earlier) == sha256
        ):
            target.hardlink_to(earlier)
            return True
    with suppress(FileNotFoundError):
        copy(source, target)
        if file_digest(target) == sha256:
            new.append(target.stat().st_size)
            return True
        target.unlink()
    return False


def copy(source: Path, target: Path) -> None:
    """Copy a file to the disk, completely or not at all."""
    draft = target.with_name(target.name + UNFINISHED)
    try:
        with source.open("rb") as reader, draft.open("wb") as writer:
            while piece := reader.read(PIECE):
                writer.write(piece)
                writer.flush()
                os.fsync(writer.fileno())
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)


def backups(folder: Path) -> list[Path]:
    """Return the complete backups of a folder, the oldest first."""
    found = (path.parent for path in folder.glob(f"*/{NAME}"))
    return sorted(path for path in found if path.suffix != UNFINISHED)


def read(folder: Path) -> Manifest:
    """Return the manifest of a backup; raise BackupError if it is not usable."""
    path = folder / NAME
    try:
        data, line = (
            path.read_bytes(),
            (folder / SUM_NAME).read_text("ascii", "replace"),
        )
    except OSError as error:
        raise BackupError(
            f"{error.filename}: expected the manifest of a backup ({error.strerror})."
        ) from error
    if line.split() != [hashlib.sha256(data).hexdigest(), NAME]:
        raise BackupError(
            f"{path} was changed or is incomplete: it does not match its "
            f"checksum in {SUM_NAME}."
        )
    manifest: Manifest = json.loads(data)
    if manifest["format"] != FORMAT:
        raise BackupError(
            f"{path} has format {manifest['format']}, but this version reads format "
            f"{FORMAT}. Restore with the version that made the backup."
        )
    for name in manifest["files"]:
        if not SAFE.fullmatch(name):
            raise BackupError(
                f"{path} lists the file {name}, which does not belong in a backup."
            )
    return manifest


def rotate(folder: Path, keep: int, made: Path) -> int:
    """Remove all but the newest backups; return how many were removed.

    The one that was just `made` stays, whatever dates the others have.
    """
    with _own_folder(folder):
        found = sorted(backups(folder), key=lambda path: path == made)
        old = found[: max(0, len(found) - keep)]
        for path in old:
            shutil.rmtree(path.rename(path.with_name(path.name + UNFINISHED)))
    return len(old)
