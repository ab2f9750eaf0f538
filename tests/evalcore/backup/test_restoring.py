"""Restoring: checked to the last byte first, nothing overwritten, the same again."""

import json
import os
import shutil
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from psycopg.conninfo import make_conninfo

from annotate.models import ApiToken, Rating, Slot, Study, User
from evalcore import media
from evalcore.models import MediaFile
from evalcore.serving import health
from tests.evalcore.backup.conftest import rewrite, rows_of, tree
from tests.factories import make_study

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.postgresql]
TABLES = ("annotate_slot", "annotate_rating", "annotate_event", "annotate_invitation")
OPEN = """
import sqlite3, sys
opened = sqlite3.connect(sys.argv[1])
opened.execute("PRAGMA journal_mode=WAL")
opened.execute("SELECT count(*) FROM django_migrations").fetchall()
print("open", flush=True)
sys.stdin.readline()
"""


@pytest.fixture(autouse=True)
def nothing_put_aside_stays(transactional_db):
    """Its name is that of a second, and two tests may be done within one."""
    yield
    if connection.vendor == "postgresql":
        named = "SELECT nspname FROM pg_namespace WHERE nspname LIKE 'before_restore_%'"
        with connection.cursor() as cursor:
            cursor.execute(named)
            for (schema,) in cursor.fetchall():
                cursor.execute(f'DROP SCHEMA "{schema}" CASCADE')


@contextmanager
def somebody_connected():
    """Another process that has the database open, and asks nothing."""
    if connection.vendor == "postgresql":
        given = connection.get_connection_params()
        told = {k: given[k] for k in ("dbname", "user", "host", "port") if given.get(k)}
        with psycopg.connect(make_conninfo("", **told)):
            yield
        return
    command = [sys.executable, "-c", OPEN, connection.settings_dict["NAME"]]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout.readline() == "open\n"
        yield
        other.communicate("go\n")


def stored_file(backup: Path, path: str) -> Path:
    """Return a file of a backup whose name begins so."""
    files = json.loads((backup / "manifest.json").read_text())["files"]
    return backup / next(name for name in files if name.startswith(path))


def database_of(backup: Path) -> Path:
    return next(backup.glob("database.*"))


def test_restore_recovers_the_whole_server(
    study, report, key, back_up, settings, capsys
):
    backup = back_up()
    before = {table: rows_of(table) for table in TABLES}
    pictures = tree(settings.MEDIA_ROOT / "original")
    page, signed_by = report.read_text(), key.read_text()
    Rating.objects.all().delete()
    later = make_study(slug="later", benchmark=study.benchmark)
    shutil.rmtree(settings.MEDIA_ROOT)
    report.write_text("another")
    key.write_text("of another machine")
    call_command("restore", str(backup), "--replace")
    assert {table: rows_of(table) for table in TABLES} == before
    assert tree(settings.MEDIA_ROOT / "original") == pictures
    assert media.rendition_path(MediaFile.objects.first(), "thumb").is_file()
    assert (report.read_text(), key.read_text()) == (page, signed_by)
    assert not Study.objects.filter(slug=later.slug).exists()
    told = capsys.readouterr().out
    assert "1 study, 24 answers, 18 pictures and videos, 1 report." in told
    assert "trial: no problems found." in told


@pytest.mark.sqlite
def test_restored_demo_has_no_public_passwords(study, back_up, capsys):
    """Attack: the demo was the pilot, and everybody knows its passwords."""
    public = "plumbline-demo"
    for name, password in (("manager", public), ("researcher", "an own one of theirs")):
        User.objects.create_user(name, password=password)
    user = User.objects.get(username="manager")
    ApiToken.issue(user=user, name="a notebook", scope="read")
    backup = back_up()
    call_command("restore", str(backup), "--replace")
    told = capsys.readouterr().err
    assert "manager had the demo's public password and can no longer log in" in told
    assert "researcher" not in told
    assert not User.objects.get(username="manager").has_usable_password()
    assert User.objects.get(username="researcher").check_password(
        "an own one of theirs"
    )
    assert ApiToken.objects.get().revoked_at


def test_restore_moves_existing_data_aside(
    study, report, key, back_up, settings, capsys
):
    backup = back_up()
    Study.objects.update(title="Since then")
    report.write_text("written since")
    key.write_text("made since")
    call_command("restore", str(backup), "--replace")
    told = capsys.readouterr().out
    (aside,) = settings.DATA_DIR.glob("before-restore-*")
    assert aside.stat().st_mode & 0o077 == 0
    assert (aside / "secret_key").read_text() == "made since"
    assert (
        aside / "reports" / report.parent.name / "report.html"
    ).read_text() == "written since"
    if connection.vendor == "sqlite":
        old = aside / Path(connection.settings_dict["NAME"]).name
        assert b"Since then" in old.read_bytes()
        assert f"The previous data are now in {old}." in told
        return
    schema = aside.name.lower().replace("-", "_")
    assert f"are now in schema {schema} of" in told
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT title FROM {schema}.annotate_study")
        assert cursor.fetchall() == [("Since then",)]
    # The next backup is of what is in use alone.
    assert Study.objects.get().title == "Trial trial"
    call_command("restore", str(back_up()), "--replace")
    assert Study.objects.get().title == "Trial trial"


def test_restore_refuses_a_database_with_data(study, back_up, settings):
    backup = back_up()
    Slot.objects.update(seconds=99)
    before, there = rows_of("annotate_slot"), tree(settings.DATA_DIR)
    with pytest.raises(CommandError, match="--replace"):
        call_command("restore", str(backup))
    assert rows_of("annotate_slot") == before
    assert tree(settings.DATA_DIR) == there


def test_restore_requires_a_stopped_server(study, back_up):
    backup = back_up()
    Slot.objects.update(seconds=99)
    with somebody_connected(), pytest.raises(CommandError, match="Stop the server"):
        call_command("restore", str(backup), "--replace")
    assert set(Slot.objects.values_list("seconds", flat=True)) == {99}
    call_command("restore", str(backup), "--replace")
    assert 99 not in set(Slot.objects.values_list("seconds", flat=True))


def cut_database(backup):
    path = database_of(backup)
    path.write_bytes(path.read_bytes()[:-1])
    return path


def turn_a_byte_of_the_database(backup):
    path = database_of(backup)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    return path


def lose_an_original(backup):
    path = stored_file(backup, "media/original/")
    path.unlink()
    return path


def cut_manifest(backup):
    path = backup / "manifest.json"
    path.write_bytes(path.read_bytes()[:-9])
    return path


def lose_manifest(backup):
    (backup / "manifest.json").unlink()
    return backup / "manifest.json"


def lead_out_of_the_folder(backup):
    files = json.loads((backup / "manifest.json").read_text())["files"]
    name = "media/../../outside"
    rewrite(backup, files=files | {name: next(iter(files.values()))})
    return name


def come_from_a_later_version(backup):
    migrations = json.loads((backup / "manifest.json").read_text())["migrations"]
    later = ["annotate", "0999_later"]
    rewrite(backup, version="9.9", migrations=[*migrations, later])
    return "annotate.0999_later"


def come_from_a_version_before_squashing(backup):
    migrations = json.loads((backup / "manifest.json").read_text())["migrations"]
    early = [one for one in migrations if one[1][:4] not in ("0002", "0014")]
    rewrite(backup, version="0.0.9", migrations=early)
    return "older version (0.0.9)"


def have_a_later_format(backup):
    rewrite(backup, format=3)
    return "format 3"


def come_from_another_database(backup):
    rewrite(backup, engine="Oracle")
    return "Oracle"


HARMS = (
    cut_database,
    turn_a_byte_of_the_database,
    lose_an_original,
    cut_manifest,
    lose_manifest,
    lead_out_of_the_folder,
    come_from_a_later_version,
    come_from_a_version_before_squashing,
    have_a_later_format,
    come_from_another_database,
)


def test_restore_refuses_a_damaged_backup_without_changes(
    study, report, key, back_up, folder, settings, subtests, tmp_path
):
    whole = back_up()
    Slot.objects.update(seconds=99)
    shutil.rmtree(settings.MEDIA_ROOT)
    before, there = rows_of("annotate_slot"), tree(settings.DATA_DIR)
    for harm in HARMS:
        with subtests.test(harm.__name__):
            shutil.copytree(folder, tmp_path / harm.__name__)
            backup = tmp_path / harm.__name__ / whole.name
            named = str(harm(backup))
            with pytest.raises(CommandError) as caught:
                call_command("restore", str(backup), "--replace")
            assert named in str(caught.value)
            assert rows_of("annotate_slot") == before
            assert tree(settings.DATA_DIR) == there


def test_restore_refuses_a_folder_of_several_backups(study, back_up, folder):
    first, second = back_up(), back_up()
    with pytest.raises(CommandError, match=f"{first.name}, {second.name}"):
        call_command("restore", str(folder), "--replace")


def test_restore_keeps_intact_originals_and_repairs_damaged_ones(
    study, back_up, settings
):
    backup = back_up()
    first, second, third = map(media.original_path, MediaFile.objects.all()[:3])
    kept, whole, lost = first.stat().st_ino, second.read_bytes(), third.read_bytes()
    second.write_bytes(b"rotten")
    third.unlink()
    call_command("restore", str(backup), "--replace")
    assert first.stat().st_ino == kept
    assert (second.read_bytes(), third.read_bytes()) == (whole, lost)


@pytest.mark.slow
def test_backup_of_older_tables_is_migrated(study, back_up):
    call_command("migrate", "axes", "0008", verbosity=0)
    backup = back_up()
    call_command("migrate", verbosity=0)
    call_command("restore", str(backup), "--replace")
    assert not health.missing_migrations()
    assert Rating.objects.count() == 24


@pytest.mark.sqlite
def test_restore_on_full_disk_leaves_the_database(
    study, back_up, settings, monkeypatch
):
    backup = back_up()
    Slot.objects.update(seconds=99)
    shutil.rmtree(settings.MEDIA_ROOT)
    settings.MEDIA_ROOT = Path("/dev/full/media")
    with pytest.raises(CommandError, match=r"Could not restore /dev/full"):
        call_command("restore", str(backup), "--replace")
    assert set(Slot.objects.values_list("seconds", flat=True)) == {99}
    assert not list(settings.DATA_DIR.glob("*restore-*"))


@pytest.mark.slow
@pytest.mark.sqlite
def test_restore_into_an_empty_server_needs_no_option(
    study, report, key, back_up, tmp_path
):
    """As another machine does it: its own folder, its own process."""
    backup = back_up()
    done = subprocess.run(
        [sys.executable, "manage.py", "restore", str(backup)],
        env=os.environ | {"DATA_DIR": str(tmp_path / "new"), "DATABASE_URL": ""},
        cwd=Path(__file__).resolve().parents[3],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "trial: no problems found." in done.stdout
    assert (tmp_path / "new" / "secret_key").read_text() == key.read_text()
    assert not list((tmp_path / "new").glob("before-restore-*"))
    others = [p for p in (tmp_path / "new").rglob("*") if p.stat().st_mode & 0o077]
    assert others == []


@pytest.mark.skipif(connection.vendor == "sqlite", reason="of PostgreSQL")
def test_unusable_backup_leaves_the_database(study, back_up):
    backup = back_up()
    path = database_of(backup)
    path.write_bytes(b"no dump, whatever its sum says")
    files = json.loads((backup / "manifest.json").read_text())["files"]
    rewrite(backup, files=files | {path.name: media.file_digest(path)})
    before = rows_of("annotate_slot")
    with pytest.raises(CommandError, match="pg_restore failed"):
        call_command("restore", str(backup), "--replace")
    assert rows_of("annotate_slot") == before
