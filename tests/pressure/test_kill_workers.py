"""Workers are killed while people rate: no request fails, no process is left."""

import os
import subprocess
import sys

import pytest

from tests.serving import ROOT

pytestmark = pytest.mark.slow


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_killed_workers_cost_no_request_and_leave_no_process():
    done = subprocess.run(
        [sys.executable, "-m", "tests.pressure.kill_workers", "--kills", "5"],
        cwd=ROOT,
        env=os.environ,
        capture_output=True,
        text=True,
        timeout=290,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]
    assert "0 requests failed, 0 processes left" in done.stdout
    assert "5 workers restarted" in done.stdout
