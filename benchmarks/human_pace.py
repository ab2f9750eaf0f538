"""Measure a crowd's waits for pages, and the memory of the server.

Serves an open study as `make run` does; annotators judge it over HTTP as the page does:

    python benchmarks/human_pace.py [--people 500] [--seconds 1800] [--pause 20]
    python benchmarks/human_pace.py --people 8 --pause 0 --seconds 60

Each begins at a random moment and pauses so many seconds a story, on
average; without a pause they judge as fast as the server lets them. A unit is three
answers stored durably, by one request, and the page of the next story. Prints, each
minute, the units, the milliseconds of each request and of a whole unit (median / p95),
and the memory of the web processes: resident, and what is theirs alone; in the end the
same of all but the first tenth, and by how much the database grew with each story. The
annotators are one process beside the server. Pictures are not fetched.
"""

import argparse
import json
import random
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import psutil

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.browser import Browser
from benchmarks.figures import median_p95
from benchmarks.temporary_site import serve, temporary_site

QUESTIONS = {
    "character": "Is it the same character?",
    "beauty": "How nice is it?",
    "text": "How well does it follow the text?",
}
METHODS = [f"M{number:02}" for number in range(10)]
# So many stories that those in hand hold nobody up, where all outputs are to have about
# equally many answers.
STORIES = 240
MOST_A_SECOND = 150  # units, surely more than a server does
SIZE_IN = {
    "sqlite": "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size",
    "postgresql": "SELECT pg_database_size(current_database())",
}
NAMES = ("save", "page", "unit")


class Annotator(Browser):
    """An annotator who rates one story after the other."""

    def __init__(self, base: str, token: str) -> None:
        super().__init__(base)
        self.entry = f"/rate/{token}/pause/"

    def start(self) -> str:
        """Begin a session; return the address of its first story."""
        location = self.submit(self.entry)
        if "/story/" not in location:
            raise RuntimeError(f"No story is left: {location}")
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


class Person(threading.Thread):
    """An annotator who rates a story, loads the next one, and rates that."""

    def __init__(self, base: str, token: str, pause: float) -> None:
        super().__init__(daemon=True)
        self.base, self.token, self.pause = base, token, pause
        self.ended = threading.Event()
        self.failed: Exception | None = None
        # When each request ended, and how long it took.
        self.times: dict[str, list[tuple[float, float]]] = {name: [] for name in NAMES}

    def run(self) -> None:
        """Rate until stopped."""
        try:
            self._judge(Annotator(self.base, self.token))
        except Exception as error:  # noqa: BLE001 - reported by the watcher
            self.failed = error

    def _judge(self, browser: Annotator) -> None:
        if self.ended.wait(random.uniform(0, self.pause)):
            return
        browser.ask("GET", browser.entry)
        at = browser.start()
        browser.ask("GET", at)
        while not self.ended.wait(random.uniform(0.5, 1.5) * self.pause):
            if self.pause:  # the server closes the connection after two seconds
                browser.close()
            began = time.perf_counter()
            following = browser.save(at)
            self._note("save", began)
            at = following if "/story/" in following else browser.start()
            asked = time.perf_counter()
            browser.ask("GET", at)
            self._note("page", asked)
            self._note("unit", began)

    def _note(self, name: str, since: float) -> None:
        now = time.perf_counter()
        self.times[name].append((now, 1000 * (now - since)))


def main() -> int:
    """Run the crowd beside the server."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--people", type=int, default=500)
    parser.add_argument("--seconds", type=float, default=1800)
    parser.add_argument("--pause", type=float, default=20, help="seconds a story")
    parser.add_argument("--stories", type=int, default=STORIES)
    parser.add_argument("--crowd", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.crowd:
        base, server, tokens = given.crowd
        links = Path(tokens).read_text().split()
        crowd = [Person(base, link, given.pause) for link in links]
        watch(crowd, given.seconds, int(server))
        return 0
    rate = given.people / given.pause if given.pause else MOST_A_SECOND
    outputs = given.stories * len(METHODS)
    size = {"redundancy": 10 + round(1.2 * rate * given.seconds / outputs)}
    size["stories"] = given.stories
    with temporary_site() as folder:
        tokens = folder / "tokens"
        tokens.write_text("\n".join(open_study(given.people, **size)))
        before = database_size()
        with serve() as base:
            mine = psutil.Process().children()
            (server,) = [one.pid for one in mine if "gunicorn" in one.cmdline()]
            command = [sys.executable, __file__, "--crowd", base, str(server)]
            command += [str(tokens), "--pause", str(given.pause)]
            subprocess.run([*command, "--seconds", str(given.seconds)], check=True)
        from annotate.models import Slot

        judged = max(1, Slot.objects.filter(state="submitted").count())
        grown = (database_size() - before) / judged
        print(f"the database grew by {grown:,.0f} bytes a story")
    return 0


def open_study(people: int, slug: str = "open", **size: int) -> list[str]:
    """Store an open study; return the tokens of people who may work.

    Stories, shots, redundancy and session_size may be given.
    """
    from annotate.models import Invitation
    from annotate.presentation import same_size
    from tests.factories import make_benchmark
    from tests.working import join, make_planned

    size = {
        "stories": STORIES,
        "shots": 10,
        "redundancy": 10,
        "session_size": 20,
    } | size
    titles = [{"key": k, "title": k.title(), "text": t} for k, t in QUESTIONS.items()]
    definition = {"kind": "likert", "scale": [0, 4], "questions": titles}
    definition |= {key: size.pop(key) for key in ("redundancy", "session_size")}
    benchmark = make_benchmark(slug=slug, methods=METHODS, **size)
    text = json.dumps(definition | {"assignment": "open"})
    study = make_planned(text, benchmark=benchmark, slug=slug)
    same_size.draw(study, seconds=3600)  # or its worker would, meanwhile
    joined = [join(study) for _ in range(people)]
    return [Invitation.objects.get(annotator=person).token for person in joined]


def database_size() -> int:
    """Return the bytes of all tables and indexes."""
    from django.db import connection

    with connection.cursor() as cursor:
        return int(cursor.execute(SIZE_IN[connection.vendor]).fetchone()[0])


def watch(crowd: Sequence[Person], seconds: float, server: int) -> None:
    """Let the crowd judge; print what each minute was like, and the whole."""
    began = time.perf_counter()
    for person in crowd:
        person.start()
    while (left := began + seconds - time.perf_counter()) > 0:
        minute = time.perf_counter()
        time.sleep(min(60, left))
        done = units(crowd, minute, time.perf_counter())
        print(f"{minute - began:.0f} s: {done}; {sizes(server)}", flush=True)
    until = time.perf_counter()
    for person in crowd:
        person.ended.set()
    for person in crowd:
        person.join()
    failed = [person.failed for person in crowd if person.failed]
    whole = units(crowd, began + seconds / 10, until)
    print(f"after a tenth: {whole}; {len(failed)} people failed")
    for error in failed[:5]:
        print(f"  {error!r}")


def units(crowd: Sequence[Person], since: float, until: float) -> str:
    """Return what was done between two moments, and how long it took."""
    times = {
        name: [t for one in crowd for at, t in one.times[name] if since <= at < until]
        for name in NAMES
    }
    rate = len(times["unit"]) / (until - since)
    spent = ", ".join(f"{name} {median_p95(found)}" for name, found in times.items())
    return f"{len(times['unit'])} units, {rate:.1f} a second; ms {spent}"


def sizes(server: int) -> str:
    """Return the memory of the web processes: resident, and what is theirs alone."""
    found = [one.memory_full_info() for one in psutil.Process(server).children()]
    return ", ".join(f"{m.rss / 1e6:.0f} MB ({m.uss / 1e6:.0f} own)" for m in found)


if __name__ == "__main__":
    raise SystemExit(main())
