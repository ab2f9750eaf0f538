"""Forecast of a study's finish, and the chart of its arrivals. Pure."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

WIDTH, HEIGHT = 1000.0, 100.0
BROADEST = 60.0  # keeps the bars of a young study slim


@dataclass(frozen=True)
class Bar:
    """A bar of the chart: the slots submitted in one stretch of time."""

    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True)
class Chart:
    """Arrivals as bars, completion as a line."""

    bars: tuple[Bar, ...]
    line: str
    start: datetime
    end: datetime
    most: int
    table: tuple[tuple[datetime, int, int], ...]


def chart(
    arrivals: Sequence[tuple[datetime, int]], wanted: int, width: timedelta
) -> Chart | None:
    """Return the chart of arrivals in stretches of `width`; None without arrivals."""
    if not arrivals or wanted <= 0:
        return None
    start, end = arrivals[0][0], arrivals[-1][0] + width
    stretch = WIDTH * (width / (end - start))
    bar = min(max(stretch * 0.8, 1.0), BROADEST)
    most = max(n for _at, n in arrivals)
    total, bars, points, table = 0, [], [f"M0 {HEIGHT:g}"], []
    for at, n in arrivals:
        total += n
        x = WIDTH * ((at - start) / (end - start))
        left, height = x + max(stretch - bar, 0.0) / 2, HEIGHT * n / most
        bars.append(Bar(*(round(v, 1) for v in (left, HEIGHT - height, bar, height))))
        done = HEIGHT * (1 - min(total / wanted, 1.0))
        points.append(f"H{round(x, 1)} L{round(x + stretch, 1)} {round(done, 1)}")
        table.append((at, n, total))
    return Chart(tuple(bars), " ".join(points), start, end, most, tuple(table))


CONFIDENCE = 0.8
LEAST_ANSWERS = 20
DAY, HOUR = timedelta(days=1), timedelta(hours=1)
# The pace is that of the last two weeks.
WINDOW = timedelta(days=14)
# Stretches of a young study are shorter, so that there are enough of them.
WIDTHS = ((4 * DAY, DAY), (DAY, 4 * HOUR), (6 * HOUR, HOUR))
# A later finish is not worth a date.
MOST_STRETCHES = 400
PATHS, MOST_CELLS, FEWEST_PATHS = 400, 8_000, 100
# Somebody's own pauses and sittings weigh as many as they are, the study's so many.
OF_STUDY = 3.0
# Drawn again from these for each path: what is not known well differs by path.
DRAWN = 12
# Pauses in days that anybody may make, even if nobody has so far.
PAUSES = (1, 2, 4, 7, 12)
# Leaving after a stretch with answers: one in 20, known as well as from ten stretches.
LEAVE, STAY = 0.5, 9.5
# So many days in a row are alike.
ALIKE = 3
# How much the pace of all together may change, as a standard deviation of its log: in
# studies with a plan and in open ones.
CHANGES = 0.45, 0.3


@dataclass(frozen=True)
class Person:
    """An annotator who has begun, with their answers by hour, the oldest first.

    `held` ratings are planned for them. They have `left` if they hold some and have
    been away for long; people who neither work nor have left are done.
    """

    answers: tuple[tuple[datetime, int], ...]
    held: int = 0
    works: bool = True
    left: bool = False

    def since(self, start: datetime) -> int:
        """Return how many answers they have given since then."""
        return sum(n for at, n in self.answers if at > start)


@dataclass(frozen=True)
class Forecast:
    """Expected time of the last answer, or the reason why there is none."""

    reason: str
    remaining: int
    answers: int = 0
    per_day: float = 0.0
    median: datetime | None = None
    early: datetime | None = None
    late: datetime | None = None
    days: int = 0


def forecast(
    people: Sequence[Person],
    free: int,
    now: datetime,
    *,
    patience: int,
    places: float | None = None,
) -> Forecast:
    """Forecast when the ratings held by people at work and the free ones are done.

    In a study with a plan, the work of somebody who stays away for `patience` days is
    given to others. In an open one up to `places` more people come.
    """
    remaining = free + sum(one.held for one in people if one.works)
    if remaining <= 0:
        return Forecast("complete", 0)
    total = sum(one.since(now - WINDOW) for one in people)
    if total < LEAST_ANSWERS:
        return Forecast("few" if total else "none lately", remaining, total)
    span = now - min(one.answers[0][0] for one in people if one.answers)
    width = next((width for least, width in WIDTHS if span >= least), None)
    if width is None:
        return Forecast("young", remaining, total)
    sittings = [_by_stretch(one, now, width) for one in people]
    rng, per_day = np.random.default_rng(1), round(DAY / width)
    if places is None:
        plan = _Plan(people, sittings, free, patience * per_day, per_day, rng)
        ends = plan.ends()
    else:
        ends = _ends_of_open(sittings, remaining, places, per_day, rng)
    ends = np.sort(
        ends * np.exp(CHANGES[places is not None] * rng.standard_normal(len(ends)))
    )
    low, middle, high = (
        float(ends[int(share * len(ends))])
        for share in ((1 - CONFIDENCE) / 2, 0.5, (1 + CONFIDENCE) / 2)
    )
    if middle == math.inf:
        return Forecast("leaving", remaining, total)
    days = min(max(math.ceil(span / DAY), 1), WINDOW // DAY)
    goes_on = [one for one in people if one.works and (one.held or places is not None)]
    pace = sum(one.since(now - days * DAY) for one in goes_on) / days
    return Forecast(
        "",
        remaining,
        total,
        per_day=pace,
        days=days,
        median=now + middle * width,
        early=now + low * width,
        late=None if high == math.inf else now + high * width,
    )


def _by_stretch(one: Person, now: datetime, width: timedelta) -> dict[int, int]:
    """Sum somebody's answers by how many stretches ago they were given."""
    counts: dict[int, int] = {}
    for at, n in one.answers:
        ago = max(int((now - at) / width), 0)
        counts[ago] = counts.get(ago, 0) + n
    return counts


class _Plan:
    """Simulated continuations of a study in which people hold ratings.

    People alternate sittings with pauses, and leave for good after some sittings. Their
    own pauses and sittings are drawn again, mixed with those of the study.
    """

    def __init__(
        self,
        people: Sequence[Person],
        sittings: list[dict[int, int]],
        free: int,
        patience: int,
        per_day: int,
        rng: np.random.Generator,
    ) -> None:
        self.rng, self.patience = rng, patience
        at_work = [i for i, one in enumerate(people) if one.works]
        n = max(len(at_work), 1)
        self.shape = min(PATHS, max(FEWEST_PATHS, MOST_CELLS // n)), len(at_work)
        held = np.array([people[i].held for i in at_work], float) + free / n
        self.held = np.tile(held, (self.shape[0], 1))
        self.paths = np.arange(self.shape[0])
        away = [min(one, default=0) for one in sittings]
        gaps = [np.diff(sorted(-ago for ago in one)) for one in sittings]
        sizes = [np.array(list(one.values()), float) for one in sittings]
        usual = np.concatenate([*gaps, np.array(PAUSES) * per_day])
        # Without the pauses that are not over, short ones would be too many.
        for i in sorted(at_work, key=lambda i: -away[i]):
            longer = usual[usual > away[i]]
            whole = rng.choice(longer) if len(longer) else 2 * away[i]
            gaps[i] = np.append(gaps[i], whole)
            usual = np.append(usual, whole)
        self.sizes = self._drawn([sizes[i] for i in at_work], np.concatenate(sizes))
        self.gaps = self._drawn([gaps[i] for i in at_work], usual)
        left = sum(one.left for one in people)
        stayed = max(sum(map(len, sittings)) - left, 0)
        self.leaves = rng.beta(LEAVE + left, STAY + stayed, (self.shape[0], 1))
        absent = np.array([away[i] for i in at_work], float)
        self.last = np.tile(-1.0 - absent, (self.shape[0], 1))
        self._start([gaps[i][:-1] for i in at_work], usual, absent)

    def _drawn(self, own: list[Array], of_study: Array) -> Array:
        """Draw values of each person for each path, some of them of the study."""
        drawn = self.rng.choice(of_study, (*self.shape, DRAWN))
        for i, values in enumerate(own):
            if len(values):
                share = len(values) / (len(values) + OF_STUDY)
                mine = self.rng.random((self.shape[0], DRAWN)) < share
                drawn[:, i][mine] = self.rng.choice(values, mine.sum())
        return drawn

    def _start(self, own: list[Array], usual: Array, away: Array) -> None:
        """Draw who has left unnoticed, and when the others come again."""
        self.stays = np.ones(self.shape, bool)
        self.next = np.zeros(self.shape)
        for i, values in enumerate(own):
            longer, others = values[values > away[i]], usual[usual > away[i]]
            of_study = OF_STUDY * len(others) / len(usual)
            known = (len(longer) + of_study) / (len(values) + OF_STUDY)
            still = (1 - self.leaves[:, 0]) * known
            chance = still / (still + self.leaves[:, 0])
            self.stays[:, i] = self.rng.random(self.shape[0]) < chance
            if known:
                pool = np.concatenate([longer, others])
                weights = [1.0] * len(longer) + [OF_STUDY / len(usual)] * len(others)
                p = np.array(weights) / sum(weights)
                gap = self.rng.choice(pool, self.shape[0], p=p)
                self.next[:, i] = np.maximum(np.floor(gap - 1 - away[i]), 0)

    def ends(self) -> Array:
        """Return after how many stretches all is done, by path; inf if never."""
        ends = np.full(self.shape[0], math.inf)
        for t in range(MOST_STRETCHES):
            self._work(t)
            others = t - self.last <= self.patience
            self._give_to(others)
            is_done = self.held.sum(1) < 0.5
            ends[self.paths[is_done]] = t + self.rng.random(is_done.sum())
            goes_on = (others | (self.stays & (self.held > 0))).any(1) & ~is_done
            if not goes_on.any():
                break
            if not goes_on.all():
                self._keep(goes_on)
        return ends

    def _keep(self, those: Array) -> None:
        """Go on with these paths only."""
        self.paths, self.held = self.paths[those], self.held[those]
        self.stays, self.next = self.stays[those], self.next[those]
        self.last = self.last[those]

    def _work(self, t: int) -> None:
        """Let everybody work who comes in this stretch."""
        who = np.nonzero(self.stays & (self.next <= t) & (self.held > 0))
        path, n = self.paths[who[0]], len(who[0])
        sizes = self.sizes[path, who[1], self.rng.integers(DRAWN, size=n)]
        self.held[who] = np.maximum(self.held[who] - sizes, 0)
        self.last[who] = t
        self.stays[who] = self.rng.random(n) >= self.leaves[path, 0]
        gaps = self.gaps[path, who[1], self.rng.integers(DRAWN, size=n)]
        self.next[who] = t + np.maximum(gaps, 1)

    def _give_to(self, others: Array) -> None:
        """Give the work of people away for long to the others."""
        gone = ~others & (self.held > 0)
        freed, n = np.where(gone, self.held, 0).sum(1), others.sum(1)
        deals = (freed > 0) & (n > 0)
        if deals.any():
            self.held[deals] = np.where(gone[deals], 0, self.held[deals])
            share = (freed[deals] / n[deals])[:, None]
            self.held[deals] += np.where(others[deals], share, 0)


def _ends_of_open(
    sittings: list[dict[int, int]],
    remaining: int,
    places: float,
    per_day: int,
    rng: np.random.Generator,
) -> Array:
    """Return after how many stretches an open study is done, by path; inf if never.

    People come as they came before; each gives as many ratings so long after coming as
    people gave on average so far.
    """
    begun = [one for one in sittings if one]
    came = np.array([max(one) for one in begun])
    counts = np.bincount(came)
    waiting = np.cumsum(counts[::-1])[::-1]  # people who came so long ago or before
    later = np.bincount(
        [max(one) - ago for one in begun for ago in one],
        [n for one in begun for n in one.values()],
        len(counts),
    )
    per_person = later / waiting
    joined = _arrivals(counts, per_day, rng)
    joined = np.diff(np.minimum(joined.cumsum(1), places), axis=1, prepend=0.0)
    given = np.zeros(joined.shape)
    for delay, n in enumerate(per_person[:MOST_STRETCHES]):
        given[:, delay:] += joined[:, : MOST_STRETCHES - delay] * n
    for ago, n in enumerate(counts):
        rest = per_person[ago + 1 :][:MOST_STRETCHES]
        given[:, : len(rest)] += n * rest
    totals = np.array([sum(one.values()) for one in begun], float)
    error = totals.std() / totals.mean() / math.sqrt(len(totals))
    given *= np.exp(error * rng.standard_normal((PATHS, 1)))
    sums = given.cumsum(1)
    last = (sums < remaining).sum(1)
    return np.where(last < MOST_STRETCHES, last + rng.random(PATHS), math.inf)


def _arrivals(counts: Array, per_day: int, rng: np.random.Generator) -> Array:
    """Draw how many people come in each stretch, by path."""
    shape = PATHS, MOST_STRETCHES
    if per_day == 1:
        recent = counts[: WINDOW // DAY]
        again = rng.choice(recent, (PATHS, max(math.ceil(len(recent) / ALIKE), 2)))
        return np.take_along_axis(again, rng.integers(again.shape[1], size=shape), 1)
    drawn = rng.choice(counts, shape) * rng.random((PATHS, 1))
    for slot in range(per_day):  # the same time of day, if there was one
        seen = counts[per_day - 1 - slot :: per_day]
        if len(seen):
            n = len(range(slot, MOST_STRETCHES, per_day))
            drawn[:, slot::per_day] = rng.choice(seen, (PATHS, n))
    return drawn


def sessions_left(remaining: int, submitted: int, begun: int, planned: int) -> int:
    """Return how many more sessions are needed."""
    mean = submitted / begun if begun and submitted else planned
    return math.ceil(remaining / max(mean, 1))


def spearman_brown(single: float, k: float) -> float | None:
    """Return the reliability of the mean of k ratings; None without agreement."""
    if not 0 < single <= 1:
        return None
    return k * single / (1 + (k - 1) * single)
