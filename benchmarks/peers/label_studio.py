"""Label Studio, as its documentation starts it, and as its containers do.

`label-studio start` serves SQLite by Django's development server, with a thread a
request. The containers run uWSGI, two processes for each processor, on PostgreSQL;
nginx, which stands before it there, is left out. Neither calls home.
"""

import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from benchmarks.browser import Browser
from benchmarks.peers import job
from benchmarks.peers.database import postgres
from benchmarks.peers.processes import environment, run, server, version
from benchmarks.peers.seats import PASSWORD
from benchmarks.peers.tools import Served, Stored
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


class LabelStudio:
    kind = "label_studio"
    most = 30

    def __init__(self, peers: Path, *, uwsgi: bool) -> None:
        self.peers = peers
        self.uwsgi = uwsgi
        how = f"uWSGI, {PROCESSES} processes, PostgreSQL" if uwsgi else "start, SQLite"
        self.name = f"Label Studio, {how}"

    def versions(self) -> str:
        packages = ("label-studio", "django", "pyuwsgi")
        return ", ".join(f"{one} {version(self.python, one)}" for one in packages)

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
                database = stack.enter_context(postgres())
                self.uri = database.uri
                self.database = [database.pid]
                self.settings |= on_postgres(database.uri)
                self._migrate()
            yield

    def _migrate(self) -> None:
        command = [self.python, self.home / "manage.py", "migrate", "--verbosity", "0"]
        with (self.folder / "log").open("ab") as log:
            run(command, env=os.environ | self.settings, stderr=log)

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
        connect = self._postgres if self.uwsgi else self._sqlite
        with closing(connect()) as connection:
            rows = connection.execute(f"{question}{int(self.project)}").fetchall()
        return {str(number): read_result(result) for number, result in rows}

    def _postgres(self):
        import psycopg

        return psycopg.connect(self.uri)

    def _sqlite(self):
        return sqlite3.connect(self.data / "label_studio.sqlite3")


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
    manager.ask("GET", "/user/signup/")
    token = {"csrfmiddlewaretoken": manager.cookies["csrftoken"]}
    email = f"manager-{name}@example.org"
    manager.submit("/user/signup/", email=email, password=PASSWORD, **token)
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
