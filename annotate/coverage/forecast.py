"""When a study will be complete, how sure its figures are, and its chart. Pure."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import NormalDist, fmean

WIDTH, HEIGHT = 1000.0, 100.0
BROADEST = 60.0  # bars of a young study are no walls
QUIET = timedelta(days=2)


@dataclass(frozen=True)
class Bar:
    """How many slots arrived in one stretch of time."""

    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True)
class Chart:
    """Arrivals as bars, completion as a line, the forecast as a wedge."""

    bars: tuple[Bar, ...]
    line: str
    area: str
    wedge: str
    start: datetime
    end: datetime
    most: int
    now: float | None
    table: tuple[tuple[datetime, int, int], ...]


def chart(
    arrivals: Sequence[tuple[datetime, int]],
    wanted: int,
    width: timedelta,
    now: datetime,
    ends: Sequence[datetime | None] = (),
) -> Chart | None:
    """Draw arrivals in stretches of `width`, and the completion after each."""
    if not arrivals or wanted <= 0:
        return None
    start, done_until = arrivals[0][0], arrivals[-1][0] + width
    lively = now - done_until <= max(QUIET, done_until - start)
    last = now if lively else done_until
    end = max(_horizon(start, last, ends), done_until) if lively else done_until
    span = max((end - start) / width, 1.0)

    def x(at: datetime) -> float:
        return round(min((at - start) / width / span, 1.0) * WIDTH, 1)

    most = max(n for _at, n in arrivals)
    stretch = WIDTH / span
    bar = min(max(stretch * 0.8, 1.0), BROADEST)
    aside = max(stretch - bar, 0.0) / 2
    bars = [
        Bar(
            round(x(at) + aside, 1),
            round(HEIGHT * (1 - n / most), 1),
            round(bar, 1),
            round(HEIGHT * n / most, 1),
        )
        for at, n in arrivals
    ]
    total, points, table = 0, [f"M0 {HEIGHT:g}"], []
    for at, n in arrivals:
        points.append(f"H{x(at)}")
        total += n
        points.append(f"L{x(max(min(at + width, last), at))} {_y(total, wanted)}")
        table.append((at, n, total))
    reached = x(last)
    line = " ".join([*points, f"H{reached}"])
    area = f"{line} V{HEIGHT:g} Z"
    wedge = _wedge([x(e) if e else None for e in ends], reached, _y(total, wanted))
    return Chart(
        tuple(bars),
        line,
        area,
        wedge if lively else "",
        start,
        end,
        most,
        reached if lively else None,
        tuple(table),
    )


def _y(total: int, wanted: int) -> float:
    return round(HEIGHT * (1 - min(total / wanted, 1.0)), 1)


def _horizon(
    start: datetime, last: datetime, ends: Sequence[datetime | None]
) -> datetime:
    """Return how far the chart reaches: to the forecast's end, but not out of sight."""
    known = [end for end in ends if end is not None]
    furthest = max([last, *known])
    return min(furthest, last + 2 * max(last - start, timedelta(days=1)))


def _wedge(ends: Sequence[float | None], x: float, y: float) -> str:
    """Return the polygon from here to the early and the late end at the top."""
    if not ends or ends[0] is None:
        return ""
    late = WIDTH if ends[-1] is None else ends[-1]
    return f"M{x} {y} L{ends[0]} 0 H{late} Z"


CONFIDENCE = 0.8
LEAST_ANSWERS = 20
DAY, HOUR = timedelta(days=1), timedelta(hours=1)
# The pace is that of the latest two weeks, of whole days where there are so many.
WINDOW = timedelta(days=14)
LEAST_DAYS, LEAST_HOURS = 4, 6
# Nobody plans further ahead.
HORIZON = timedelta(days=3650)


@dataclass(frozen=True)
class Forecast:
    """When the last answer comes in, or why nobody can tell."""

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
    if len(counts) < least or not any(counts):  # all came within the first stretch
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
    """Return the early end, the middle and the late end, in stretches of time."""
    n, m = len(counts), fmean(counts)
    squares = sum((count - m) ** 2 for count in counts) / (n - 1)
    v = max(squares, m)
    q = student(0.5 + CONFIDENCE / 2, n - 1)
    a = m * m - q * q * v / n
    b = 2 * m * remaining + q * q * v
    root = math.sqrt(max(b * b - 4 * a * remaining**2, 0.0))
    # Written so that nothing cancels where a is small.
    early = 2 * remaining**2 / (b + root)
    late = (b + root) / (2 * a) if a > 0 else math.inf
    return early, remaining / m, late


def student(p: float, degrees: int) -> float:
    """Return a quantile of Student's t: the expansion of Cornish and Fisher."""
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
    """Return the reliability of the mean of k ratings; None without any agreement."""
    if not 0 < single <= 1:
        return None
    return k * single / (1 + (k - 1) * single)


def expected_interval(
    value: float, low: float, high: float, now: float, then: float
) -> tuple[float, float]:
    """Return the interval to expect once there are `then` answers instead of `now`."""
    ratio = math.sqrt(now / then) if then > now > 0 else 1.0
    return max(value - (value - low) * ratio, -1.0), min(
        value + (high - value) * ratio, 1.0
    )
