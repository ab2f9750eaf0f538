"""Label Studio, as its documentation starts it, and as its containers do.

`label-studio start` serves SQLite by Django's development server, with a thread a
request. The containers run uWSGI, two processes for each processor, on PostgreSQL;
nginx, which stands before it there, is left out. Neither calls home.
"""

import json
import os
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import psycopg

from benchmarks.browser import Browser
from benchmarks.peers import job
from benchmarks.peers.job import PASSWORD, Served, Stored
from benchmarks.peers.processes import environment, postgres, run, server
from benchmarks.temporary_site import free_port

VERSION = "1.23.2"
PROCESSES = 4  # of uWSGI: two a processor
# Nothing is sent elsewhere: the figures would depend on the network.
SILENT = {
    "COLLECT_ANALYTICS": "false",
    "SENTRY_DSN": "",
    "FRONTEND_SENTRY_DSN": "",
    "LATEST_VERSION_CHECK": "false",
    "DJANGO_SETTINGS_MODULE": "core.settings.label_studio",
}


class Seat(Browser):
    """The label stream: an annotation is sent, then the next task is asked for."""

    def __init__(self, base: str, person: str) -> None:
        super().__init__(base)
        self.email, self.project = person.split()

    def enter(self) -> None:
        sign_up(self, self.email)
        self.turn()

    def answer(self, values: Sequence[int]) -> str:
        common = {"to_name": "title", "type": "choices", "origin": "manual"}
        result = [
            common | {"id": f"{key}-{self.task}", "from_name": key, "value": value}
            for key, value in zip(job.QUESTIONS, map(chosen, values), strict=True)
        ]
        path = f"/api/tasks/{self.task}/annotations?project={self.project}"
        lead_time = time.perf_counter() - self.opened
        stored = self.post(path, {"result": result, "lead_time": lead_time})
        return str(stored["id"])

    def turn(self) -> None:
        path = f"/api/dm/actions?id=next_task&project={self.project}"
        self.task = self.post(path, {"project": self.project})["id"]


def sign_up(browser: Browser, email: str) -> None:
    browser.ask("GET", "/user/signup/")
    token = {"csrfmiddlewaretoken": browser.cookies["csrftoken"]}
    if not browser.submit("/user/signup/", email=email, password=PASSWORD, **token):
        raise RuntimeError(f"{email} could not sign up")


def chosen(value: int) -> dict[str, list[str]]:
    return {"choices": [str(value)]}


class LabelStudio:
    kind = "label_studio"
    most = 30

    def __init__(self, peers: Path, *, uwsgi: bool) -> None:
        self.peers = peers
        self.uwsgi = uwsgi
        how = f"uWSGI, {PROCESSES} processes, PostgreSQL" if uwsgi else "start, SQLite"
        self.name = f"Label Studio {VERSION}, {how}"

    @contextmanager
    def ready(self, folder: Path) -> Iterator[None]:
        self.folder = folder
        self.data = folder / "data"
        packages = f"label-studio[uwsgi]=={VERSION}"
        self.python = environment(self.peers / "label-studio", packages)
        find = "import label_studio; print(label_studio.__path__[0])"
        self.home = Path(run([self.python, "-c", find]).strip())
        self.settings = SILENT | {"LABEL_STUDIO_BASE_DATA_DIR": str(self.data)}
        self.database: list[int] = []
        with ExitStack() as stack:
            if self.uwsgi:
                self.uri, pid = stack.enter_context(postgres())
                self.database = [pid]
                self.settings |= on_postgres(self.uri)
                migrate = (self.home / "manage.py", "migrate", "--verbosity", "0")
                run([self.python, *migrate], env=os.environ | self.settings)
            yield

    def _command(self, port: int) -> list[str | Path]:
        bind = f"127.0.0.1:{port}"
        if not self.uwsgi:
            return [
                *(self.python.parent / "label-studio", "start", "--no-browser"),
                *("--internal-host", "127.0.0.1", "--port", str(port)),
            ]
        return [
            *(self.python.parent / "uwsgi", "--http", bind, "--master"),
            *("--chdir", self.home, "--module", "core.wsgi:application"),
            *("--processes", str(PROCESSES), "--single-interpreter", "--lazy-apps"),
            *("--thunder-lock", "--enable-threads", "--buffer-size", "65535"),
            *("--need-app", "--disable-logging", "--post-buffering", "4096"),
            "--http-keepalive",  # as nginx would
        ]

    @contextmanager
    def served(self, name: str, people: int, each: int) -> Iterator[Served]:
        port = free_port()
        base = f"http://127.0.0.1:{port}"
        command, log = self._command(port), self.folder / "log"
        ready = f"{base}/user/login/"
        with server(command, ready, log=log, cwd=self.folder, **self.settings) as pid:
            self.project = make_project(base, name)
            names = [f"{name}-{number}@example.org" for number in range(people)]
            seats = [f"{one} {self.project}" for one in names]
            yield Served(base, seats, [pid, *self.database])

    def stored(self) -> Stored:
        """Return the choices of each annotation, by its number."""
        question = "SELECT id, result FROM task_completion WHERE project_id = "
        file = self.data / "label_studio.sqlite3"
        connection = psycopg.connect(self.uri) if self.uwsgi else sqlite3.connect(file)
        with closing(connection):
            rows = connection.execute(f"{question}{int(self.project)}").fetchall()
        return {str(number): read_result(result) for number, result in rows}


def on_postgres(uri: str) -> dict[str, str]:
    """Return the settings that name a PostgreSQL."""
    parts = urlsplit(uri)
    return {
        "DJANGO_DB": "default",
        "POSTGRE_NAME": parts.path.strip("/"),
        "POSTGRE_USER": parts.username or "postgres",
        "POSTGRE_PASSWORD": parts.password or "",
        "POSTGRE_HOST": parse_qs(parts.query)["host"][0],
    }


def make_project(base: str, name: str) -> int:
    """Sign up somebody who makes a project and imports what is judged."""
    manager = Browser(base)
    sign_up(manager, f"manager-{name}@example.org")
    settings = {
        "title": name,
        "label_config": labels(),
        "maximum_annotations": job.REDUNDANCY,
    }
    project = manager.post("/api/projects/", settings)["id"]
    manager.post(f"/api/projects/{project}/import", job.outputs())
    manager.close()
    return project


def labels() -> str:
    """Return the page: title, every shot's picture and text, and the questions."""
    values = range(job.LOWEST, job.HIGHEST + 1)
    choices = "".join(f'<Choice value="{value}"/>' for value in values)
    questions = "".join(
        f'<Header value="{text}"/>'
        f'<Choices name="{key}" toName="title" choice="single-radio" showInline="true"'
        f' required="true">{choices}</Choices>'
        for key, text in job.QUESTIONS.items()
    )
    return (
        '<View><Text name="title" value="$title"/>'
        '<Repeater on="$shots" indexFlag="{{idx}}">'
        '<Image name="picture-{{idx}}" value="$shots[{{idx}}].url"/>'
        '<Text name="caption-{{idx}}" value="$shots[{{idx}}].caption"/>'
        f"</Repeater>{questions}</View>"
    )


def read_result(result: str | list) -> list[int]:
    """Return the values of an annotation, in the order of the questions."""
    answers = json.loads(result) if isinstance(result, str) else result
    values = {one["from_name"]: one["value"]["choices"][0] for one in answers}
    return [int(values.get(key, -1)) for key in job.QUESTIONS]
