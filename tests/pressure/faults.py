"""Faults that a study has to survive, each while people rate.

    python -m tests.pressure.faults web --repeat 5
    python -m tests.pressure.faults redis --away 300
    python -m tests.pressure.faults all --repeat 100 --seed 1
    python -m tests.pressure.faults all --postgres

Each line says how many answers the server had acknowledged before the fault and in the
end, what became of them, how many requests failed, and after how many seconds every
person's answers were taken again. Whatever is acknowledged and lost, stored twice or
over the redundancy, or found by `verify`, fails the run, and so does a fault that is
not over in time. A small disk is mounted for it where that is allowed.
"""

import argparse
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from dataclasses import astuple, dataclass, fields, replace
from itertools import pairwise
from pathlib import Path

from django.db import connections

from tests.pressure.bad_network import BadNetwork
from tests.pressure.rater import Rater
from tests.pressure.site import Site
from tests.pressure.strikes import FAULTS, OF_SQLITE, Scene

MOST_BACK = 60  # seconds until the answers of all are taken again
BEFORE, AFTER = 3, 2  # stories of each person
SAVES = 4  # of a story: three answers, and that it is done
REDUNDANCY, STORIES, STORIES_A_SECOND = 3, 400, 8


@dataclass
class Line:
    """Results of one fault; those of the same fault can be added."""

    fault: str
    times: int
    seconds: float
    acknowledged_before: int
    acknowledged: int
    stored: int
    lost: int
    twice: int
    over_k: int
    verify: int
    requests_failed: int
    silent: float  # seconds, the longest that somebody waited from answer to answer
    back_after: float  # seconds
    notes: str = ""

    def __str__(self) -> str:
        cells = [
            f"{value:.1f}" if isinstance(value, float) else str(value)
            for value in astuple(self)
        ]
        return f"| {' | '.join(cells)} |"


def heading() -> str:
    names = [one.name.replace("_", " ") for one in fields(Line)]
    return f"| {' | '.join(names)} |\n{'|---' * len(names)}|"


def summed(lines: list[Line]) -> Line:
    """Return lines of one fault as one: counts added, of times the longest."""
    whole = replace(lines[0], notes="")
    for one in fields(Line):
        if one.type in (int, float):
            add = max if one.name in ("silent", "back_after") else sum
            setattr(whole, one.name, add(getattr(line, one.name) for line in lines))
    return whole


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("faults", nargs="+", choices=[*FAULTS, "all"])
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--postgres", action="store_true")
    parser.add_argument("--people", type=int, default=4)
    parser.add_argument("--away", type=float, default=20, help="seconds without Redis")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def chosen(options: argparse.Namespace, dice: random.Random) -> list[str]:
    """Return the faults to go through, in their order; of `all` by chance."""
    left_out = OF_SQLITE if options.postgres else {"postgres"}
    known = [name for name in FAULTS if name not in left_out]
    if "all" not in options.faults:
        return options.faults * options.repeat
    if options.repeat == 1:
        return known
    return [dice.choice(known) for _time in range(options.repeat)]


def endure(
    site: Site, name: str, number: int, options: argparse.Namespace, folder: Path
) -> tuple[Line, list[str]]:
    """Let people rate while a fault strikes; return the line, and what is wrong."""
    from tests.pressure.audit import witnessed
    from tests.pressure.grids import add_people, make_grid

    dice = random.Random(f"{options.seed} {number}")
    more = round(STORIES_A_SECOND * options.away) if name == "redis" else 0
    study = make_grid(
        f"{name}-{number}", stories=STORIES + more, methods=1, redundancy=REDUNDANCY
    )
    way = BadNetwork(site.port, dice)
    way.start()
    port, patience = (way.port, 3) if name == "network" else (site.port, 30)
    raters = [
        Rater(port, one.invitation.token, patience)
        for one in add_people(study, options.people)
    ]
    scene = Scene(site, dice, raters, folder, options.away, way)
    for rater in raters:
        rater.start()
    try:
        _wait_for_stories(raters, 0.0, BEFORE)
        scene.wait(1)
        before, began = len(scene.told()), time.monotonic()
        FAULTS[name](scene)
        over = time.monotonic()
        back = _wait_for_stories(raters, over, AFTER)
    finally:
        for rater in raters:
            rater.over.set()
        for rater in raters:
            rater.join(options.away + 40)
        way.stop()
    told = scene.told()
    connections.close_all()  # the database may have been started again
    found = witnessed(study, told)
    failed = [what for rater in raters for what in rater.failed]
    line = Line(
        fault=name,
        times=1,
        seconds=time.monotonic() - began,
        acknowledged_before=before,
        acknowledged=len(told),
        stored=found.stored,
        lost=len(found.lost),
        twice=len(found.twice),
        over_k=len(found.over),
        verify=len(found.verify),
        requests_failed=len(failed),
        silent=max(_silences(raters)),
        back_after=back,
        notes="; ".join([*scene.notes, *_kinds(failed)]),
    )
    wrong = [*scene.wrong, *found.lost, *found.twice, *found.over, *found.verify]
    return line, [f"{name}: {what}" for what in wrong]


def _wait_for_stories(raters: list[Rater], since: float, number: int) -> float:
    """Wait for so many submitted stories of each; return when all were heard again."""

    def answers(rater: Rater) -> list[float]:
        return [at for at in rater.answered_at if at > since]

    deadline = time.monotonic() + MOST_BACK
    while any(len(answers(rater)) < SAVES * number for rater in raters):
        if time.monotonic() > deadline:
            told = [rater.failed[-1:] for rater in raters]
            raise SystemExit(f"Not back within {MOST_BACK} s: {told}")
        time.sleep(0.05)
    return max(answers(rater)[0] for rater in raters) - since


def _silences(raters: list[Rater]) -> list[float]:
    """Return the longest time that each person had to wait from answer to answer."""
    return [
        max(b - a for a, b in pairwise(times))
        for times in (rater.answered_at for rater in raters)
    ]


def _kinds(failed: list[str]) -> list[str]:
    """Return in what ways requests failed, and how often."""
    counted = Counter(what.partition(": ")[2][:70] for what in failed)
    return [f"{count} x {what}" for what, count in counted.most_common(4)]


def run(options: argparse.Namespace, folder: Path) -> int:
    """Go through the faults; return how much is wrong."""
    site = Site(folder, postgres=options.postgres)
    os.environ |= site.variables | {"DATA_DIR": str(site.data)}
    try:
        import django

        django.setup()
        from django.core.management import call_command

        call_command("migrate", verbosity=0)
        site.start()
        site.wait_for_workers()
        print(heading())
        known: dict[str, list[Line]] = {}
        wrong: list[str] = []
        dice = random.Random(options.seed)
        for number, name in enumerate(chosen(options, dice)):
            line, complaints = endure(site, name, number, options, folder)
            print(line, *complaints[:20], sep="\n", flush=True)
            known.setdefault(name, []).append(line)
            wrong += complaints
        site.stop()
    finally:
        connections.close_all()
        site.end()
    if options.repeat > 1:
        print("\nin all:", heading(), *map(summed, known.values()), sep="\n")
    print(f"{len(wrong)} promises broken")
    return len(wrong)


def main() -> int:
    options = arguments()
    signal.signal(signal.SIGTERM, lambda *_how: sys.exit("ended"))  # and tidied up
    # In memory, where there is such a folder: what is killed there is no disk. Only
    # PostgreSQL, whose recovery writes everything through, would notice.
    where = "/dev/shm" if options.postgres and os.path.isdir("/dev/shm") else None
    with tempfile.TemporaryDirectory(prefix="plumbline-faults-", dir=where) as name:
        return int(run(options, Path(name)) > 0)


if __name__ == "__main__":
    sys.exit(main())
