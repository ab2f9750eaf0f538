"""Intervals of one statistic as bars beside the rows of a table, on one axis."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

# An axis has at most so many numbers; the room beside its ends, where none of them
# stands, is a share of what it holds.
MOST_TICKS = 4
MARGIN = 0.08
STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)


@dataclass(frozen=True)
class Bar:
    """A value and its interval, as places in the width of the drawing."""

    at: str
    low: str = ""
    high: str = ""


@dataclass(frozen=True)
class Axis:
    """What the bars stand on: the values at both ends, and numbers with their places.

    `marks` are places of what metrics are held against, by the name of its row.
    """

    low: float
    high: float
    ticks: tuple[tuple[str, str], ...]
    marks: Mapping[str, str]

    def place(self, value: float) -> str:
        """Return where a value stands, in per cent of the width."""
        return f"{100 * (value - self.low) / (self.high - self.low):.1f}%"

    def bar(self, value: float, low: float, high: float) -> Bar:
        """Return a value with its interval, or without where there is none."""
        if math.isnan(low) or math.isnan(high):
            return Bar(self.place(value))
        return Bar(self.place(value), self.place(low), self.place(high))


def axis_of(
    values: Iterable[float], marks: Mapping[str, float], text: Callable[[float], str]
) -> Axis | None:
    """Return an axis that holds all values and marks; None where all are NaN.

    `text` writes a number of the axis.
    """
    known = [x for x in (*values, *marks.values()) if not math.isnan(x)]
    if not known:
        return None
    room = MARGIN * (max(known) - min(known) or 1.0)
    low, high = min(known) - room, max(known) + room
    bare = Axis(low, high, (), {})
    numbers = _ticks(low + room / 2, high - room / 2)
    ticks = tuple((bare.place(x), text(x)) for x in numbers)
    places = {name: bare.place(x) for name, x in marks.items() if not math.isnan(x)}
    return Axis(low, high, ticks, places)


def _ticks(low: float, high: float) -> list[float]:
    """Return round numbers inside the bounds.

    >>> _ticks(0.46, 0.71)
    [0.5, 0.6, 0.7]
    """
    size = 10.0 ** math.floor(math.log10((high - low) / MOST_TICKS))
    for step in (size * step for step in STEPS):
        first, last = math.ceil(low / step), math.floor(high / step)
        if last - first < MOST_TICKS:
            break
    return [round(n * step, 10) for n in range(first, last + 1)]
