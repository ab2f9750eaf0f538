"""One worker process for each GPU of this machine, for one run."""

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from django.utils.translation import gettext as _

from evalcore.models import MetricRun
from evalcore.scoring import metric_runs
from evalcore.scoring.chunks import ChunkProgress, ScoringError, report
from evalcore.serving.supervisor import on_device

ROOT = Path(__file__).resolve().parents[2]
WORKER = (
    "import sys, django; django.setup(); "
    "from evalcore.scoring import metric_runs; metric_runs.run(int(sys.argv[1]))"
)


def run_on(
    devices: Sequence[str], run_id: int, progress: ChunkProgress | None = None
) -> MetricRun:
    """Compute a run's missing scores with a worker on each device until it has ended.

    Another worker continues the chunk of one that dies. If all die, a `ScoringError`
    says so; the run stays open.
    """
    run = MetricRun.objects.select_related("benchmark").get(pk=run_id)
    env = os.environ | {
        "DJANGO_SETTINGS_MODULE": "evalcore.settings",
        "PYTHONPATH": str(ROOT),
    }
    command = [sys.executable, "-c", WORKER, str(run_id)]
    workers = [subprocess.Popen(on_device(one, command), env=env) for one in devices]
    try:
        while True:
            are_alive = any(worker.poll() is None for worker in workers)
            run.refresh_from_db()
            report(run, progress)
            if run.state not in metric_runs.OPEN:
                return run
            if not are_alive:
                raise ScoringError(
                    _("all workers ended before the run; their last lines say why")
                )
            time.sleep(1)
    finally:
        for worker in workers:
            worker.terminate()
        for worker in workers:
            worker.wait()
