"""A backup while people answer, small: restored, compared, and served again."""

import os
import subprocess
import sys

import pytest
from django.db import connection

from tests.serving import ROOT

pytestmark = pytest.mark.slow


def test_a_backup_under_load_has_all_that_was_acknowledged():
    env = os.environ.copy()
    if connection.vendor == "sqlite":
        env.pop("DATABASE_URL", None)
    size = "--people 3 --backups 1 --pause 0.3 --stories 20 --originals 20 --workers 1"
    done = subprocess.run(
        [sys.executable, "-m", "tests.pressure.backup", *size.split()],
        cwd=ROOT,
        env=env,
        capture_output=True,
        text=True,
        timeout=290,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]
    assert "0 answers wrong" in done.stdout
