"""Commands on a damaged database say so in one message, without a traceback."""

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from django.db import connection

from tests.cases import slow
from tests.conftest import is_sqlite
from tests.factories import make_study
from tests.serving import ROOT

PAGE = 4096  # SQLite's default page size
NAME = "plumbline.sqlite3"


def manage(folder: Path, *arguments: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "manage.py", *arguments],
        env=os.environ | {"DATA_DIR": str(folder), "DATABASE_URL": ""},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.fixture
def database(tmp_path, transactional_db) -> Path:
    """A copy of a database with a study in it."""
    if not is_sqlite():
        pytest.skip("damages SQLite's file")
    make_study(slug="trial")
    path = tmp_path / NAME
    path.touch(0o600)
    with (
        closing(sqlite3.connect(connection.settings_dict["NAME"])) as source,
        closing(sqlite3.connect(path)) as copy,
    ):
        source.backup(copy)
    return path


def root_page(path: Path, table: str) -> int:
    """Return the place in the file where a table begins, as SQLite's schema says."""
    with closing(sqlite3.connect(path)) as opened:
        asked = "SELECT rootpage FROM sqlite_master WHERE name = ?"
        return PAGE * (opened.execute(asked, [table]).fetchone()[0] - 1)


def overwrite(path: Path, place: int, data: bytes) -> None:
    with path.open("rb+") as file:
        file.seek(place)
        file.write(data)


def check_told(done: subprocess.CompletedProcess, *words: str) -> None:
    """Compare the only line of errors."""
    (line,) = done.stderr.strip().splitlines()
    assert all(word in line for word in words), line
    assert done.returncode == 1


@pytest.mark.slow  # test_making verifies a damaged copy in the tests' process
@pytest.mark.parametrize("table", ["annotate_slot", "axes_accesslog"])
def test_verify_names_the_file_when_a_page_is_damaged(database, table):
    overwrite(database, root_page(database, table), bytes(PAGE))
    done = manage(database.parent, "verify")
    check_told(done, str(database), "is damaged", "restore the newest backup")


@pytest.mark.slow
def test_verify_names_the_file_when_it_is_cut_short(database):
    with database.open("rb+") as file:
        file.truncate(database.stat().st_size // 2)
    check_told(manage(database.parent, "verify"), str(database), "is damaged")


@pytest.mark.slow
@pytest.mark.parametrize("command", [["serve", "--only", "cpu"], *slow(["verify"])])
def test_command_names_the_file_when_it_is_no_database(database, command):
    database.write_bytes(b"no database at all, but long enough for one" * 99)
    done = manage(database.parent, *command)
    check_told(done, str(database), "is damaged", "file is not a database")


@pytest.mark.slow
def test_verify_goes_on_when_a_value_cannot_be_read(database):
    with closing(sqlite3.connect(database)) as opened:
        opened.execute("PRAGMA ignore_check_constraints=1")
        opened.execute("UPDATE annotate_event SET details = '[1]'")
        opened.commit()
    done = manage(database.parent, "verify")
    told, last = done.stderr.strip().splitlines()
    assert told.startswith("trial: cannot read a stored value (")
    assert "Problems found: 1." in last
    assert done.returncode == 1


@pytest.mark.slow
@pytest.mark.parametrize("command", [["migrate"], *slow(["serve", "--only", "cpu"])])
def test_migrate_shows_the_databases_own_message(tmp_path, command):
    """A table is in the way, as after a restore by hand."""
    path = tmp_path / NAME
    path.touch(0o600)
    with closing(sqlite3.connect(path)) as opened:
        opened.execute("CREATE TABLE evalcore_benchmark (id INTEGER)")
    done = manage(tmp_path, *command)
    check_told(
        done,
        "The migration evalcore.0001_squashed_0004_worker_for_judges failed",
        'table "evalcore_benchmark" already exists',
    )


@pytest.mark.slow
def test_command_shows_the_databases_own_message_when_tables_are_missing(tmp_path):
    done = manage(tmp_path, "coverage", "pilot")
    check_told(done, "not up to date", "no such table: annotate_study")
