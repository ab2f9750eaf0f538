"""Waking of workers by pages, even if the broker is away or silent."""

import json
import os
import socket
import subprocess
import sys

import pytest

from tests.serving import ROOT

RING = """
import json, sys, time
import django
django.setup()
from kombu.exceptions import OperationalError
from evalcore.scoring.tasks import wake_workers

times = []
for line in sys.stdin:
    began = time.monotonic()
    try:
        wake_workers()
    except OperationalError:
        times.append(time.monotonic() - began)
    print(json.dumps(times), flush=True)
"""


@pytest.mark.slow
def test_unavailable_broker_does_not_delay_pages(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        settings = {
            "DJANGO_SETTINGS_MODULE": "evalcore.settings",
            "DATA_DIR": str(tmp_path),
            "BROKER_URL": f"redis://127.0.0.1:{port}/0",
        }
        with subprocess.Popen(
            [sys.executable, "-c", RING],
            cwd=ROOT,
            env=os.environ | settings,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as ringer:
            ringer.stdin.write("silent\n")
            ringer.stdin.flush()
            assert len(json.loads(ringer.stdout.readline())) == 1
            silent.close()
            output, _errors = ringer.communicate("gone\n", timeout=60)
    when_silent, when_gone = json.loads(output)
    assert when_silent < 5
    assert when_gone < 1
