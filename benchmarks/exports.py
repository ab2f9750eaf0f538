"""Measure exports of a million answers, and annotators' submissions meanwhile.

    python -m benchmarks.exports [--ratings 59] [--people 8] [--pause 2]
    python -m tests.with_postgres python -m benchmarks.exports

Each export is a process of its own, as it is of a worker. Prints its seconds, its peak
memory, the size of the file, and the milliseconds of annotators' submissions (median /
p95) before and during it. The annotators' own study, `small`, has few answers.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.figures import head, median_p95, memory, row
from benchmarks.human_pace import Person, open_study
from benchmarks.manager_pages import filled_study
from benchmarks.temporary_site import serve, temporary_site

# 20 methods by 300 stories by 59 ratings, a twentieth still to come, of 3 questions.
SIZE = {"methods": 20, "stories": 300, "people": 120}
WAYS = (
    ("small", "parquet", "long"),
    ("large", "csv", "long"),
    ("large", "parquet", "long"),
    ("large", "jsonl", "long"),
    ("large", "parquet", "wide"),
    ("large", "csv", "crowd-kit"),
)
QUIET_SECONDS = 20


def main() -> None:
    """Export in every way beside a crowd that rates."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ratings", type=int, default=59, help="of each output")
    parser.add_argument("--people", type=int, default=8, help="who rate meanwhile")
    parser.add_argument("--pause", type=float, default=2.0, help="seconds a story")
    given = parser.parse_args()
    with temporary_site(), tempfile.TemporaryDirectory() as out:
        from django.db import connection

        from annotate.models import Rating

        filled_study("large", redundancy=given.ratings, **SIZE)
        answers = Rating.objects.count()
        tokens = open_study(
            given.people,
            slug="small",
            redundancy=given.people + 1,
            stories=40,
            shots=1,
        )
        print(f"{answers:,} answers, {connection.vendor}")
        with serve() as base:
            crowd = [Person(base, token, given.pause) for token in tokens]
            for person in crowd:
                person.start()
            time.sleep(2 * given.pause + QUIET_SECONDS)
            quiet = _saves(crowd, time.perf_counter() - QUIET_SECONDS)
            head("study", "format", "layout", "seconds", "peak MB", "file MB", "ms")
            row(["none", "", "", "", "", "", quiet])
            for study, form, layout in WAYS:
                began, peak, size = _export(study, form, layout, Path(out, form))
                took, saves = time.perf_counter() - began, _saves(crowd, began)
                figures = [f"{took:.1f}", f"{peak:.0f}", f"{size / 1e6:.1f}", saves]
                row([study, form, layout, *figures])
            for person in crowd:
                person.ended.set()
            print("failed:", [one.failed for one in crowd if one.failed])


def _export(study: str, form: str, layout: str, out: Path) -> tuple[float, float, int]:
    """Return when an export began, its peak memory in MB, and its file's bytes."""
    command = [sys.executable, "manage.py", "export_study", study, "--table", "ratings"]
    command += ["--format", form, "--layout", layout, "--out", str(out)]
    began, peak = time.perf_counter(), 0.0
    child = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL)
    while child.poll() is None:
        peak = max(peak, memory("VmHWM", child.pid))
        time.sleep(0.05)
    if child.returncode:
        raise SystemExit("The export failed; it says why above.")
    return began, peak, max(path.stat().st_size for path in out.iterdir())


def _saves(crowd: list[Person], since: float) -> str:
    """Return median and 95th percentile of the submissions since a moment."""
    times = [t for one in crowd for at, t in one.times["save"] if at >= since]
    return f"{median_p95(times)} (n {len(times)})"


if __name__ == "__main__":
    main()
