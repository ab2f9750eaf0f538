"""Scoring is killed again and again; nothing may be lost or counted twice.

    python -m tests.pressure.kill_scoring --kills 20
    python -m tests.pressure.kill_scoring --workers 2

Makes a benchmark in which one output has an unreadable picture and one has too few,
asks for metrics that a picture passes twice (a baseline, and a network's stand-in where
its weights are here), starts workers, and kills them with SIGKILL at random moments
while they have a chunk; takes back all signs of life, so that chunks of living workers
are taken over too; and starts new ones, until they were killed often enough. Then they
finish. At the end values, absences and failures must be those of an undisturbed run, to
the last bit; every piece of work is counted once, every chunk is done, and asking again
finds nothing left but what failed. That a value stands there once needs no look: the
database has a constraint for it. Uses a database and folders of its own, and removes
them.
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
from typing import NoReturn

from tests.serving import ROOT

METRICS = ["sharpness", "palette_consistency", "shots_present", "mobilenet_self"]
LATEST = 1.5  # seconds after something was stored
# A worker is named by its process, stores often, and no chunk is given up: its workers
# are lost for no fault of its own.
WORKER = """
import os, uuid
import django
django.setup()
from evalcore.scoring import chunks, metric_runs
chunks.STORED_TOGETHER = 8
metric_runs.MOST_LOST = 30_000
metric_runs.uuid.uuid4 = lambda: uuid.UUID(int=os.getpid())
metric_runs.work()
"""


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--stories", type=int, default=120)
    parser.add_argument("--shots", type=int, default=6)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--seconds", type=int, default=1200, help="until it gives up, for the whole"
    )
    return parser.parse_args()


def give_up(*_signal: object) -> NoReturn:
    raise SystemExit("Not done in time.")


def spoil(benchmark) -> None:
    """Make one output unreadable in part, and leave one picture to another."""
    from evalcore import media
    from evalcore.models import Frame

    frames = Frame.objects.filter(output__story__benchmark=benchmark).order_by("pk")
    first, *_others, last = frames
    media.original_path(first.media).write_bytes(b"no picture")
    last.output.frames.exclude(number=1).update(media=None)


def results(run) -> dict[str, Counter]:
    """Return what a run has put down: values, absences and failures, by what of."""
    of = ("metric", "metric_version", "method", "story", "shot")
    return {
        "values": Counter(run.scores.values_list(*of, "value").order_by()),
        "absences": Counter(run.absences.values_list(*of, "reason").order_by()),
        "failures": Counter(
            tuple(failure) for chunk in run.chunks.all() for failure in chunk.failures
        ),
    }


class Workers:
    """Processes that work, and are killed."""

    def __init__(self, count: int) -> None:
        self.processes = [self._start() for _ in range(count)]

    def __enter__(self) -> "Workers":
        return self

    def __exit__(self, *_error: object) -> None:
        for process in self.processes:
            process.kill()
            process.wait()

    def is_at_work(self, number: int) -> bool:
        """Say whether a worker has a chunk right now."""
        import uuid

        from evalcore.models import MetricChunk

        process = self.processes[number]
        name = uuid.UUID(int=process.pid).hex
        own = MetricChunk.objects.filter(state="running", worker=name)
        return process.poll() is None and own.exists()

    def kill(self, number: int) -> None:
        """Kill a worker, take back all signs of life, and start another one."""
        from django.utils import timezone

        from evalcore.models import MetricChunk

        self.processes[number].send_signal(signal.SIGKILL)
        self.processes[number].wait()
        silent = timezone.now() - timedelta(minutes=5)
        MetricChunk.objects.filter(state="running").update(heartbeat_at=silent)
        self.processes[number] = self._start()

    def finish(self) -> None:
        """Wait until they have nothing more to do."""
        for process in self.processes:
            process.wait()

    def _start(self) -> subprocess.Popen:
        return subprocess.Popen([sys.executable, "-c", WORKER], cwd=ROOT)


def disturb(workers: Workers, options: argparse.Namespace, run) -> int:
    """Kill workers in mid-work until it was often enough; return how often.

    Something is stored between two kills, so that they hit one chunk after the other.
    """
    moments = random.Random(options.seed)
    kills, stored = 0, 0
    while kills < options.kills:
        while run.done == stored:
            time.sleep(0.01)
            run.refresh_from_db()
            if run.state != "running":
                return kills
            if all(process.poll() is not None for process in workers.processes):
                workers.kill(0)  # none found anything to take while another had it
        time.sleep(moments.uniform(0, LATEST))
        victim = moments.randrange(options.workers)
        if workers.is_at_work(victim):
            workers.kill(victim)
            kills += 1
        run.refresh_from_db()
        stored = run.done
    return kills


def unfinished(run, failed: int) -> list[str]:
    """Return what is wrong with a run that has ended."""
    from evalcore.scoring import metric_runs

    broken = []
    if run.done != run.total:
        broken.append(f"{run.done} of {run.total} pieces counted")
    states = Counter(run.chunks.values_list("state", flat=True))
    if set(states) != {"done"}:
        broken.append(f"chunks are {dict(states)}")
    again = metric_runs.queue_run(run.benchmark, run.metrics)
    metric_runs.plan(again)
    again.refresh_from_db()
    if again.total != failed:
        broken.append(f"{again.total} pieces are left, though {failed} failed")
    again.delete()
    return broken


def differences(found: dict[str, Counter], expected: dict[str, Counter]) -> list[str]:
    """Return what is there in one of two runs only."""
    broken = []
    for what, wanted in expected.items():
        lost, other = wanted - found[what], found[what] - wanted
        if lost or other:
            shown = [*lost, *other][:3]
            broken.append(f"{what}: {len(lost)} lost, {len(other)} other: {shown}")
    return broken


def main() -> int:
    options = arguments()
    signal.signal(signal.SIGALRM, give_up)
    signal.alarm(options.seconds)
    with tempfile.TemporaryDirectory() as name:
        os.environ["DATABASE_URL"] = f"sqlite:///{name}/pressure.sqlite3"
        os.environ |= {
            "DJANGO_SETTINGS_MODULE": "evalcore.settings",
            "DATA_DIR": name,
            "MEDIA_ROOT": f"{name}/media",
        }
        import django

        django.setup()
        from django.conf import settings
        from django.core.management import call_command
        from django.db import connection

        from evalcore.metrics import registry
        from evalcore.scoring import metric_runs
        from tests.factories import make_benchmark

        call_command("migrate", verbosity=0)
        metric_runs.CHUNK = 16
        names = [m for m in METRICS if not registry.load(m).missing()]
        benchmark = make_benchmark(stories=options.stories, shots=options.shots)
        spoil(benchmark)
        run = metric_runs.queue_run(benchmark, names)
        metric_runs.plan(run)
        run.refresh_from_db()
        begun = time.monotonic()
        with Workers(options.workers) as workers:
            kills = disturb(workers, options, run)
            workers.finish()
        run = metric_runs.run(run.pk)
        seconds = time.monotonic() - begun
        found = results(run)
        lost = list(run.chunks.values_list("lost", flat=True))
        print(
            f"{connection.vendor}: {', '.join(names)}\n{kills} kills in mid-work, "
            f"{options.workers} at a time, {seconds:.0f} s; {sum(lost)} times a chunk "
            f"was taken over, one {max(lost)} times; {run.done} of {run.total} pieces"
        )
        broken = unfinished(run, found["failures"].total())
        if kills < options.kills:
            wanted = f"not {options.kills}: ask for more stories"
            broken.append(f"{kills} kills in mid-work, {wanted}")

        run.delete()
        settings.FEATURES_ROOT = Path(name) / "undisturbed"
        undisturbed = metric_runs.run(metric_runs.queue_run(benchmark, names).pk)
        expected = results(undisturbed)
        for what, rows in found.items():
            print(f"{what}: {rows.total()}, undisturbed {expected[what].total()}")
        broken += differences(found, expected)
        print(*broken, f"{len(broken)} promises broken", sep="\n")
        connection.close()
    return int(bool(broken))


if __name__ == "__main__":
    sys.exit(main())
