"""Many processes drain a study over HTTP while leases end and processes are killed.

    python -m tests.with_postgres python -m tests.pressure.drain --clients 64
    python -m tests.pressure.drain --clients 8 --slots 2000

Starts gunicorn on 127.0.0.1 and one process for each annotator; ends leases at random,
kills clients and server workers in mid-request and replaces them, and, in a planned
study, revokes people. At the end every promise is checked, and every answer that a
client saw accepted must be there. Uses a database of its own that it removes.
"""

import argparse
import os
import random
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import dj_database_url
import psycopg
from psycopg import sql

ROOT = Path(__file__).resolve().parents[2]
MOST_REDUNDANCY, METHODS = 10, 20
TICK = 0.25  # seconds between two disturbances
ENDED = 0.1  # share of the leases that end at each
LONGEST = 1800  # seconds until it gives up


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--slots", type=int, default=5000)
    parser.add_argument("--assignment", choices=["open", "planned"], default="open")
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--threads", type=int, default=4)
    parser.add_argument(
        "--killed", type=float, default=0.1, help="share of the processes to kill"
    )
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


@contextmanager
def own_database(folder: Path, called: str = "pressure"):
    """Set DATABASE_URL to a new database: on the server it names, else a file."""
    url = os.environ.get("DATABASE_URL", "")
    if not url.startswith("postgres"):
        os.environ["DATABASE_URL"] = f"sqlite:///{folder}/{called}.sqlite3"
        yield
        return
    called = f"{called}_{os.getpid()}"
    name = sql.Identifier(called)
    with psycopg.connect(url, autocommit=True) as server:
        server.execute(sql.SQL("CREATE DATABASE {}").format(name))
        parts = dj_database_url.parse(url)
        old = parts["NAME"]
        head, found, tail = url.rpartition(f"/{old}")
        assert found, "DATABASE_URL must end with the name of a database"
        os.environ["DATABASE_URL"] = f"{head}/{called}{tail}"
        try:
            yield
        finally:
            drop = sql.SQL("DROP DATABASE {} WITH (FORCE)").format(name)
            server.execute(drop)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Crowd:
    """The processes of a run: one server with workers, and one client a person."""

    def __init__(self, options: argparse.Namespace, folder: Path) -> None:
        self.port, self.folder = free_port(), folder
        self.clients: dict[str, subprocess.Popen] = {}
        self.killed = {"clients": 0, "server workers": 0}
        self.replaced: set[str] = set()
        self.server = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "gunicorn",
                "evalcore.wsgi",
                "--bind",
                f"127.0.0.1:{self.port}",
                "--workers",
                str(options.workers),
                "--threads",
                str(options.threads),
                "--log-level",
                "critical",
                "--no-control-socket",
            ],
            cwd=ROOT,
        )

    def wait_for_server(self) -> None:
        end = time.monotonic() + 60
        while time.monotonic() < end:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.2)
        raise SystemExit("The server did not start.")

    def start(self, name: str, token: str) -> None:
        path = self.folder / "acknowledged" / f"{name}.txt"
        path.parent.mkdir(exist_ok=True)
        self.clients[name] = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "tests.pressure.client",
                str(self.port),
                token,
                path,
            ],
            cwd=ROOT,
        )

    def running(self) -> list[str]:
        """Return who is at work; nobody may have failed."""
        for name, client in self.clients.items():
            if client.poll() not in (None, 0):
                raise SystemExit(f"{name} ended with {client.returncode}.")
        return [name for name, one in self.clients.items() if one.poll() is None]

    def kill_client(self, name: str) -> None:
        self.clients[name].kill()
        self.clients[name].wait()
        self.killed["clients"] += 1
        self.replaced.add(name)

    def kill_worker(self, dice: random.Random) -> None:
        """Kill a worker of the server; gunicorn starts another."""
        listed = Path(f"/proc/{self.server.pid}/task/{self.server.pid}/children")
        if workers := [int(pid) for pid in listed.read_text().split()]:
            os.kill(dice.choice(workers), 9)
            self.killed["server workers"] += 1

    def stop(self) -> None:
        for client in self.clients.values():
            client.kill()
            client.wait()
        self.server.terminate()
        try:
            self.server.wait(20)
        except subprocess.TimeoutExpired:
            self.server.kill()
            self.server.wait()


class Trouble:
    """What goes wrong while people work."""

    def __init__(self, study, crowd: Crowd, options: argparse.Namespace) -> None:
        self.study, self.crowd = study, crowd
        self.dice = random.Random(options.seed)
        self.wanted = {
            "clients": max(1, round(options.killed * options.clients)),
            "server workers": max(2, round(options.killed * options.workers)),
        }
        self.drop_outs = options.clients // 10 if options.assignment == "planned" else 0
        self.total = study.slots.count()
        self.widest = 0

    def tick(self) -> None:
        """End a few leases, and kill or revoke somebody when it is time."""
        from tests.pressure.audit import spread

        self.widest = max(self.widest, spread(self.study))
        self._end_leases()
        done = self.study.slots.filter(state="submitted").count() / self.total
        killed = self.crowd.killed
        if killed["clients"] < done * self.wanted["clients"] / 0.8:
            self._kill_client()
        if killed["server workers"] < done * self.wanted["server workers"] / 0.8:
            self.crowd.kill_worker(self.dice)
        if self.drop_outs and done > 0.2:
            self.drop_outs -= 1
            self._revoke()

    def _end_leases(self) -> None:
        from django.utils import timezone

        from annotate.responses import giving_back

        leased = self.study.slots.filter(state="leased").values_list("pk", flat=True)
        some = [pk for pk in leased if self.dice.random() < ENDED]
        past = timezone.now() - timedelta(minutes=1)
        self.study.slots.filter(pk__in=some, state="leased").update(lease_until=past)
        giving_back.release_expired()

    def _kill_client(self) -> None:
        if running := self.crowd.running():
            name = self.dice.choice(running)
            self.crowd.kill_client(name)
            person = self.study.annotators.get(name=name)
            self.crowd.start(name, person.invitation.token)

    def _revoke(self) -> None:
        """Close somebody's link, and let somebody new in who takes over."""
        from annotate.people import inviting
        from tests.pressure.grids import add_people

        if running := self.crowd.running():
            inviting.revoke(self.study.annotators.get(name=self.dice.choice(running)))
            newcomer = add_people(self.study, 1)[0]
            self.crowd.start(newcomer.name, newcomer.invitation.token)


def make_study(options: argparse.Namespace):
    from tests.pressure.grids import add_people, deal_out, make_grid

    # More people than a unit needs, so that some can drop out.
    redundancy = min(MOST_REDUNDANCY, options.clients * 2 // 3)
    study = make_grid(
        "pressure",
        stories=max(1, options.slots // redundancy // METHODS),
        methods=METHODS,
        redundancy=redundancy,
        assignment=options.assignment,
    )
    people = add_people(study, options.clients)
    if options.assignment == "planned":
        deal_out(study, people)
    return study, people


def drain(options: argparse.Namespace, folder: Path) -> int:
    """Run it; return how many promises were broken."""
    import django

    django.setup()
    from django.core.management import call_command
    from django.db import connection

    call_command("migrate", verbosity=0)
    study, people = make_study(options)
    crowd = Crowd(options, folder)
    try:
        crowd.wait_for_server()
        started = time.monotonic()
        for person in people:
            crowd.start(person.name, person.invitation.token)
        trouble = Trouble(study, crowd, options)
        while crowd.running():
            if time.monotonic() - started > LONGEST:
                raise SystemExit(f"Not done after {LONGEST} s.")
            trouble.tick()
            time.sleep(TICK)
        seconds = time.monotonic() - started
    finally:
        crowd.stop()
    found = report(study, crowd, trouble, seconds)
    connection.close()
    return found


def report(study, crowd: Crowd, trouble: Trouble, seconds: float) -> int:
    """Print counts and every broken promise; return how many."""
    from django.db import connection

    from tests.pressure.audit import acknowledged, complaints, kinds

    seen = acknowledged(crowd.folder / "acknowledged")
    events = kinds(study)
    submitted = study.slots.filter(state="submitted")
    print(
        f"{connection.vendor}, {study.assignment}: {study.slots.count()} slots and "
        f"{len(crowd.clients)} people, drained in {seconds:.0f} s "
        f"({submitted.count() / seconds:.0f} answers a second)\n"
        f"killed: {crowd.killed}; leases ended: {events['lease expired']}; "
        f"people revoked: {events['annotator revoked']}\n"
        f"answers: {submitted.filter(ordinal__isnull=False).count()} within the "
        f"redundancy, {submitted.filter(ordinal=None).count()} surplus; acknowledged "
        f"to a client: {len(seen)}\n"
        f"units differed by at most {trouble.widest} answers at any moment"
    )
    broken = complaints(study, crowd.folder / "acknowledged", crowd.replaced)
    if study.is_open and trouble.widest > 2:
        broken.append(f"units differed by {trouble.widest} answers")
    print(*broken[:50], f"{len(broken)} promises broken", sep="\n")
    return len(broken)


def main() -> int:
    options = arguments()
    os.environ["DJANGO_SETTINGS_MODULE"] = "evalcore.settings"
    with tempfile.TemporaryDirectory(prefix="plumbline-pressure-") as name:
        os.environ["DATA_DIR"] = name
        with own_database(Path(name)):
            return int(drain(options, Path(name)) > 0)


if __name__ == "__main__":
    sys.exit(main())
