"""Simulated people with weekly rhythms, to check forecasts of the expected finish.

Written apart from the generator of `benchmarks.forecasts`, whose studies chose the
forecast's constants. Pauses are lognormal, on the days and hours when somebody works. A
fifth of the people leave after a sitting or two, a quarter start days late, 4 % never.
Open studies get people by week days, in waves and by messages; a third have too few
places or nearly so.
"""

import heapq
import time
from itertools import pairwise
from math import inf

import numpy as np

from annotate.coverage.forecast import DAY, Person, forecast
from benchmarks.forecasts import START, Outcome, patience_of

LONGEST = 400.0  # days
# How likely people work on each day of the week: office, weekends, any day, some days.
WEEKS = [
    (1, 1, 1, 1, 0.8, 0.15, 0.1),
    (0.3, 0.3, 0.3, 0.3, 0.4, 1, 1),
    (1,) * 7,
    (1, 0.2, 1, 0.2, 1, 0.1, 0.4),
]


class Worker:
    """A simulated person; times are days since the start."""

    def __init__(self, rng, start: float, share: int) -> None:
        leaves_early = rng.random() < 0.2
        self.start, self.held, self.cap = start, share, inf
        self.pause, self.spread = rng.lognormal(0.0, 0.7), rng.uniform(0.5, 1.2)
        self.size = max(share / rng.uniform(2, 12), 1) if share else 10.0
        self.week = WEEKS[rng.choice(4, p=[0.5, 0.15, 0.25, 0.1])]
        self.hours = rng.uniform(8, 14), rng.uniform(16, 23)
        self.leaves = 0.4 if leaves_early else 0.01
        self.sittings: list[tuple[float, int]] = []
        self.replaced = False

    @property
    def seen(self) -> float:
        return self.sittings[-1][0] if self.sittings else -inf

    def moment(self, rng, at: float) -> float:
        """Return when they work next from a time on."""
        for _ in range(15):
            if rng.random() < self.week[int(at) % 7]:
                break
            at = int(at) + 1.0
        found = int(at) + rng.uniform(*self.hours) / 24
        return found if found > at else at + rng.uniform(0, 0.05)


class Study:
    """A study and its manager, who looks every `looks` days."""

    def __init__(self, number: int, rng) -> None:
        self.rng, self.is_open = rng, number % 2 == 0
        self.free, self.places = 0, inf
        if self.is_open:
            self._open()
        else:
            self._plan()
        self.give = 7.0 if rng.random() < 0.5 else inf
        self.looks, self.day = rng.uniform(0.5, 3), 0.0
        self.events = [
            (one.start if self.is_open else one.moment(rng, one.start), i)
            for i, one in enumerate(self.people)
            if one.start < inf
        ]
        heapq.heapify(self.events)

    def _plan(self) -> None:
        rng = self.rng
        n, share = int(rng.integers(3, 31)), int(rng.integers(15, 150))
        self.people = []
        for _ in range(n):
            kind = rng.random()
            late = rng.uniform(3, 14) if 0.04 <= kind < 0.3 else rng.exponential(1.0)
            self.people.append(Worker(rng, inf if kind < 0.04 else late, share))

    def _open(self) -> None:
        rng = self.rng
        per_day, length = rng.lognormal(np.log(8), 0.8), rng.uniform(4, 25)
        week, size = WEEKS[rng.choice([0, 2])], rng.uniform(4, 20)
        came, level, messages = [], 0.0, rng.random() < 0.3
        for day in range(int(3 * length) + 30):
            level = 0.6 * level + rng.normal(0, 0.35)
            mean = per_day * np.exp(level) * week[day % 7] * (0.3 if messages else 1)
            came += list(day + rng.uniform(0.3, 0.98, rng.poisson(mean)))
            if messages and rng.random() < 0.2:
                hour = rng.uniform(0.35, 0.8)
                came += list(
                    day + hour + rng.exponential(0.1, rng.poisson(4 * per_day))
                )
        most, self.people = int(rng.integers(1, 4)), []
        for at in sorted(came):
            one = Worker(rng, at, 0)
            one.size = size * rng.lognormal(0, 0.4)
            stops = 0.2 if rng.random() < 0.2 else 0  # in the middle of a sitting
            one.cap = max(int(one.size * stops or size * most), 1)
            self.people.append(one)
        self.free = max(int(per_day * length * size * (1 + most) * 0.4), 40)
        if rng.random() < 0.3:
            self.places = int(len(self.people) * rng.uniform(0.4, 1))
            self.people = self.people[: self.places]

    @property
    def left(self) -> int:
        return self.free + sum(one.held for one in self.people)

    @property
    def next_at(self) -> float:
        return self.events[0][0] if self.events else inf

    def step(self) -> float:
        """Let the next person work, after the manager looked on the days before."""
        rng = self.rng
        at, i = heapq.heappop(self.events)
        one = self.people[i]
        while self.day < at:
            self.day += self.looks
            self._redeal()
        n = max(1, int(one.size * rng.lognormal(0, 0.6)))
        rest = one.cap - sum(k for _at, k in one.sittings)
        n = int(min(n, rest, self.free if self.is_open else one.held))
        if n > 0:
            self.free -= n * self.is_open
            one.held -= n * (not self.is_open)
            one.sittings.append((at, n))
            if rng.random() < one.leaves:
                return at
        if n > 0 or not self.is_open:
            after = at + one.pause * rng.lognormal(0, one.spread)
            heapq.heappush(self.events, (one.moment(rng, after), i))
        return at

    def _redeal(self) -> None:
        """Give what absent people hold to the others."""
        begun = [one for one in self.people if one.sittings]
        gone = [p for p in begun if p.held and self.day - p.seen > self.give]
        takers = [p for p in begun if self.day - p.seen <= self.give]
        freed = sum(p.held for p in gone)
        if freed and takers:
            for one in gone:
                one.held, one.replaced = 0, True
            for i, one in enumerate(takers):
                one.held += freed // len(takers) + (i < freed % len(takers))


def outcome(number: int, seed: int) -> Outcome | None:
    """Run a study, forecast at a random time, and run it to its end."""
    rng = np.random.default_rng([seed, number, 77])
    study = Study(number, rng)
    total, at, share = study.left, 0.0, rng.uniform(0.1, 0.95)
    while total - study.left < share * total:
        if study.next_at > LONGEST:
            return None
        at = study.step()
    now = at + rng.uniform(0, min(1.5, 0.3 * at))
    while study.next_at <= now:
        study.step()
    people = _known(study, now)
    if study.left == 0:
        return None
    places = None
    if study.is_open:
        places = inf if study.places == inf else len(study.people) - len(people)
    moment, clock = START + now * DAY, time.process_time()
    found = forecast(
        people, study.free, moment, patience=int(study.give), places=places
    )
    spent = time.process_time() - clock
    end = now
    while study.left and study.next_at < LONGEST:
        end = study.step()
    end = end - now if study.left == 0 else inf
    family = "open" if study.is_open else "plan"
    return Outcome(family, found, moment, end, spent)


def _known(study: Study, now: float) -> list[Person]:
    """Return what the server knows about people; only work in the forecast is left."""
    pauses = [
        int(b) - int(a)
        for one in study.people
        for (a, _n), (b, _m) in pairwise(one.sittings)
        if int(b) > int(a)
    ]
    study.give = patience_of(pauses)
    known = []
    for one in study.people:
        here = now - one.seen <= study.give
        if one.sittings:
            answers = tuple((START + at * DAY, n) for at, n in one.sittings)
            left = not here and bool(one.held or one.replaced)
            known.append(Person(answers, held=one.held, works=here, left=left))
        if not here:
            one.held = 0  # is not part of the forecast
    return known
