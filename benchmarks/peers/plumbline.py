"""Plumbline, served as `make run` does.

    python -m benchmarks.peers.plumbline plan NAME PEOPLE EACH
    python -m benchmarks.peers.plumbline stored NAME

are what the measurement calls, with the settings of the server.
"""

import argparse
import json
import os
import sys
from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib.metadata import version
from pathlib import Path

from benchmarks.peers import job
from benchmarks.peers.database import postgres
from benchmarks.peers.processes import run, server
from benchmarks.peers.tools import Served, Stored
from benchmarks.temporary_site import ROOT, free_port


class Plumbline:
    kind = "plumbline"
    most = 150

    def __init__(self, *, on_postgres: bool) -> None:
        self.on_postgres = on_postgres
        self.name = "Plumbline, " + ("PostgreSQL" if on_postgres else "SQLite")

    def versions(self) -> str:
        return (
            f"Plumbline on Django {version('django')}, gunicorn {version('gunicorn')}"
        )

    @contextmanager
    def ready(self, folder: Path) -> Iterator[None]:
        self.log = folder / "log"
        self.settings = {"DATA_DIR": str(folder / "data"), "DATABASE_URL": ""}
        self.database: list[int] = []
        with ExitStack() as stack:
            if self.on_postgres:
                database = stack.enter_context(postgres())
                self.settings["DATABASE_URL"] = database.uri
                self.database = [database.pid]
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
    from annotate.models import Invitation
    from annotate.presentation import same_size
    from tests.factories import make_benchmark
    from tests.working import join, make_planned

    questions = [
        {"key": key, "title": key.title(), "text": text}
        for key, text in job.QUESTIONS.items()
    ]
    definition = {
        "kind": "likert",
        "scale": [job.LOWEST, job.HIGHEST],
        "questions": questions,
        "assignment": "open",
        "redundancy": job.REDUNDANCY,
        "session_size": each + 1,  # so that each story is followed by another
    }
    benchmark = make_benchmark(
        slug=name,
        stories=job.STORIES,
        shots=job.SHOTS,
        methods=[f"M{number:02}" for number in range(job.METHODS)],
    )
    study = make_planned(json.dumps(definition), benchmark=benchmark, slug=name)
    same_size.draw(study, seconds=3600)  # or its worker would, meanwhile
    joined = [join(study) for _ in range(people)]
    return [Invitation.objects.get(annotator=person).token for person in joined]


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


def main() -> None:
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers(dest="command", required=True)
    planned = commands.add_parser("plan")
    planned.add_argument("name")
    planned.add_argument("people", type=int)
    planned.add_argument("each", type=int)
    commands.add_parser("stored").add_argument("name")
    given = vars(parser.parse_args())

    os.environ["DJANGO_SETTINGS_MODULE"] = "evalcore.settings"
    import django

    django.setup()
    command = {"plan": plan, "stored": stored}[given.pop("command")]
    print(json.dumps(command(**given)))


if __name__ == "__main__":
    main()
