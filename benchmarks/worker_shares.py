"""Shares of runs that wait together for the workers of two queues.

    python -m benchmarks.worker_shares --minutes 10 --faster 10

Two runs for the queue `gpu` and two for `judge`, of stand-in metrics that sleep .5 and
2 seconds an output, the faster one queued a minute after the slower. There is one
worker process a queue, in slices as on a server. `--faster` divides every time. Printed
are each run's share of the working time of its queue while both waited, how long the
later run waited for its first value, and the time left that is shown at the end.
"""

import argparse
import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING

from benchmarks.temporary_site import ROOT, temporary_site

if TYPE_CHECKING:
    from evalcore.models import MetricRun

SECONDS = {"slow": 2.0, "fast": 0.5}
QUEUES = ("gpu", "judge")
LATER = 60.0
JUDGE = {"JUDGE_BASE_URL": "http://127.0.0.1:9/v1", "JUDGE_NAME": "stand-in"}


def register(faster: float) -> None:
    """Add a metric for each queue and speed, which sleeps and returns 0."""
    from dataclasses import replace

    from evalcore.metrics import registry
    from evalcore.metrics.base import Rendering, Scoring, Value
    from evalcore.metrics.baselines import ShotsPresent

    def metric(queue: str, speed: str) -> type[ShotsPresent]:
        class Sleeping(ShotsPresent):
            info = replace(ShotsPresent.info, name=f"{queue}_{speed}", queue=queue)

            def score(self, rendering: Rendering) -> Scoring:
                yield from ()
                time.sleep(SECONDS[speed] / faster)
                return [Value(0.0)]

        return Sleeping

    for queue in QUEUES:
        for speed in SECONDS:
            registry.METRICS[f"{queue}_{speed}"] = registry.Entry(metric(queue, speed))


def work(queue: str, faster: float) -> None:
    """Work as the worker of a queue does, until it is killed."""
    import django

    django.setup()
    register(faster)
    from evalcore.scoring import metric_runs, tasks

    while True:
        seconds = tasks.SLICE_SECONDS / faster
        if not metric_runs.work([queue], seconds=seconds, only_ready=True):
            time.sleep(0.2)


def measure(minutes: float, faster: float) -> None:
    """Print what became of the runs after so many minutes, divided by `faster`."""
    register(faster)
    from evalcore.models import MetricRun
    from evalcore.scoring import metric_runs
    from evalcore.scoring.time_left import in_words, seconds_left
    from tests.factories import make_benchmark

    benchmark = make_benchmark(stories=700, shots=1)

    def ask(speed: str) -> dict[str, MetricRun]:
        runs = {
            queue: metric_runs.queue_run(benchmark, [f"{queue}_{speed}"])
            for queue in QUEUES
        }
        for run in runs.values():
            metric_runs.plan(run)
        return runs

    own = [sys.executable, "-m", "benchmarks.worker_shares", "--faster", str(faster)]
    workers = [subprocess.Popen([*own, "--work", q], cwd=ROOT) for q in QUEUES]
    try:
        slow = ask("slow")
        time.sleep(LATER / faster)
        before = {queue: _done(run) for queue, run in slow.items()}
        fast, asked, first = ask("fast"), time.monotonic(), dict.fromkeys(QUEUES, 0.0)
        while time.monotonic() < asked + (60 * minutes - LATER) / faster:
            for queue, run in fast.items():
                if not first[queue] and _done(run):
                    first[queue] = (time.monotonic() - asked) * faster
            time.sleep(0.1)
    finally:
        for worker in workers:
            worker.kill()
            worker.wait()
    print("| queue | run | values | share of the working time | first value after |")
    print("|---|---|---|---|---|")
    for queue in QUEUES:
        values = {
            "slow": _done(slow[queue]) - before[queue],
            "fast": _done(fast[queue]),
        }
        spent = {speed: n * SECONDS[speed] for speed, n in values.items()}
        for speed, n in values.items():
            share = spent[speed] / sum(spent.values())
            after = f"{first[queue]:.0f} s" if speed == "fast" else ""
            print(f"| {queue} | {SECONDS[speed]} s | {n} | {share:.2f} | {after} |")
            run = (slow if speed == "slow" else fast)[queue]
            run.refresh_from_db()
            left = seconds_left(run)
            print(f"  {in_words(None if left is None else left * faster)}")


def _done(run: "MetricRun") -> int:
    run.refresh_from_db(fields=["done"])
    return run.done


def main() -> None:
    """Measure, or be one of the workers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--faster", type=float, default=1.0)
    parser.add_argument("--work", choices=QUEUES)
    asked = parser.parse_args()
    os.environ |= JUDGE
    if asked.work:
        work(asked.work, asked.faster)
        return
    with temporary_site():
        measure(asked.minutes, asked.faster)


if __name__ == "__main__":
    main()
