"""Putting a backup back: all of it is checked before anything is touched."""

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.db import connection
from django.db.migrations.loader import MigrationLoader

from evalcore.backup import files, making, snapshot
from evalcore.backup.engines import engine
from evalcore.backup.files import FileStore
from evalcore.backup.manifest import (
    KEY,
    NAME,
    STORE,
    BackupError,
    Manifest,
    check_file,
    read,
)
from evalcore.media import file_digest

# The folder of what was there, before its time.
ASIDE = "before-restore-"


@dataclass(frozen=True)
class Restored:
    """What was put back, and where what was there before is now."""

    manifest: Manifest
    aside: list[str]


def check(backup: Path) -> Manifest:
    """Read every byte of a backup; return its manifest.

    Raises
    ------
    BackupError
        Something is missing or was changed, or a later version made it.
    """
    manifest = _manifest(backup)
    check_file(backup / manifest.database.path, manifest.database)
    store = FileStore(backup.parent / STORE)
    for file in manifest.files:
        check_file(store.path(file.sha256), file)
    known = MigrationLoader(None).disk_migrations
    if unknown := [one for one in manifest.migrations if one not in known]:
        names = ", ".join(f"{app}.{name}" for app, name in unknown)
        raise BackupError(
            f"{backup} was made by a later version ({manifest.version}), which changed "
            f"the tables ({names}): restore with that version."
        )
    return manifest


def _manifest(backup: Path) -> Manifest:
    if not (backup / NAME).exists() and (found := making.backups(backup)):
        names = ", ".join(path.name for path in found)
        raise BackupError(f"{backup} is a folder of backups: name one of {names}.")
    return read(backup)


def restore(backup: Path, *, replace: bool) -> Restored:
    """Put a backup back into the database and folders of the settings, and migrate.

    Originals are named by what they hold: those that are there stay. A database and
    reports are put aside where `replace` allows it, and never overwritten.

    Raises
    ------
    BackupError
        The backup is not whole, or what is there must not be touched.
    """
    database = engine()
    manifest = _manifest(backup)
    if manifest.engine != database.NAME:
        raise BackupError(
            f"{backup} is of {manifest.engine}, and DATABASE_URL names "
            f"{database.NAME}: a backup goes back to the kind that it was made of."
        )
    database.check_unused()
    reports = Path(settings.REPORTS_ROOT)
    has_reports = reports.is_dir() and any(reports.iterdir())
    if not replace and not (database.is_empty() and not has_reports):
        raise BackupError(
            "There is a database already, or a report: with --replace it is put "
            f"aside, and nothing of it is lost ({connection.settings_dict['NAME']}, "
            f"{reports})."
        )
    check(backup)
    database.check_unused()  # reading every byte may have taken an hour
    kept: list[str] = []
    try:
        with files.owners_alone():
            return _restore(backup, manifest, kept, replace=replace)
    except OSError as error:
        raise BackupError(
            f"{error.filename or settings.DATA_DIR}: could not be restored to "
            f"({error.strerror}). {_where(kept)}"
        ) from error


def _where(kept: list[str]) -> str:
    return f"What was there before: {', '.join(filter(None, kept)) or 'nothing'}."


def _restore(
    backup: Path, manifest: Manifest, kept: list[str], *, replace: bool
) -> Restored:
    """Put everything back; `kept` tells where what was there is, however it ends."""
    data = Path(settings.DATA_DIR)
    now = making.unused_time(data, ASIDE).strftime(making.TIME)
    draft = data / f"restore-{now}{files.UNFINISHED}"
    aside = data / f"{ASIDE}{now}" if replace else None
    for folder in (draft, aside):
        if folder is not None:
            folder.mkdir(mode=0o700)
    (draft / "reports").mkdir()  # others would be taken for reports of this database
    try:
        _put_files(manifest, FileStore(backup.parent / STORE), draft)
        kept.append(engine().load(backup / manifest.database.path, aside))
        kept.append(_fill(draft / "reports", Path(settings.REPORTS_ROOT), aside))
        kept.append(_move(draft / KEY, data / KEY, aside))
    finally:
        shutil.rmtree(draft, ignore_errors=True)
        if aside is not None and not any(aside.iterdir()):
            aside.rmdir()
    _check_rows(manifest, kept)
    call_command("migrate", verbosity=0, interactive=False)
    return Restored(manifest, [place for place in kept if place])


def _put_files(manifest: Manifest, store: FileStore, draft: Path) -> None:
    """Put originals in their place, and the rest, which may be there, into a draft."""
    for file in manifest.files:
        root, _slash, rest = file.path.partition("/")
        target = settings.MEDIA_ROOT / rest if root == "media" else draft / file.path
        if not (target.exists() and file_digest(target) == file.sha256):
            target.parent.mkdir(parents=True, exist_ok=True)
            files.copy(store.path(file.sha256), target, file.sha256)
            files.sync(target.parent)


def _fill(source: Path, place: Path, aside: Path | None) -> str:
    """Move what was restored into a folder; return where what was there is now.

    The folder stays: it may be a disk of its own, or lie where this user cannot write.
    """
    place.mkdir(exist_ok=True)
    kept = ""
    if aside is not None and (old := list(place.iterdir())):
        (aside / place.name).mkdir()
        kept = str(aside / place.name)
        for path in old:
            shutil.move(path, kept)
    for path in source.iterdir():
        shutil.move(path, place)
    return kept


def _move(source: Path, place: Path, aside: Path | None) -> str:
    """Move what was restored to its place; return where the old one is now."""
    if not source.exists():
        return ""
    kept = ""
    if place.exists() and aside is not None:
        kept = str(shutil.move(place, aside / place.name))
    source.replace(place)
    return kept


def _check_rows(manifest: Manifest, kept: list[str]) -> None:
    """Compare the number of rows of each table with what the manifest says."""

    def ask(query: str) -> list[tuple[Any, ...]]:
        with connection.cursor() as cursor:
            cursor.execute(query)
            found: list[tuple[Any, ...]] = cursor.fetchall()
            return found

    restored = snapshot.counts(ask, list(manifest.rows))
    for table, rows in restored.items():
        if rows != manifest.rows[table]:
            raise BackupError(
                f"{table} was restored with {rows:,} rows, and the manifest says "
                f"{manifest.rows[table]:,}. {_where(kept)}"
            )
