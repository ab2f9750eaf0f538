"""How long a crowd at human pace waits, and whether the server stays small.

Serves an open study as `make run` does; hundreds of annotators each judge a story every
twenty seconds, over HTTP as the page does:

    python benchmarks/human_pace.py [--people 500] [--minutes 30] [--postgres]

Everybody begins at a moment of their own. Prints, each minute, the stories judged, the
milliseconds of each request and of a whole unit (median / p95) and the memory of the
web processes (Linux tells it); in the end the same of all minutes but the first two.
Pictures are not fetched. A connection is closed while somebody looks at a story, as the
server does after two seconds.
"""

import argparse
import os
import random
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks import throughput
from benchmarks.temporary_site import temporary_site

WARM_UP_MINUTES = 2
# So many that hundreds of stories in hand hold nobody up, where all outputs are to have
# about equally many answers.
STORIES = 240
NAMES = ("save", "page", "unit")


def main() -> int:
    """Run the crowd beside the server; print a row a minute and the whole."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--people", type=int, default=500)
    parser.add_argument("--minutes", type=int, default=30)
    parser.add_argument("--pause", type=float, default=20.0, help="seconds a story")
    parser.add_argument("--shots", type=int, default=10)
    parser.add_argument("--postgres", action="store_true")
    parser.add_argument("--crowd", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.crowd:
        base, server, tokens = options.crowd
        crowd = [
            Person(base, token, options.pause)
            for token in Path(tokens).read_text().split()
        ]
        watch(crowd, options.minutes, int(server))
        return 0
    units = STORIES * len(throughput.METHODS)
    judged = options.people * (60 * options.minutes / options.pause)
    options.stories = STORIES
    options.redundancy = 10 + round(1.2 * judged / units)
    with throughput.database(options.postgres) as url, temporary_site(url=url) as data:
        tokens = data / "tokens"
        tokens.write_text("\n".join(throughput.build(options, options.people)))
        with throughput.serving() as base:
            (server,) = children(os.getpid(), "gunicorn")
            command = [sys.executable, __file__, "--crowd", base, str(server)]
            command += [str(tokens), "--minutes", str(options.minutes)]
            command += ["--pause", str(options.pause)]
            subprocess.run(command, check=True)
    return 0


class Person(threading.Thread):
    """Somebody who judges a story, looks at the next one, and judges that."""

    def __init__(self, base: str, token: str, pause: float) -> None:
        super().__init__(daemon=True)
        self.base, self.token, self.pause = base, token, pause
        self.ended = threading.Event()
        self.failed: Exception | None = None
        # When each request ended, and how long it took.
        self.times: dict[str, list[tuple[float, float]]] = {name: [] for name in NAMES}

    def run(self) -> None:
        """Judge until told to stop."""
        try:
            self._judge(throughput.Annotator(self.base, self.token))
        except Exception as error:  # noqa: BLE001 - told by who watches
            self.failed = error

    def _judge(self, browser: throughput.Annotator) -> None:
        if self.ended.wait(random.uniform(0, self.pause)):
            return
        browser.ask("GET", browser.entry)
        at = browser.start()
        browser.ask("GET", at)
        while True:
            browser.line.close()
            if self.ended.wait(random.uniform(0.5, 1.5) * self.pause):
                return
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


def watch(crowd: Sequence[Person], minutes: int, server: int) -> None:
    """Let the crowd judge; print what each minute was like, and the whole."""
    began = time.perf_counter()
    for person in crowd:
        person.start()
    for minute in range(1, minutes + 1):
        time.sleep(max(0, began + 60 * minute - time.perf_counter()))
        at = began + 60 * (minute - 1)
        print(
            f"minute {minute}: {told(crowd, at, at + 60)}; {size(server)}", flush=True
        )
    until = time.perf_counter()
    for person in crowd:
        person.ended.set()
    for person in crowd:
        person.join()
    failed = [person.failed for person in crowd if person.failed]
    whole = told(crowd, began + 60 * WARM_UP_MINUTES, until)
    print(f"after {WARM_UP_MINUTES} minutes: {whole}; {len(failed)} people failed")
    for error in failed[:5]:
        print(f"  {error!r}")


def told(crowd: Sequence[Person], since: float, until: float) -> str:
    """Return what was done between two moments, and how long it took."""
    times = {
        name: [t for one in crowd for at, t in one.times[name] if since <= at < until]
        for name in NAMES
    }
    parts = [
        f"{name} {statistics.median(found):.1f} / {throughput.p95(found):.1f}"
        for name, found in times.items()
        if len(found) > 1
    ]
    return f"{len(times['unit'])} units; ms {', '.join(parts)}"


def children(parent: int, name: str) -> list[int]:
    """Return the processes of that name that a process has started."""
    listed = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    return [
        int(pid) for pid in listed if name in Path(f"/proc/{pid}/cmdline").read_text()
    ]


def size(server: int) -> str:
    """Return the memory of the web processes: resident, and what is theirs alone."""
    sizes = []
    for pid in children(server, "gunicorn"):
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
        kilobytes = {name: int(told) for name, told, *_unit in map(str.split, lines)}
        own = kilobytes["Private_Clean:"] + kilobytes["Private_Dirty:"]
        sizes.append(f"{kilobytes['Rss:'] / 1000:.0f} MB ({own / 1000:.0f} own)")
    return ", ".join(sizes)


if __name__ == "__main__":
    raise SystemExit(main())
