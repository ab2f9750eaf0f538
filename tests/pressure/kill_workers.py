"""Workers are killed while people rate; no request may fail, no process be left.

    python -m tests.pressure.kill_workers --kills 5
    python -m tests.pressure.kill_workers --kills 5 --in-hand

Starts `manage.py serve` on a temporary folder. People rate over HTTP on 127.0.0.1 as
the page does, one after the other saving answers and submitting stories. Meanwhile
processes of Celery are killed with SIGKILL, each in its turn; after each kill scores
are requested and timed. With `--in-hand` a last one is
killed while it has a chunk, which another has to take over when heartbeats stop. At the
end the server is stopped.
"""

import argparse
import os
import signal
import statistics
import sys
import tempfile
import time
from pathlib import Path

from tests.pressure.rater import Rater
from tests.serving import Served, wait_until

MOST_SECONDS = 300  # for scores that were asked for


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=5)
    parser.add_argument("--people", type=int, default=2)
    parser.add_argument("--stories", type=int, default=1200, help="of the study")
    parser.add_argument(
        "--in-hand", action="store_true", help="kill one with a chunk, too (minutes)"
    )
    return parser.parse_args()


class Scores:
    """Scores of ever new benchmarks, asked for as the page does."""

    def __init__(self) -> None:
        self.asked = 0

    def ask(self, stories: int):
        """Ask for scores that do not exist; return the run."""
        from evalcore.scoring import metric_runs, tasks
        from tests.factories import make_benchmark

        self.asked += 1
        benchmark = make_benchmark(slug=f"scored-{self.asked}", stories=stories)
        run = metric_runs.queue_run(benchmark, ["sharpness"])
        tasks.wake_workers()
        return run

    def wait(self, run, state: str = "done") -> None:
        def is_so() -> bool:
            run.refresh_from_db()
            return run.state == state

        wait_until(is_so, MOST_SECONDS, f"scores {state}")

    def kill_in_hand(self, served: Served) -> float:
        """Kill the worker that has a chunk; return seconds until its scores stand."""
        run = self.ask(stories=60)
        wait_until(
            lambda: run.chunks.filter(state="running").exists(), 60, "a chunk in hand"
        )
        os.kill(served.pids("celery", "cpu")[0], signal.SIGKILL)
        killed = time.monotonic()
        run.refresh_from_db()
        assert run.state == "running", "it was done before the kill"
        self.wait(run)
        return time.monotonic() - killed


def kill(served: Served, number: int) -> str:
    """Kill the next process of Celery; return what it was."""
    served.wait_for_workers()
    found = served.pids("celery")
    victim = found[number % len(found)]
    command = Path(f"/proc/{victim}/cmdline").read_bytes().decode().split("\0")
    os.kill(victim, signal.SIGKILL)
    kinds = [word for word in ("beat", "judge", "gpu", "cpu") if word in command]
    return f"{' and '.join(kinds)} (process {victim})"


def disturb(served: Served, options: argparse.Namespace) -> list[float]:
    """Kill one after the other; return seconds from each kill until scores stood."""
    scores, times = Scores(), []
    for number in range(options.kills):
        killed = kill(served, number)
        began = time.monotonic()
        scores.wait(scores.ask(stories=1))
        times.append(time.monotonic() - began)
        print(f"killed: {killed}; scores stood after {times[-1]:.1f} s", flush=True)
    served.wait_for_workers()  # another one may have made the last scores
    if options.in_hand:
        took = scores.kill_in_hand(served)
        print(f"killed with a chunk in hand: scores stood after {took:.1f} s")
    return times


def left_of(served: Served) -> list[int]:
    """Return the processes that stay; a killed one takes a moment to be gone."""
    patience = time.monotonic() + 20
    while (left := served.pids()) and time.monotonic() < patience:
        time.sleep(0.1)
    return left


def rate_and_kill(folder: Path, options: argparse.Namespace) -> int:
    """Run it; return how many requests failed and processes were left."""
    import django

    django.setup()
    from django.core.management import call_command
    from django.db import connection

    from tests.pressure.grids import add_people, make_grid

    call_command("migrate", verbosity=0)
    study = make_grid(
        "kill", stories=options.stories, methods=1, redundancy=options.people
    )
    people = add_people(study, options.people)
    raters: list[Rater] = []
    left: list[int] = []
    with Served(folder) as served:
        served.wait_for_pages()
        served.wait_for_workers()
        raters = [Rater(served.port, one.invitation.token) for one in people]
        for rater in raters:
            rater.start()
        try:
            times = disturb(served, options)
        finally:
            for rater in raters:
                rater.over.set()
            for rater in raters:
                rater.join(60)
        log = served.stop() if served.process.poll() is None else ""
        left = left_of(served)
    failed = [what for rater in raters for what in rater.failed]
    asked = [took for rater in raters for took in rater.times]
    stored = study.slots.filter(state="submitted").count()
    submitted = sum(rater.submitted for rater in raters)
    connection.close()
    print(
        f"{log.count('the worker restarts')} workers restarted\n"
        f"scores stood after a kill: median {statistics.median(times):.1f} s, "
        f"longest {max(times):.1f} s\n"
        f"{len(asked)} requests, median {1000 * statistics.median(asked):.0f} ms, "
        f"longest {max(asked):.1f} s; {submitted} stories submitted, {stored} stored",
        *failed[:10],
        f"{len(failed)} requests failed, {len(left)} processes left",
        sep="\n",
    )
    return len(failed) + len(left) + abs(submitted - stored)


def main() -> int:
    options = arguments()
    with tempfile.TemporaryDirectory(prefix="plumbline-workers-") as name:
        os.environ |= {
            "DJANGO_SETTINGS_MODULE": "evalcore.settings",
            "DATA_DIR": name,
            "DATABASE_URL": "",
        }
        return int(rate_and_kill(Path(name), options) > 0)


if __name__ == "__main__":
    sys.exit(main())
