"""Making a backup: first the database, then the files that it refers to."""

import fcntl
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from django.conf import settings

from analysis.version import VERSION
from evalcore import media
from evalcore.backup import files, snapshot
from evalcore.backup.engines import engine
from evalcore.backup.files import ChangedError, FileStore
from evalcore.backup.manifest import (
    KEY,
    NAME,
    STORE,
    BackupError,
    Manifest,
    StoredFile,
    read,
)
from evalcore.models import MediaFile

LOCK = "lock"
TIME = "%Y-%m-%dT%H%M%SZ"


@dataclass(frozen=True)
class Made:
    """A complete backup, and what the files shared by all took beside it."""

    folder: Path
    manifest: Manifest
    new_files: int
    new_bytes: int


def make(folder: Path) -> Made:
    """Make a backup in a folder of backups.

    It has its name when it is complete and on the disk. Whatever stops it leaves the
    backups that there are as they were.

    Raises
    ------
    BackupError
        The database or the folder does not allow it.
    """
    try:
        with files.owners_alone(), _own_folder(folder):
            store = FileStore(folder / STORE)
            try:
                return _make(folder, store)
            except BaseException:
                store.forget_added()
                raise
    except OSError as error:
        raise BackupError(
            f"{error.filename or folder}: the backup could not be made "
            f"({error.strerror}). Nothing of it was left."
        ) from error


@contextmanager
def _own_folder(folder: Path) -> Iterator[None]:
    """Keep other backups out of the folder, and remove what a killed one left."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    (folder / STORE).mkdir(mode=0o700, exist_ok=True)
    with (folder / LOCK).open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise BackupError(f"Another backup is being made in {folder}.") from error
        for half in folder.glob(f"*{files.UNFINISHED}"):
            shutil.rmtree(half)
        for half in folder.glob(f"{STORE}/*/*{files.UNFINISHED}"):
            half.unlink()
        yield


def _make(folder: Path, store: FileStore) -> Made:
    made_at = unused_time(folder)
    name = made_at.strftime(TIME)
    draft = folder / f"{name}{files.UNFINISHED}"
    draft.mkdir()
    try:
        manifest = _fill(draft, store, made_at)
        store.sync()
        files.sync(draft)
        draft.rename(folder / name)
        files.sync(folder)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return Made(folder / name, manifest, len(store.added), store.added_bytes)


def unused_time(folder: Path, before: str = "") -> datetime:
    """Return the time, to the second, that no name in a folder has `before` it yet."""
    while (folder / f"{before}{(now := datetime.now(UTC)).strftime(TIME)}").exists():
        time.sleep(0.05)
    return now


def _fill(draft: Path, store: FileStore, made_at: datetime) -> Manifest:
    database = engine()
    path = draft / database.FILE
    with database.dumped(path) as ask:
        tables = database.tables(ask)
        if "evalcore_mediafile" not in tables:
            raise BackupError(
                "There is nothing to back up: the database has no tables yet."
            )
        rows = snapshot.counts(ask, tables)
        migrations, originals = snapshot.migrations(ask), snapshot.originals(ask)
    stored, missing = _keep_originals(store, originals)
    manifest = Manifest(
        version=VERSION,
        made_at=made_at.isoformat(timespec="milliseconds"),
        engine=database.NAME,
        database=StoredFile(path.name, media.file_digest(path), path.stat().st_size),
        migrations=migrations,
        rows=rows,
        files=[*stored, *_keep_others(store)],
        missing=missing,
    )
    manifest.write(draft)
    return manifest


def _keep_originals(
    store: FileStore, originals: list[tuple[str, str, int]]
) -> tuple[list[StoredFile], list[str]]:
    """Keep the originals of the database; return them, and those that are nowhere."""
    stored, missing = [], []
    for sha256, extension, size in originals:
        path = media.original_path(MediaFile(sha256=sha256, extension=extension))
        name = f"media/{path.relative_to(settings.MEDIA_ROOT)}"
        try:
            store.add(path, sha256, size)
        except (FileNotFoundError, ChangedError):
            missing.append(name)
        else:
            stored.append(StoredFile(name, sha256, size))
    return stored, missing


def _keep_others(store: FileStore) -> Iterator[StoredFile]:
    """Keep the reports, and the signing key where it is a file.

    A report that is being built while it is read is built again after a restore.
    """
    root = Path(settings.REPORTS_ROOT)
    found = {
        f"reports/{path.relative_to(root)}": path
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }
    key = Path(settings.DATA_DIR) / KEY
    if key.is_file() and key.read_text("ascii").strip() == settings.SECRET_KEY:
        found[KEY] = key
    for name, path in found.items():
        with suppress(FileNotFoundError, ChangedError):
            sha256, size = media.file_digest(path), path.stat().st_size
            store.add(path, sha256, size)
            yield StoredFile(name, sha256, size)


def backups(folder: Path) -> list[Path]:
    """Return the complete backups of a folder, the oldest first."""
    return sorted(
        path.parent
        for path in folder.glob(f"*/{NAME}")
        if not path.parent.name.endswith(files.UNFINISHED)
    )


def rotate(folder: Path, keep: int, made: Path) -> int:
    """Remove all but the newest backups; return how many were removed.

    The one that was just `made` stays, whatever dates the others have. Files go that no
    backup is left to need. Whether one needs them is not known of a backup whose
    manifest cannot be read, and then nothing is removed.
    """
    with _own_folder(folder):
        found = sorted(backups(folder), key=lambda path: path == made)
        if made not in found:
            raise BackupError(f"{made} is gone: another backup took it for an old one.")
        manifests = {path: read(path) for path in found}
        old = found[: max(0, len(found) - keep)]
        for path in old:
            draft = path.with_name(path.name + files.UNFINISHED)
            path.rename(draft)
            shutil.rmtree(draft)
            del manifests[path]
        needed = (one.hashes() for one in manifests.values())
        FileStore(folder / STORE).keep_only(set().union(*needed))
        return len(old)
