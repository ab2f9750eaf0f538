"""Restore a backup after checking all of it."""

import shutil
from collections.abc import Iterable
from pathlib import Path

from django.conf import settings
from django.core.management import call_command
from django.db import connection
from django.db.migrations.loader import MigrationLoader

from evalcore import media_store
from evalcore.backup import making
from evalcore.backup.databases import (
    FILES,
    BackupError,
    check_unused,
    is_empty,
    load,
    rows_of,
)
from evalcore.backup.making import KEY, NAME, Manifest
from evalcore.media import file_digest
from evalcore.object_store import NotStoredError, StoreError
from evalcore.serving import schema

# Prefix of the folder for previous data; a timestamp follows.
ASIDE = "before-restore-"


def check(backup: Path) -> Manifest:
    """Read every byte of a backup; return its manifest."""
    if not (backup / NAME).exists() and (found := making.backups(backup)):
        names = ", ".join(path.name for path in found)
        raise BackupError(
            f"{backup} contains several backups. Name one of them: {names}."
        )
    manifest = making.read(backup)
    for name, sha256 in manifest["files"].items():
        try:
            is_whole = file_digest(backup / name) == sha256
        except OSError as error:
            raise BackupError(
                f"Cannot read {backup / name} ({error.strerror})."
            ) from error
        if not is_whole:
            raise BackupError(
                f"{backup / name} is damaged: it does not match its SHA-256 checksum."
            )
    _check_store(manifest)
    loader = MigrationLoader(None)
    applied = {(app, name) for app, name in manifest["migrations"]}
    if schema.is_too_old(applied, loader):
        raise BackupError(
            f"{backup} was made by an older version ({manifest['version']}), whose "
            "tables this version cannot upgrade. Restore with that version."
        )
    replaced = (one.replaces for one in loader.replacements.values())
    later = sorted(applied.difference(loader.disk_migrations, *replaced))
    if later:
        names = ", ".join(f"{app}.{name}" for app, name in later)
        raise BackupError(
            f"{backup} was made by a newer version ({manifest['version']}), which "
            f"changed the tables ({names}). Restore with that version."
        )
    return manifest


def _check_store(manifest: Manifest) -> None:
    """Read every byte of the media that the backup left in an object store."""
    store = manifest.get("store", "")
    for name, sha256 in manifest.get("in_store", {}).items():
        try:
            is_whole = media_store.sha256_of(store, name) == sha256
        except NotStoredError as error:
            raise BackupError(f"{store} has no {name} any more.") from error
        except StoreError as error:
            raise BackupError(str(error)) from error
        if not is_whole:
            raise BackupError(
                f"{store}/{name} is damaged: it does not match its SHA-256 checksum."
            )


def restore(backup: Path, *, replace: bool) -> tuple[Manifest, list[str]]:
    """Restore a backup into the database and folders of the settings, and migrate.

    Originals are named by their content: existing ones stay. A database and
    reports are put aside where `replace` allows it, and never overwritten.
    """
    check_unused()
    reports = Path(settings.REPORTS_ROOT)
    has_reports = reports.is_dir() and any(reports.iterdir())
    if not replace and (has_reports or not is_empty()):
        raise BackupError(
            "This server already has a database or reports "
            f"({connection.settings_dict['NAME']}, {reports}). Use --replace to move "
            "them aside; nothing is deleted."
        )
    manifest = check(backup)
    if manifest["engine"] != connection.vendor:
        raise BackupError(
            f"{backup} is a backup of {manifest['engine']}, but DATABASE_URL names "
            f"{connection.vendor}. Restore it into the same kind of database."
        )
    if manifest.get("in_store") and manifest["store"] != settings.MEDIA_STORE:
        raise BackupError(
            f"The media of {backup} are in {manifest['store']}. Set MEDIA_ROOT to that "
            "address, or copy its files into MEDIA_ROOT and set MEDIA_ROOT back."
        )
    check_unused()  # reading every byte may have taken an hour
    kept: list[str] = []
    try:
        with making.private_files():
            _restore(backup, manifest, kept, replace=replace)
        for table, rows in manifest["rows"].items():
            ((found,),) = rows_of(f'SELECT count(*) FROM "{table}"')
            if found != rows:
                raise OSError(0, f"{found:,} rows, not {rows:,}", table)
    except OSError as error:
        raise BackupError(
            f"Could not restore {error.filename or settings.DATA_DIR} "
            f"({error.strerror}). The previous data are in: "
            f"{', '.join(kept) or 'nothing'}."
        ) from error
    call_command("migrate", verbosity=0, interactive=False)
    return manifest, kept


def _restore(
    backup: Path, manifest: Manifest, kept: list[str], *, replace: bool
) -> None:
    """Restore everything; `kept` lists the places of old data, also after an error."""
    data, reports = Path(settings.DATA_DIR), Path(settings.REPORTS_ROOT)
    now = making.unused_time(data, ASIDE).strftime(making.TIME)
    draft, aside = data / f"restore-{now}{making.UNFINISHED}", data / f"{ASIDE}{now}"
    aside.mkdir()
    try:
        (draft / "reports").mkdir(parents=True)
        for name, sha256 in manifest["files"].items():
            root, _slash, rest = name.partition("/")
            is_original = root == "media"
            target = Path(settings.MEDIA_ROOT) / rest if is_original else draft / name
            if is_original and settings.MEDIA_STORE:
                _send(backup / name, target)
            elif not (target.exists() and file_digest(target) == sha256):
                target.parent.mkdir(parents=True, exist_ok=True)
                making.copy(backup / name, target)
        old = load(draft / FILES[connection.vendor], aside if replace else None)
        kept += [old] if old else []
        reports.mkdir(exist_ok=True)  # it stays: it may be a mount point
        if old_reports := list(reports.iterdir()):
            (aside / "reports").mkdir()
            _move(old_reports, aside / "reports")
            kept.append(str(aside / "reports"))
        _move((draft / "reports").iterdir(), reports)
        if (draft / KEY).exists():
            if replace and (data / KEY).exists():
                _move([data / KEY], aside)
                kept.append(str(aside / KEY))
            _move([draft / KEY], data)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
        if not any(aside.iterdir()):
            aside.rmdir()


def _send(source: Path, target: Path) -> None:
    """Send an original of a backup to the object store."""
    with media_store.temporary_file(target.parent, "part") as copy:
        making.copy(source, copy)
        media_store.place(copy, target)


def _move(files: Iterable[Path], folder: Path) -> None:
    for path in files:
        shutil.move(path, folder / path.name)
