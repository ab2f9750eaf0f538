"""Backups are made while people answer, restored, and compared with what people saw.

    python -m tests.pressure.backup
    python -m tests.with_postgres python -m tests.pressure.backup

Starts gunicorn on 127.0.0.1; people take and submit stories over HTTP and note when
each answer was sent and acknowledged. Meanwhile `manage.py backup` runs several times.
Each backup is restored into an empty database and folder of its own: what was
acknowledged before it was made must be there, and nothing that was sent after it had
ended; every promise must hold, and every original must have its sum. The last one is
served, and must show a picture. Uses databases and folders of its own that it removes.
"""

import argparse
import json
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from tests.pressure.client import Browser
from tests.pressure.drain import ROOT, Crowd, own_database
from tests.pressure.kill_workers import Rater
from tests.serving import wait_until

METHODS = 20
# Run where a backup was restored: is every original whole, and what was answered?
LOOK = """
import django
django.setup()
from annotate.models import Rating
from evalcore import media
from evalcore.models import MediaFile
for stored in MediaFile.objects.all():
    assert media.file_digest(media.original_path(stored)) == stored.sha256
answers = Rating.objects.filter(slot__study__slug="pressure", slot__state="submitted")
for code, value in answers.filter(is_current=True).values_list("slot__code", "value"):
    print(code, value)
"""
THINKING = (0.05, 0.25)  # seconds: two processors are not always busy then


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--people", type=int, default=6)
    parser.add_argument("--backups", type=int, default=4)
    parser.add_argument(
        "--pause", type=float, default=15, help="seconds before each backup"
    )
    parser.add_argument("--stories", type=int, default=500, help="of the study")
    parser.add_argument("--originals", type=int, default=400, help="files of 1 MB")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--threads", type=int, default=4)
    return parser.parse_args()


@dataclass(frozen=True)
class Told:
    """An answer, when it was sent, and when it was acknowledged."""

    code: str
    value: int
    sent: float
    at: float


class Person(threading.Thread):
    """One annotator, who takes a story after the other and submits it."""

    def __init__(self, port: int, token: str) -> None:
        super().__init__(daemon=True)
        self.browser = Browser(port, token)
        self.told: list[Told] = []
        self.failed = ""
        self.over = threading.Event()

    def run(self) -> None:
        while not self.over.wait(random.uniform(*THINKING)):
            status, slot = self.browser.post("/api/v1/slot/", {})
            if status != 200:
                self.failed = f"no slot: {status} {slot}"
                return
            value = random.randint(0, 4)
            sent = time.time()
            status, done = self.browser.post(
                f"/api/v1/slot/{slot['code']}/",
                {"answers": {"quality": value}, "seconds": 1.5},
            )
            if status != 200:
                self.failed = f"not submitted: {status} {done}"
                return
            self.told.append(Told(done["code"], value, sent, time.time()))


@dataclass
class Backup:
    """One backup: when the command ran, and what came back of it.

    What was acknowledged before `made_at`, as its manifest has it, must be in it.
    """

    path: Path
    began: float
    ended: float
    made_at: float
    restored: set[tuple[str, int]] = field(default_factory=set)


def manage(*words: object, **variables: str) -> str:
    """Run a command as `docs/backup.md` has it; return what it says."""
    done = subprocess.run(
        ["nice", sys.executable, "manage.py", *map(str, words)],
        cwd=ROOT,
        env=os.environ | variables,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"{words[0]} failed: {done.stdout}{done.stderr}")
    return done.stdout


def store_originals(number: int) -> None:
    """Store files of 1 MB that no compression makes smaller."""
    from evalcore import media
    from evalcore.models import MediaFile

    rows = []
    for _ in range(number):
        data = random.randbytes(10**6)
        sha256 = media.digest(data)
        row = MediaFile(
            sha256=sha256,
            source_sha256=sha256,
            content_type="video/mp4",
            extension="mp4",
            bytes=len(data),
            width=64,
            height=64,
        )
        path = media.original_path(row)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        rows.append(row)
    MediaFile.objects.bulk_create(rows)


def back_up(options: argparse.Namespace, folder: Path) -> list[Backup]:
    """Make the backups, with pauses in which people go on as well."""
    made = []
    for _ in range(options.backups):
        time.sleep(options.pause)
        began = time.time()
        said = manage("backup", folder / "backups")
        ended = time.time()
        print(said.strip(), f"in {ended - began:.1f} s", flush=True)
        path = Path(said.partition(": ")[0])
        told = json.loads((path / "manifest.json").read_text())["made_at"]
        made_at = datetime.fromisoformat(told).timestamp()
        made.append(Backup(path, began, ended, made_at))
    time.sleep(options.pause)
    return made


def restore(backup: Backup, folder: Path) -> None:
    """Restore a backup as another server; read its answers and sums."""
    said = manage("restore", backup.path, DATA_DIR=str(folder))
    assert said.count("every promise holds") == 2, said
    done = subprocess.run(
        [sys.executable, "-c", LOOK],
        cwd=ROOT,
        env=os.environ | {"DATA_DIR": str(folder)},
        capture_output=True,
        text=True,
        check=True,
    )
    lines = (line.split() for line in done.stdout.splitlines())
    backup.restored = {(code, int(value)) for code, value in lines}


def look_at_a_picture(options: argparse.Namespace, folder: Path, token: str) -> int:
    """Serve what was restored, and return the bytes of a picture that a page shows."""
    before = os.environ["DATA_DIR"]
    os.environ["DATA_DIR"] = str(folder)
    crowd = Crowd(options, folder)
    try:
        crowd.wait_for_server()
        person = Rater(crowd.port, token)
        at = person.begin()
        page = person.ask(at)[1].decode()
        pictures = re.findall(r'<img[^>]* src="([^"]+)"', page)
        return len(person.ask(next(one for one in pictures if one[0] == "/"))[1])
    finally:
        crowd.stop()
        os.environ["DATA_DIR"] = before


def p95(seconds: list[float]) -> float:
    return 1000 * statistics.quantiles(seconds, n=20)[-1] if len(seconds) > 1 else 0.0


def complaints(backups: list[Backup], told: list[Told]) -> list[str]:
    """Return a sentence for each answer that a backup has lost, or cannot know."""
    found = []
    for backup in backups:
        before = {(one.code, one.value) for one in told if one.at < backup.made_at}
        sent = {(one.code, one.value) for one in told if one.sent < backup.ended}
        name = backup.path.name
        found += [f"{name} has lost {one}" for one in before - backup.restored]
        found += [f"{name} knows the future: {one}" for one in backup.restored - sent]
    return found


def report(backups: list[Backup], told: list[Told]) -> None:
    """Print a row for each backup, and how long saving took."""

    def is_within(one: Told) -> bool:
        return any(one.sent < b.ended and b.began < one.at for b in backups)

    outside = [one.at - one.sent for one in told if not is_within(one)]
    print("acknowledged before | in the backup | seconds | p95 of saves during it, ms")
    for one in backups:
        saves = [t.at - t.sent for t in told if t.sent < one.ended and one.began < t.at]
        before = sum(t.at < one.made_at for t in told)
        took = one.ended - one.began
        print(f"{before} | {len(one.restored)} | {took:.1f} | {p95(saves):.0f}")
    print(f"p95 of {len(outside)} saves outside of backups: {p95(outside):.0f} ms")


def prepare(options: argparse.Namespace):
    """Return people of a large study, and one whose stories have pictures."""
    from django.core.management import call_command

    from tests.factories import make_study
    from tests.pressure.grids import add_people, make_grid

    call_command("migrate", verbosity=0)
    study = make_grid(
        "pressure", stories=options.stories, methods=METHODS, redundancy=options.people
    )
    seen = make_study(slug="seen", consented=True)
    store_originals(options.originals)
    return add_people(study, options.people), seen.annotators.first().invitation.token


def run(options: argparse.Namespace, folder: Path) -> int:
    """Run it; return how many answers are wrong in a backup."""
    import django

    django.setup()
    from django.db import connection

    annotators, token = prepare(options)
    crowd = Crowd(options, folder)
    people = [Person(crowd.port, one.invitation.token) for one in annotators]
    try:
        crowd.wait_for_server()
        for person in people:
            person.start()
        wait_until(lambda: all(one.told for one in people), 60, "everybody's answer")
        backups = back_up(options, folder)
    finally:
        for person in people:
            person.over.set()
        for person in people:
            person.join(60)
        crowd.stop()
    connection.close()
    with ExitStack() as databases:
        for number, backup in enumerate(backups):
            place = folder / f"restored-{number}"
            place.mkdir()
            databases.enter_context(own_database(place, f"restored_{number}"))
            restore(backup, place)
        shown = look_at_a_picture(options, place, token)
    told = [one for person in people for one in person.told]
    report(backups, told)
    broken = complaints(backups, told)
    broken += [person.failed for person in people if person.failed]
    print(
        f"{connection.vendor}: the last one, served, shows a picture of {shown} bytes",
        *broken[:20],
        f"{len(broken)} answers wrong",
        sep="\n",
    )
    return len(broken)


def main() -> int:
    options = arguments()
    os.environ["DJANGO_SETTINGS_MODULE"] = "evalcore.settings"
    with tempfile.TemporaryDirectory(prefix="plumbline-backup-") as name:
        os.environ["DATA_DIR"] = name
        with own_database(Path(name)):
            return int(run(options, Path(name)) > 0)


if __name__ == "__main__":
    sys.exit(main())
