"""Backups: whole or not at all, each file once, and for nobody else to read."""

import fcntl
import json
import resource
import shutil
from contextlib import contextmanager
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from analysis.options import VERSION
from evalcore import media
from evalcore.models import MediaFile
from tests.evalcore.backup.conftest import tree
from tests.factories import make_study, picture_bytes, store_picture

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.postgresql]
TABLE = "annotate_question"


def stored_in(backup: Path) -> set[str]:
    return {path.stem for path in (backup / "media").rglob("*") if path.is_file()}


def originals() -> set[str]:
    return set(MediaFile.objects.values_list("sha256", flat=True))


@contextmanager
def files_of_at_most(size: int):
    """Let the disk be full, for this process and those it starts."""
    _soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))


def test_manifest_lists_the_contents(study, report, key, back_up, folder):
    media.rendition_path(MediaFile.objects.first(), "thumb")
    backup = back_up()
    manifest = json.loads((backup / "manifest.json").read_text())
    expected = {
        f"media/{media.original_path(row).relative_to(media.settings.MEDIA_ROOT)}"
        for row in MediaFile.objects.all()
    }
    assert manifest["files"].keys() == {
        *expected,
        next(backup.glob("database.*")).name,
        f"reports/{report.parent.name}/report.html",
        "secret_key",
    }
    assert manifest["rows"]["annotate_slot"] == 12
    assert ["annotate", "0002_squashed_0014_study_plans"] in manifest["migrations"]
    held = {name: media.file_digest(backup / name) for name in manifest["files"]}
    assert held == manifest["files"]
    assert (manifest["missing"], manifest["version"]) == ([], VERSION)


def test_backup_is_readable_by_its_owner_only(study, report, key, back_up, folder):
    back_up()
    assert all(path.stat().st_mode & 0o077 == 0 for path in folder.rglob("*"))
    assert folder.stat().st_mode & 0o077 == 0


def test_unchanged_file_is_linked_to_the_previous_backup(
    study, back_up, capsys, folder
):
    first = back_up()
    store_picture(picture_bytes("new"))
    call_command("backup", str(folder))
    assert "19 files (1 new" in capsys.readouterr().out
    second = max(folder.glob("2*"))
    for path in (first / "media").rglob("*.png"):
        assert path.samefile(second / path.relative_to(first))
    assert stored_in(second) == originals()


def test_rotation_keeps_the_newest_backups_intact(study, back_up, folder):
    back_up()
    back_up()
    third, fourth = back_up("--keep", "3"), back_up("--keep", "2")
    assert sorted(folder.glob("2*")) == [third, fourth]
    for backup in (third, fourth):
        call_command("restore", str(backup), "--check")


@pytest.mark.parametrize("size", [2_000, 300_000])
def test_full_disk_leaves_no_partial_backup(study, back_up, folder, settings, size):
    """It is full before the database is written, or when one of the originals is."""
    back_up()
    if connection.vendor == "sqlite" and size > 2_000:
        size = Path(connection.settings_dict["NAME"]).stat().st_size + 100_000
    row = store_picture(picture_bytes("large"))
    large = media.original_path(row)
    large.write_bytes(b"".join(i.to_bytes(8, "big") for i in range(size // 7)))
    sha256 = media.file_digest(large)
    size_now = large.stat().st_size
    MediaFile.objects.filter(pk=row.pk).update(sha256=sha256, bytes=size_now)
    moved = media.original_path(MediaFile.objects.get(pk=sha256))
    moved.parent.mkdir(exist_ok=True)
    shutil.move(large, moved)
    store_picture(picture_bytes("small"))
    before = tree(folder)
    with (
        files_of_at_most(size),
        pytest.raises(CommandError, match="No backup was made") as caught,
    ):
        call_command("backup", str(folder))
    told = str(caught.value)
    assert "File too large" in told or "disk" in told or "pg_dump failed" in told
    assert tree(folder) == before


def test_concurrent_backup_is_refused(study, back_up, folder):
    back_up()
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(CommandError, match="Another backup is already running"):
            call_command("backup", str(folder))


@pytest.mark.parametrize("content", [None, b"rotten"])
def test_missing_or_damaged_originals_are_reported(
    study, back_up, folder, capsys, content
):
    path = media.original_path(MediaFile.objects.first())
    path.unlink()
    if content:
        path.write_bytes(content)
    with pytest.raises(CommandError, match="complete except for 1 original"):
        back_up()
    told = capsys.readouterr().err
    assert f"media/original/{path.parent.name}/{path.name} is missing" in told
    (manifest,) = folder.glob("2*/manifest.json")
    assert json.loads(manifest.read_text())["missing"] == [
        f"media/original/{path.parent.name}/{path.name}"
    ]
    assert len(stored_in(manifest.parent)) == len(originals()) - 1


def test_key_from_the_environment_is_left_out_with_a_note(
    study, key, back_up, folder, capsys
):
    key.write_text("another key that is not in use, as it is of long ago\n")
    call_command("backup", str(folder))
    assert "SECRET_KEY is set in the environment" in capsys.readouterr().err
    assert not list(folder.glob("2*/secret_key"))


@pytest.mark.sqlite
def test_damaged_database_is_not_backed_up(folder, tmp_path, monkeypatch):
    """Else it would push out the good ones, one by one.

    The rows of this table are counted by its index, which is whole.
    """
    make_study()
    with connection.cursor() as cursor:
        cursor.execute("SELECT rootpage FROM sqlite_master WHERE name = %s", [TABLE])
        (page,) = cursor.fetchone()
    connection.close()
    damaged = tmp_path / "damaged.sqlite3"
    shutil.copy(connection.settings_dict["NAME"], damaged)
    with damaged.open("rb+") as file:
        file.seek((page - 1) * 4096)
        file.write(b"\xff" * 4096)
    monkeypatch.setitem(connection.settings_dict, "NAME", str(damaged))
    with pytest.raises(CommandError, match=r"damaged\.sqlite3 is damaged"):
        call_command("backup", str(folder))
    assert not list(folder.glob("2*"))
    connection.close()
