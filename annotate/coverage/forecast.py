"""Forecast of a study's finish, and the chart of its arrivals. Pure."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import NormalDist, fmean

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
# The pace is measured over two weeks, in whole days once there are LEAST_DAYS.
WINDOW = timedelta(days=14)
LEAST_DAYS, LEAST_HOURS = 4, 6
# A later finish is not worth a date.
HORIZON = timedelta(days=3650)


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
    arrivals: Iterable[tuple[datetime, int]], remaining: int, now: datetime
) -> Forecast:
    """Forecast when the `remaining` slots will be submitted."""
    recent = [(at, n) for at, n in arrivals if now - WINDOW < at <= now]
    total = sum(n for _at, n in recent)
    if remaining <= 0:
        return Forecast("complete", 0, total)
    if not total:
        return Forecast("none lately", remaining)
    if total < LEAST_ANSWERS:
        return Forecast("few", remaining, total)
    span = now - recent[0][0]
    width, least = (
        (DAY, LEAST_DAYS) if span >= LEAST_DAYS * DAY else (HOUR, LEAST_HOURS)
    )
    counts = stretches(recent, width, now)
    if len(counts) < least or not any(
        counts
    ):  # all are in the current, unfinished stretch
        return Forecast("young", remaining, total)
    early, middle, late = time_left(counts, remaining)
    return Forecast(
        "",
        remaining,
        total,
        per_day=fmean(counts) * (DAY / width),
        median=_at(now, middle, width),
        early=_at(now, early, width),
        late=_at(now, late, width),
        days=math.ceil(span / DAY),
    )


def _at(now: datetime, stretches_left: float, width: timedelta) -> datetime | None:
    if stretches_left * width.total_seconds() > HORIZON.total_seconds():
        return None
    return now + stretches_left * width


def stretches(
    arrivals: Sequence[tuple[datetime, int]], width: timedelta, now: datetime
) -> list[int]:
    """Sum arrivals over whole stretches that end now, the latest first."""
    n = int((now - arrivals[0][0]) / width)
    counts = [0] * n
    for at, count in arrivals:
        place = int((now - at - HOUR / 2) / width)  # by the middle of the hour
        if place < n:
            counts[place] += count
    return counts


def time_left(counts: Sequence[int], remaining: int) -> tuple[float, float, float]:
    """Return the lower limit, the middle and the upper limit, in stretches of time."""
    n, m = len(counts), fmean(counts)
    squares = sum((count - m) ** 2 for count in counts) / (n - 1)
    v = max(squares, m)
    q = student(0.5 + CONFIDENCE / 2, n - 1)
    a = m * m - q * q * v / n
    b = 2 * m * remaining + q * q * v
    root = math.sqrt(max(b * b - 4 * a * remaining**2, 0.0))
    # This form avoids cancellation where a is small.
    early = 2 * remaining**2 / (b + root)
    late = (b + root) / (2 * a) if a > 0 else math.inf
    return early, remaining / m, late


def student(p: float, degrees: int) -> float:
    """Return a quantile of Student's t by the Cornish-Fisher expansion."""
    z = NormalDist().inv_cdf(p)
    d = float(degrees)
    return (
        z
        + (z**3 + z) / (4 * d)
        + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * d**2)
        + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * d**3)
    )


def sessions_left(remaining: int, submitted: int, begun: int, planned: int) -> int:
    """Return how many more sessions are needed."""
    mean = submitted / begun if begun and submitted else planned
    return math.ceil(remaining / max(mean, 1))


def spearman_brown(single: float, k: float) -> float | None:
    """Return the reliability of the mean of k ratings; None without agreement."""
    if not 0 < single <= 1:
        return None
    return k * single / (1 + (k - 1) * single)
