"""Where the lines and bars of the chart of arrivals stand. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

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
