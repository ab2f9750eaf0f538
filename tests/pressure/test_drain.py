"""The pressure run, small: real processes, real kills, every promise at the end."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.db import connection

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("assignment", ["open", "planned"])
def test_a_study_is_drained_while_processes_are_killed(assignment):
    env = os.environ.copy()
    if connection.vendor == "sqlite":
        env.pop("DATABASE_URL", None)
    size = ["--clients", "10", "--slots", "120", "--workers", "2", "--killed", "0.2"]
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "tests.pressure.drain",
            *size,
            "--assignment",
            assignment,
        ],
        cwd=ROOT,
        env=env,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]
    assert "0 promises broken" in done.stdout
