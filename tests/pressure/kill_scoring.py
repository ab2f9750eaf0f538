"""Scoring is killed again and again; nothing may be lost or stand twice.

    python -m tests.pressure.kill_scoring --kills 20
    python -m tests.with_postgres python -m tests.pressure.kill_scoring --workers 2

Makes a benchmark, asks for metrics that a picture passes twice (a baseline, and a
network's stand-in where its weights are here), starts workers, kills them with SIGKILL
at random moments, takes back their signs of life, and starts new ones, until they were
killed often enough; then lets them finish. At the end every value must be there once
and be, to the last bit, what an undisturbed run computes. Uses a database and folders
of its own that it removes.
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from datetime import timedelta
from pathlib import Path

from tests.pressure.drain import ROOT, own_database

METRICS = ["sharpness", "palette_consistency", "shots_present", "mobilenet_self"]
LONGEST = 900  # seconds until it gives up
WORKER = (
    "import django; django.setup(); from evalcore import scoring; "
    "import sys; [scoring.plan(r) for r in scoring.MetricRun.objects.filter("
    "state='queued')]; scoring.work()"
)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--stories", type=int, default=60)
    parser.add_argument("--shots", type=int, default=6)
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def start() -> subprocess.Popen:
    return subprocess.Popen([sys.executable, "-c", WORKER], cwd=ROOT)


def values() -> dict[tuple, list[float]]:
    """Return all values by what they are of; more than one each is one too many."""
    from evalcore.models import MetricScore

    found: dict[tuple, list[float]] = {}
    rows = MetricScore.objects.order_by("pk").values_list(
        "metric", "method", "story", "shot", "value"
    )
    for *of, value in rows:
        found.setdefault(tuple(of), []).append(value)
    return found


def disturb(options: argparse.Namespace, run_id: int) -> Counter:
    """Kill workers at random moments until it was often enough; count what happened."""
    from django.utils import timezone

    from evalcore.models import MetricChunk, MetricRun, MetricScore

    moments = random.Random(options.seed)
    count: Counter = Counter()
    workers = [start() for _ in range(options.workers)]
    end = time.monotonic() + LONGEST
    while count["kills"] < options.kills:
        assert time.monotonic() < end, "nothing happened in time"
        before = MetricScore.objects.count()
        while MetricScore.objects.count() == before and any(
            worker.poll() is None for worker in workers
        ):
            time.sleep(0.01)
        time.sleep(moments.uniform(0, 1.5))
        victim = moments.randrange(len(workers))
        if MetricRun.objects.get(pk=run_id).state != "running":
            return count
        alive = workers[victim].poll() is None
        workers[victim].send_signal(signal.SIGKILL)
        workers[victim].wait()
        count["kills"] += 1
        count["in mid-work"] += alive
        # The others would wait until the killed one has been silent long enough.
        MetricChunk.objects.filter(state="running").update(
            heartbeat_at=timezone.now() - timedelta(minutes=5)
        )
        workers[victim] = start()
    for worker in workers:
        worker.wait(LONGEST)
    return count


def main() -> None:
    options = arguments()
    with tempfile.TemporaryDirectory() as name, own_database(Path(name)):
        os.environ |= {
            "DJANGO_SETTINGS_MODULE": "evalcore.settings",
            "DATA_DIR": name,
            "MEDIA_ROOT": f"{name}/media",
        }
        import django

        django.setup()
        from django.conf import settings
        from django.core.management import call_command

        from evalcore import scoring
        from evalcore.metrics import registry
        from evalcore.models import MetricRun, MetricScore
        from tests.factories import make_benchmark

        call_command("migrate", verbosity=0)
        scoring.CHUNK = 16
        names = [m for m in METRICS if not registry.load(m).missing()]
        benchmark = make_benchmark(stories=options.stories, shots=options.shots)
        run = scoring.queue_run(benchmark, names)
        scoring.plan(run)
        begun = time.monotonic()
        count = disturb(options, run.pk)
        run = scoring.run(run.pk)
        seconds = time.monotonic() - begun
        disturbed = values()

        MetricRun.objects.all().delete()
        assert not MetricScore.objects.exists()
        settings.FEATURES_ROOT = Path(name) / "undisturbed"
        scoring.run(scoring.queue_run(benchmark, names).pk)
        undisturbed = values()

        lost = undisturbed.keys() - disturbed.keys()
        twice = [of for of, found in disturbed.items() if len(found) > 1]
        other = [
            of for of, found in undisturbed.items() if disturbed.get(of, found) != found
        ]
        print(
            f"{count['kills']} kills ({count['in mid-work']} in mid-work), "
            f"{options.workers} at a time, {seconds:.0f} s; run {run.state}, "
            f"{run.done} of {run.total} pieces counted\n"
            f"{len(disturbed)} values of {len(undisturbed)}: {len(lost)} lost, "
            f"{len(twice)} twice, {len(other)} other than undisturbed"
        )
        if lost or twice or other or run.state != "done":
            sys.exit(1)


if __name__ == "__main__":
    main()
