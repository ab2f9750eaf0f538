"""What a real worker logs says which task it is of, and of which study."""

import json
import os
import re
import signal
import subprocess
from pathlib import Path

import pytest
from django.conf import settings as live

from annotate.models import Report
from evalcore.serving import supervisor
from tests.factories import make_study
from tests.serving import wait_until

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.sqlite
def test_a_line_of_a_worker_names_its_task(tmp_path, transactional_db):
    report = Report.objects.create(study=make_study())  # nobody has answered
    env = {
        "DATA_DIR": str(tmp_path),
        "DATABASE_URL": f"sqlite:///{live.DATABASES['default']['NAME']}",
        "LOG_FORMAT": "json",
    }
    options = "worker --pool solo --queues cpu --loglevel warning --without-gossip"
    log = tmp_path / "log.txt"
    with log.open("wb") as out:
        worker = subprocess.Popen(
            [*supervisor.CELERY, *options.split()],
            cwd=ROOT,
            env=os.environ | env,
            stdout=out,
            stderr=subprocess.STDOUT,
        )
    try:
        failed = Report.objects.filter(state="failed")
        wait_until(failed.exists, 120, "the report's end")
    finally:
        worker.send_signal(signal.SIGTERM)
        worker.wait(60)
    written = log.read_text()
    words = f"report {report.pk} failed"
    (line,) = [line for line in written.splitlines() if words in line]
    told = json.loads(line)
    assert told["task"] == "annotate.tasks.sweep_reports"
    assert len(told["task_id"]) == 36
    assert told["study"] == "trial"
    assert "Nobody has submitted an answer yet" in told["exception"]
    # Neither Celery nor a library writes lines in another way.
    assert re.findall(r"^\[?20\d\d-.*", written, re.M) == []
