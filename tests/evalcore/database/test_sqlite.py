"""Durability of acknowledged answers on SQLite."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.db import connection

ROOT = Path(__file__).resolve().parents[3]
FULL = 2
# What a worker of Celery is: its application, set up as `celery worker` does it, and a
# task that looks at the connection on which tasks work.
IN_A_WORKER = """
from evalcore.celery import app
app.loader.init_worker()
from django.db import connection

@app.task
def level():
    with connection.cursor() as cursor:
        return cursor.execute("PRAGMA synchronous").fetchone()[0]

print("level", level.apply().get())
"""
WORKER = [sys.executable, "-c", IN_A_WORKER]
COMMAND = [
    sys.executable,
    "manage.py",
    "shell",
    "--verbosity",
    "0",
    "--command",
    "from django.db import connection;"
    "print('level', connection.cursor().execute('PRAGMA synchronous').fetchone()[0])",
]


def asked(pragma: str) -> int | str:
    with connection.cursor() as cursor:
        return cursor.execute(f"PRAGMA {pragma}").fetchone()[0]


@pytest.fixture
def sqlite(db):
    if connection.vendor != "sqlite":
        pytest.skip("asks SQLite")


def test_sqlite_syncs_every_transaction_to_disk(sqlite):
    assert asked("journal_mode") == "wal"
    assert asked("synchronous") == FULL
    assert asked("fullfsync") == 1


@pytest.mark.slow
@pytest.mark.sqlite
@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("command", [pytest.param(WORKER, id="worker"), COMMAND])
def test_every_process_uses_the_same_sync_settings(tmp_path, command, named):
    url = f"sqlite:///{tmp_path}/own.sqlite3" if named else ""
    done = subprocess.run(
        command,
        env=os.environ | {"DATA_DIR": str(tmp_path), "DATABASE_URL": url},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == f"level {FULL}\n", done.stderr
