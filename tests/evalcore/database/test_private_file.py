"""Permissions of the database file, which contains links and tokens."""

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from evalcore.database.base import make_private
from tests.serving import ROOT

USE = (
    "from django.db import connection\n"
    "from pathlib import Path\n"
    "cursor = connection.cursor()\n"
    "cursor.execute('CREATE TABLE IF NOT EXISTS links (token TEXT)')\n"
    "cursor.execute('INSERT INTO links VALUES (1)')\n"
    "folder = Path(connection.settings_dict['NAME']).parent\n"
    "for path in sorted(folder.glob('plumbline.sqlite3*')):\n"
    "    print(path.name, oct(path.stat().st_mode & 0o777))\n"
)


@pytest.fixture
def open_folder(tmp_path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    folder.chmod(0o755)
    return folder


def use(folder: Path) -> subprocess.CompletedProcess:
    """Write to the database of a data folder, as a command does it."""
    return subprocess.run(
        [sys.executable, "manage.py", "shell", "--no-imports", "-c", USE],
        cwd=ROOT,
        env=os.environ | {"DATA_DIR": str(folder), "DATABASE_URL": ""},
        capture_output=True,
        text=True,
        umask=0o022,
    )


PRIVATE = ["plumbline.sqlite3", "plumbline.sqlite3-shm", "plumbline.sqlite3-wal"]


@pytest.mark.slow
@pytest.mark.sqlite
def test_database_is_private_when_its_folder_is_open(open_folder):
    done = use(open_folder)
    assert done.stdout.splitlines() == [f"{name} 0o600" for name in PRIVATE]
    assert done.stderr == ""


@pytest.mark.slow
@pytest.mark.sqlite
def test_database_becomes_private_with_a_warning_when_others_could_read_it(open_folder):
    path = open_folder / "plumbline.sqlite3"
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE links (token TEXT)")
    path.chmod(0o644)
    done = use(open_folder)
    assert done.stdout.splitlines() == [f"{name} 0o600" for name in PRIVATE]
    assert f"Other users of this machine could read {path}" in done.stderr


def test_database_is_refused_when_its_mode_cannot_change(tmp_path, monkeypatch):
    path = tmp_path / "plumbline.sqlite3"
    path.touch(0o644)
    path.chmod(0o644)

    def refused(_path, _mode):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(Path, "chmod", refused)
    with pytest.raises(ImproperlyConfigured, match=f"Run `chmod 600 {path}` as"):
        make_private(path)
    monkeypatch.setattr(Path, "chmod", lambda _path, _mode: None)  # as exFAT does it
    with pytest.raises(ImproperlyConfigured, match="Mount it with umask=077"):
        make_private(path)
