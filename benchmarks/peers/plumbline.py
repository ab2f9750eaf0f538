"""Plumbline, served as `make run` does.

The measurement calls this module with the settings of the server, `plan NAME PEOPLE
EACH` and `stored NAME`.
"""

import json
import os
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from benchmarks.human_pace import Annotator, open_study
from benchmarks.peers import job
from benchmarks.peers.job import Served, Stored
from benchmarks.peers.processes import postgres, run, server
from benchmarks.temporary_site import ROOT, free_port


class Seat(Annotator):
    """The page of a story: all answers and the submission are one request."""

    def enter(self) -> None:
        self.ask("GET", self.entry)
        self.following = self.start()
        self.turn()

    def answer(self, values: Sequence[int]) -> str:
        self.following = self.save(self.at, values)
        return self.at.split("/")[-2]

    def turn(self) -> None:
        self.at = self.following
        if "/story/" not in self.at:
            raise RuntimeError(f"no further story: {self.at}")
        self.ask("GET", self.at)


class Plumbline:
    kind = "plumbline"
    most = 150

    def __init__(self, *, on_postgres: bool) -> None:
        self.on_postgres = on_postgres
        self.name = "Plumbline, " + ("PostgreSQL" if on_postgres else "SQLite")

    @contextmanager
    def ready(self, folder: Path) -> Iterator[None]:
        self.log = folder / "log"
        self.settings = {"DATA_DIR": str(folder / "data"), "DATABASE_URL": ""}
        self.database: list[int] = []
        with ExitStack() as stack:
            if self.on_postgres:
                uri, pid = stack.enter_context(postgres())
                self.settings["DATABASE_URL"], self.database = uri, [pid]
            self._call("manage.py", "migrate", "--verbosity", "0")
            yield

    @contextmanager
    def served(self, name: str, people: int, each: int) -> Iterator[Served]:
        self.study = name
        numbers = (str(people), str(each))
        tokens = json.loads(self._call("-m", __spec__.name, "plan", name, *numbers))
        port = free_port()
        base = f"http://127.0.0.1:{port}"
        command = [sys.executable, "manage.py", "serve", "--port", str(port)]
        health = f"{base}/healthz"
        with server(command, health, log=self.log, cwd=ROOT, **self.settings) as pid:
            yield Served(base, tokens, [pid, *self.database])

    def stored(self) -> Stored:
        return json.loads(self._call("-m", __spec__.name, "stored", self.study))

    def _call(self, *words: str) -> str:
        settings = os.environ | self.settings
        return run([sys.executable, *words], cwd=ROOT, env=settings)


def plan(name: str, people: int, each: int) -> list[str]:
    """Store an open study; return the tokens of people who may work."""
    # So that each story is followed by another.
    return open_study(people, name, session_size=each + 1)


def stored(name: str) -> Stored:
    """Return the ratings of submitted slots, by the slot's code."""
    from annotate.models import Rating, Slot

    keys = list(job.QUESTIONS)
    found: Stored = defaultdict(lambda: [-1] * len(keys))
    rows = Rating.objects.filter(
        slot__unit__study__slug=name, slot__state=Slot.State.SUBMITTED, is_current=True
    )
    for code, key, value in rows.values_list("slot__code", "question__key", "value"):
        found[code][keys.index(key)] = value
    return found


if __name__ == "__main__":
    os.environ["DJANGO_SETTINGS_MODULE"] = "evalcore.settings"
    import django

    django.setup()
    command, name, *numbers = sys.argv[1:]
    answer = plan(name, *map(int, numbers)) if command == "plan" else stored(name)
    print(json.dumps(answer))
