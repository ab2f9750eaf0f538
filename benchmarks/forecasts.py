"""Do the 80 % intervals of the expected finish hold? Simulated studies, known ends.

    python -m benchmarks.forecasts [--studies 1000] [--seed 1] [--processes 2]
                                   [--people bursts|weekly]

Half of the studies have a plan: everybody holds ratings, works in sittings of uneven
size on uneven days, may stall for days or vanish. The others are open: people come,
some in bursts, and do one or more sittings each. Each study has one forecast, at a
random time; the manager gives the work of people who stay away to others. Prints how
many intervals hold the end, with an exact 95 % interval of that share.
`benchmarks.weekly_people` has other people, drawn by a generator written apart;
`benchmarks/results/forecasts.md` has the results.
"""

import argparse
import functools
import heapq
import multiprocessing
import time
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import pairwise
from math import inf

import numpy as np
from scipy.stats import beta

from annotate.coverage.forecast import DAY, Forecast, Person, forecast
from benchmarks.temporary_site import temporary_site

START = datetime(2026, 3, 2, tzinfo=UTC)  # a Monday
LONGEST = 500.0  # days


@dataclass
class Worker:
    """A simulated person; times are days since the start."""

    came: float
    gap: float
    size: float
    bursts: bool = False
    cap: float = inf
    held: int = 0
    replaced: bool = False
    sittings: list[tuple[float, int]] = field(default_factory=list)

    @property
    def seen(self) -> float:
        return self.sittings[-1][0] if self.sittings else -inf

    @property
    def room(self) -> float:
        return self.cap - sum(n for _at, n in self.sittings)

    def sitting(self, rng: np.random.Generator) -> int:
        spread = 1.0 if self.bursts else 0.4
        return max(1, int(self.size * rng.lognormal(0, spread)))


@dataclass
class Study:
    """A simulated study; `vanish` and `stall` are chances after each sitting.

    The manager looks every `looks` days and gives away the work of people absent for
    `give` days.
    """

    people: list[Worker]
    free: int
    vanish: float
    stall: float
    is_open: bool
    give: float = inf
    looks: float = 1
    day: float = 0
    events: list[tuple[float, int]] = field(default_factory=list)

    def start(self) -> None:
        self.events = [(one.came, i) for i, one in enumerate(self.people)]
        heapq.heapify(self.events)

    @property
    def left(self) -> int:
        return self.free + sum(one.held for one in self.people)

    @property
    def next_at(self) -> float:
        return self.events[0][0] if self.events else inf

    def step(self, rng: np.random.Generator) -> float:
        """Let the next person work, after the manager looked on each day before."""
        at, i = heapq.heappop(self.events)
        one = self.people[i]
        while self.day < at:
            self.day += self.looks
            self._redeal()
        done = min(one.sitting(rng), self.free if self.is_open else one.held)
        done = int(min(done, one.room))
        if self.is_open:
            self.free -= done
        else:
            one.held -= done
        if done:
            one.sittings.append((at, done))
            if rng.random() < self.vanish:
                return at
        if done or not self.is_open:
            heapq.heappush(self.events, (at + self._pause(one, at, rng), i))
        return at

    def _pause(self, one: Worker, at: float, rng: np.random.Generator) -> float:
        gap = one.gap * rng.lognormal(0, 1.0 if one.bursts else 0.5)
        if rng.random() < self.stall:
            gap += rng.uniform(3, 12)
        rests = not self.is_open and (at + gap) % 7 >= 5 and rng.random() < 0.6
        return gap + 2 * rests  # after the weekend

    def _redeal(self) -> None:
        """Give what absent people hold to the people seen since."""
        begun = [one for one in self.people if one.sittings]
        gone = [p for p in begun if p.held and self.day - p.seen > self.give]
        takers = [p for p in begun if self.day - p.seen <= self.give]
        freed = sum(p.held for p in gone)
        if not (freed and takers):
            return
        for one in gone:
            one.held, one.replaced = 0, True
        for i, one in enumerate(takers):
            one.held += freed // len(takers) + (i < freed % len(takers))


def planned(rng: np.random.Generator) -> Study:
    """Draw a study in which everybody has a share."""
    n, share = int(rng.integers(3, 25)), int(rng.integers(20, 120))
    pace = rng.lognormal(np.log(1.3), 0.3)
    people = [
        Worker(
            came=rng.exponential(1.5),
            gap=pace * rng.lognormal(0, 0.5),
            size=share / rng.uniform(3, 10),
            bursts=rng.random() < 0.25,
            held=share,
        )
        for _ in range(n)
    ]
    vanish, stall = rng.uniform(0, 0.06, 2)
    looks = rng.uniform(0.5, 4)
    return Study(people, 0, vanish, stall, is_open=False, looks=looks)


def open_study(rng: np.random.Generator) -> Study:
    """Draw a study that people join, over days or over hours."""
    over_hours = rng.random() < 0.35
    length = rng.uniform(0.3, 1.5) if over_hours else rng.uniform(5, 30)
    per_day = rng.uniform(60, 400) if over_hours else rng.uniform(2, 25)
    size, most = rng.uniform(5, 20), int(rng.integers(1, 4))
    came, level = [], 0.0
    for day in range(int(2 * length) + 40):
        level = 0.5 * level + rng.normal(0, 0.4)
        n = rng.poisson(per_day * np.exp(level))
        came += list(day + rng.uniform(0.33, 0.96, n))
        if rng.random() < 0.1:  # a burst: people of one message
            n = rng.poisson(per_day)
            came += list(day + rng.uniform(0.33, 0.9) + rng.uniform(0, 0.08, n))
    people = [
        Worker(at, rng.lognormal(0, 0.5), size * rng.lognormal(0, 0.3))
        for at in sorted(came)
    ]
    for one in people:
        one.cap = round(size * most)
    wanted = int(per_day * length * size * (1 + most) / 2)
    return Study(people, max(wanted, 40), rng.uniform(0.1, 0.5), 0.03, is_open=True)


@dataclass(frozen=True)
class Outcome:
    """A forecast, and the time of the real end in days from the look."""

    family: str
    found: Forecast
    now: datetime
    end: float
    seconds: float

    @property
    def holds(self) -> bool:
        early, late = (
            self._days(at, inf) for at in (self.found.early, self.found.late)
        )
        return early <= self.end <= late

    @property
    def ends_before(self) -> bool:
        return self.end < self._days(self.found.early, inf)

    @property
    def ratio(self) -> float:
        """Return the expected time left as a share of the real one."""
        return self._days(self.found.median, inf) / max(self.end, 1e-3)

    def _days(self, at: datetime | None, otherwise: float) -> float:
        return (at - self.now) / DAY if at else otherwise


def outcome(number: int, seed: int) -> Outcome | None:
    """Run a study, forecast at a random time, and run it to its end."""
    rng = np.random.default_rng([seed, number])
    study = planned(rng) if number % 2 else open_study(rng)
    study.give = 7.0 if rng.random() < 0.5 else inf
    study.start()
    total, at, share = study.left, 0.0, rng.uniform(0.15, 0.9)
    while total - study.left < share * total:
        if study.next_at > LONGEST:
            return None
        at = study.step(rng)
    now = at + rng.uniform(0, 0.3 * min(at, 3.0))
    while study.next_at <= now:
        study.step(rng)
    patience = patience_of(_pauses(study))
    people = [_known(one, now, patience) for one in study.people if one.came <= now]
    if study.left == 0:
        return None
    for one, known in zip(study.people, people, strict=False):
        if not known.works:
            one.held = 0  # is not part of the forecast
    for one in study.people[len(people) :]:
        one.held = 0
    study.give = patience
    if study.left == 0:
        return None
    clock = time.process_time()
    moment = START + now * DAY
    places = inf if study.is_open else None
    found = forecast(people, study.free, moment, patience=patience, places=places)
    spent = time.process_time() - clock
    end = at = now
    while study.left and study.next_at < LONGEST:
        at = study.step(rng)
    end = at - now if study.left == 0 else inf
    return Outcome("open" if study.is_open else "plan", found, moment, end, spent)


def _pauses(study: Study) -> list[int]:
    return [
        int(b) - int(a)
        for one in study.people
        for (a, _n), (b, _m) in pairwise(one.sittings)
        if int(b) > int(a)
    ]


def _known(one: Worker, now: float, patience: int) -> Person:
    """Return what the server knows about somebody."""
    here = now - one.seen <= patience
    return Person(
        tuple((START + at * DAY, n) for at, n in one.sittings),
        held=one.held,
        works=here,
        left=bool(one.sittings) and not here and bool(one.held or one.replaced),
    )


def patience_of(pauses: list[int]) -> int:
    """Return after how many days somebody is away, as the server counts."""
    from annotate.people import presence

    return presence.patience_of(pauses)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--studies", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--people", choices=("bursts", "weekly"), default="bursts")
    given = parser.parse_args()
    # Imports this module.
    from benchmarks import weekly_people

    run = weekly_people.outcome if given.people == "weekly" else outcome
    job = functools.partial(run, seed=given.seed)
    with temporary_site(), multiprocessing.Pool(given.processes) as pool:
        rows = [row for row in pool.map(job, range(given.studies), 10) if row]
    for name, part in (
        ("with a plan", [row for row in rows if row.family == "plan"]),
        ("open", [row for row in rows if row.family == "open"]),
        ("all", rows),
    ):
        show(name, part)


def show(name: str, rows: list[Outcome]) -> None:
    """Print a row of the table, and why forecasts have no date."""
    dated = [row for row in rows if not row.found.reason]
    n, k = len(dated), sum(row.holds for row in dated)
    holds, low, high = (
        k / n,
        beta.ppf(0.025, k, n - k + 1),
        beta.ppf(0.975, k + 1, n - k),
    )
    within = f"{holds:.1%} [{low:.1%}, {high:.1%}]"
    early = np.mean([row.ends_before for row in dated])
    endless = np.mean([row.found.late is None for row in dated])
    ratios = [row.ratio for row in dated if row.end < inf]
    low, middle, high = np.quantile(ratios, (0.1, 0.5, 0.9))
    usual, slow = 1000 * np.quantile([row.seconds for row in dated], (0.5, 0.95))
    why = Counter(row.found.reason for row in rows if row.found.reason)
    print(
        f"| {name} | {len(dated)} of {len(rows)} | {within} | {early:.1%} "
        f"| {1 - holds - early:.1%} | {endless:.1%} "
        f"| {middle:.2f} ({low:.2f} to {high:.2f}) | {usual:.0f} / {slow:.0f} ms "
        f"| {dict(why)} |"
    )


if __name__ == "__main__":
    main()
