"""Labels beside points, without overlaps."""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pandas as pd

from analysis.report.figure import Trace, short, values
from analysis.results import Array

LONGEST_LABEL = 18

# The size of a plot in a row of several, of letters and of marks, in pixels.
PLOT = np.array((270.0, 230.0))
LETTER, WIDE_LETTER, LINE, MARK = 5.8, 10.5, 12.0, 5.0
# The least distance of a name to other points, and its reach beyond the plot.
CLEAR, BEYOND = 4.0, 8.0
# From this code point on, letters are as wide as Chinese ones.
FIRST_WIDE = 0x2E80
# Places of a name, the most readable first: to the right of its point (1), to the left
# (-1) or centred (0); above (1), below (-1) or level with it (0).
PLACES = {
    "middle right": (1, 0),
    "middle left": (-1, 0),
    "top center": (0, 1),
    "bottom center": (0, -1),
    "top right": (1, 1),
    "bottom right": (1, -1),
    "top left": (-1, 1),
    "bottom left": (-1, -1),
}
Box = tuple[float, float, float, float]  # left, right, bottom, top


def placed_labels(
    points: Array,
    names: Sequence[str],
    order: Sequence[int],
    bars: Array | None = None,
) -> list[tuple[str, str]]:
    """Return the name and its place for each point; names that do not fit are empty.

    Points are shares of the plot from the left and from below, shape (n, 2); those that
    should have a name come first in `order`. `bars` are the horizontal ends of the
    points' intervals, which names do not cross.

    >>> placed_labels(np.array([[0.5, 0.5], [0.6, 0.5]]), ["UNO", "Sora"], [0, 1])
    [('UNO', 'middle left'), ('Sora', 'middle right')]
    >>> placed_labels(np.array([[0.5, 0.5]]), ["UNO"], [0], np.array([[0.3, 0.7]]))
    [('UNO', 'top center')]
    """
    side = 2 * (MARK + CLEAR)
    marks = [_box(point, (0, 0), side, side) for point in points * PLOT]
    taken: list[Box] = []
    if bars is not None:
        levels = points[:, 1] * PLOT[1]
        taken += [
            (left, right, level - 1, level + 1)
            for (left, right), level in zip(bars * PLOT[0], levels, strict=True)
        ]
    labels = [("", "middle right")] * len(names)
    for i in order:
        others = [*taken, *(mark for j, mark in enumerate(marks) if j != i)]
        for place, box in _boxes(points[i] * PLOT, names[i]):
            if _inside(box) and not any(_overlap(box, other) for other in others):
                taken.append(box)
                labels[i] = names[i], place
                break
    return labels


def labelled_points(
    x: "pd.Series[float]",
    y: "pd.Series[float]",
    shares: Array,
    methods: Iterable[object],
    order: Sequence[int],
    bars: Array | None = None,
) -> Trace:
    """Return methods as points of a scatter plot, with the names that fit.

    `shares`, `order` and `bars` are those of `placed_labels`.
    """
    names = [short(name, LONGEST_LABEL) for name in methods]
    labels = placed_labels(shares, names, order, bars)
    return {
        "type": "scatter",
        "mode": "markers+text",
        "x": values(x),
        "y": values(y),
        "text": [text for text, _place in labels],
        "textposition": [place for _text, place in labels],
        "textfont": {"size": 10},
        "cliponaxis": False,
    }


def label_order(part: pd.DataFrame) -> list[int]:
    """Return the points in the order in which they should be named.

    First those that people rank highest and lowest, then those where people and metric
    differ most in rank. Columns human, score, higher_is_better.
    """
    people, metric = part["human"].rank(), part["score"].rank()
    if not part["higher_is_better"].all():
        metric = -metric
    apart = (people - people.mean() - metric + metric.mean()).abs().to_numpy()
    ends = [int(people.argmax()), int(people.argmin())]
    return list(dict.fromkeys([*ends, *map(int, np.argsort(-apart, kind="stable"))]))


def in_shares(points: Array, within: Array) -> Array:
    """Return points as shares of a plot that covers `within` with a margin."""
    low, high = within.min(axis=0), within.max(axis=0)
    span = np.where(high > low, high - low, 1.0)
    return np.asarray(0.06 + 0.88 * (points - low) / span)


def _boxes(point: Array, name: str) -> Iterator[tuple[str, Box]]:
    width = sum(WIDE_LETTER if ord(c) >= FIRST_WIDE else LETTER for c in name)
    for place, side in PLACES.items():
        yield place, _box(point, side, width, LINE)


def _box(point: Array, side: tuple[int, int], width: float, height: float) -> Box:
    x = point[0] + side[0] * (MARK + width / 2)
    y = point[1] + side[1] * (MARK + height / 2)
    return x - width / 2, x + width / 2, y - height / 2, y + height / 2


def _inside(box: Box) -> bool:
    (left, right, bottom, top), (width, height) = box, PLOT + BEYOND
    return min(left, bottom) >= -BEYOND and right <= width and top <= height


def _overlap(one: Box, other: Box) -> bool:
    across = one[0] < other[1] and other[0] < one[1]
    return across and one[2] < other[3] and other[2] < one[3]
