"""The faults themselves: each is a function of the scene in which it strikes."""

import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from django.db import connection

from tests.pressure import power_cut
from tests.pressure.bad_network import BadNetwork
from tests.pressure.rater import Acknowledged, Rater
from tests.pressure.site import Site, kill
from tests.serving import ROOT, wait_until

MOST_REFUSED = 60  # seconds until everybody has met a full disk


@dataclass
class Scene:
    """A fault's surroundings; it says in `notes` what else was seen."""

    site: Site
    dice: random.Random
    raters: list[Rater]
    folder: Path
    away: float  # seconds, Redis
    network: BadNetwork
    notes: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    def told(self) -> list[Acknowledged]:
        """Return each answer once; repeated requests got the same reply."""
        known = [one for rater in self.raters for one in rater.acknowledged.copy()]
        return list(dict.fromkeys(known))

    def wait(self, most: float) -> None:
        time.sleep(self.dice.uniform(0, most))


def web(scene: Scene) -> None:
    """Kill a process that serves pages."""
    kill(scene.dice.choice(scene.site.web()[1]))


def master(scene: Scene) -> None:
    """Kill the master of those; `serve` ends with it, and is started again."""
    kill(scene.site.web()[0])
    scene.site.served.process.wait(30)
    scene.site.start()


def serve(scene: Scene) -> None:
    """Kill `serve` itself, and start it again at once."""
    scene.site.served.process.kill()
    scene.site.served.process.wait()
    scene.site.start()


def workers(scene: Scene) -> None:
    """Kill all of Celery at once."""
    scene.site.wait_for_workers()
    for pid in scene.site.served.pids("celery"):
        kill(pid)
    began = time.monotonic()
    scene.site.wait_for_workers()
    scene.notes.append(f"workers back after {time.monotonic() - began:.1f} s")


def redis(scene: Scene) -> None:
    """Kill the broker; pages that ring are asked for while it is gone."""
    from tests.pressure import manager

    study, session = manager.at_work()

    def ask() -> float:
        began = time.monotonic()
        status = manager.ask_for_scores(scene.site.port, study, session)
        if status != 200:
            scene.wrong.append(f"a page that rings answered {status}")
        return time.monotonic() - began

    usual = [ask() for _time in range(4)]
    scene.notes.append(f"{len(usual)} pages that ring before, longest {max(usual):.2f}")
    scene.site.redis.kill()
    end = time.monotonic() + scene.away
    times = []
    while time.monotonic() < end:
        times.append(ask())
        time.sleep(min(2.0, scene.away / 4))
    scene.site.redis.start()
    scene.notes.append(f"{len(times)} pages that ring, longest {max(times):.2f} s")


def postgres(scene: Scene) -> None:
    """Kill the database's server and every process of it; start it again."""
    scene.site.postgres.kill()
    scene.wait(2)
    scene.site.postgres.start()


def disk(scene: Scene) -> None:
    """Fill the disk, of the database, the pictures and all else; free it again."""
    from evalcore import media

    folder = scene.site.data / "media"
    before = set(folder.rglob("*.*"))
    with _full_disk(scene.site):
        if scene.site.disk:
            with suppress(OSError):
                media.prepare_picture(_picture())
                scene.wrong.append("a picture was stored on a full disk")
        _wait_for_failures(scene.raters, 2)
    if left := set(folder.rglob("*.*")) - before:
        scene.wrong.append(f"half a picture: {left}")
    media.prepare_picture(_picture())
    new = set(folder.rglob("*.*")) - before
    if len(new) != 1:
        scene.wrong.append(f"files of one picture: {new}")


@contextmanager
def _full_disk(site: Site):
    """Let nothing be written: the disk is full, or else no file may grow."""
    if site.disk:
        with connection.cursor() as cursor:  # it would be overwritten, and need no more
            cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        filler = site.disk.fill()
        yield
        filler.unlink()
        return
    for pid in site.served.pids():
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
    yield
    for pid in site.served.pids():
        most = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
        resource.prlimit(pid, resource.RLIMIT_FSIZE, most)


def _wait_for_failures(raters: list[Rater], number: int) -> None:
    """Wait until so many more requests of each have failed."""
    before = [len(rater.failed) for rater in raters]
    wait_until(
        lambda: all(
            len(rater.failed) >= known + number
            for rater, known in zip(raters, before, strict=True)
        ),
        MOST_REFUSED,
        "refused answers",
    )


def _picture() -> bytes:
    import io

    from PIL import Image

    stream = io.BytesIO()
    Image.effect_noise((800, 600), 90).save(stream, "PNG")
    return stream.getvalue()


def clock(scene: Scene) -> None:
    """Set the server's clock forward and back by hours."""
    path = scene.site.data / "clock"
    for _jump in range(3):
        path.write_text(str(scene.dice.uniform(-6 * 3600, 6 * 3600)))
        time.sleep(1)
    path.write_text("0")


def network(scene: Scene) -> None:
    """Delay, drop or repeat every second request at random."""
    scene.network.ail()
    time.sleep(6)
    scene.network.heal()
    scene.notes.append(scene.network.told())


def deploy(scene: Scene) -> None:
    """Stop the server in good order and start a new one, twice."""
    for _time in range(2):
        scene.site.stop()
        scene.site.start()
        scene.wait(2)


def power(scene: Scene) -> None:
    """Look at what is left of the database if the power went now, five times."""
    for _cut in range(5):
        scene.wait(1)
        told = scene.told()
        database = power_cut.cut(scene.site, scene.dice, scene.folder)
        scene.wrong += power_cut.missing(database, told)
    where = "of a disk of its own" if scene.site.disk else "of its files"
    scene.notes.append(f"5 copies {where}")


def backup(scene: Scene) -> None:
    """Back up while people rate, and restore it into an empty folder."""
    told = scene.told()
    place = Path(tempfile.mkdtemp(dir=scene.folder))
    (place / "restored").mkdir()
    _manage(scene, "backup", str(place / "backups"))
    _manage(scene, "restore", str(next((place / "backups").glob("2*"))), at=place)
    scene.wrong += power_cut.missing(place / "restored" / power_cut.NAME, told)


def _manage(scene: Scene, *words: str, at: Path | None = None) -> None:
    """Run a command on the server's data, or on another folder."""
    data = at / "restored" if at else scene.site.data
    variables = scene.site.variables | {"DATA_DIR": str(data)}
    done = subprocess.run(
        [sys.executable, "manage.py", *words],
        cwd=ROOT,
        env=os.environ | variables,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        scene.wrong.append(f"{words[0]} failed: {done.stderr[-500:]}")


FAULTS: dict[str, Callable[[Scene], None]] = {
    "web": web,
    "master": master,
    "serve": serve,
    "workers": workers,
    "redis": redis,
    "postgres": postgres,
    "disk": disk,
    "clock": clock,
    "network": network,
    "deploy": deploy,
    "power": power,
    "backup": backup,
}
OF_SQLITE = {"disk", "power", "backup"}
