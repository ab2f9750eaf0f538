"""Labels beside points, without overlaps, inside the plot."""

import itertools

import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from analysis.report.label_places import (
    BEYOND,
    LETTER,
    LINE,
    MARK,
    PLOT,
    label_order,
    placed_labels,
)

SHARE = st.floats(0.06, 0.94)
SIDES = {"left": -1, "center": 0, "right": 1, "top": 1, "middle": 0, "bottom": -1}


def boxes(points, labels):
    """Return each drawn name's rectangle in pixels, as plotly draws it."""
    found = {}
    for i, (name, place) in enumerate(labels):
        if name:
            up, side = (SIDES[word] for word in place.split())
            width = LETTER * len(name)
            x, y = points[i] * PLOT
            x, y = x + side * (MARK + width / 2), y + up * (MARK + LINE / 2)
            found[i] = (x - width / 2, x + width / 2, y - LINE / 2, y + LINE / 2)
    return found


def meet(one, other):
    return (
        one[0] < other[1] - 1e-6
        and other[0] < one[1] - 1e-6
        and one[2] < other[3] - 1e-6
        and other[2] < one[3] - 1e-6
    )


@given(st.lists(st.tuples(SHARE, SHARE), min_size=2, max_size=26, unique=True))
def test_names_do_not_overlap_and_stay_inside_the_plot(places):
    points = np.array(places)
    names = [f"method {i}" for i in range(len(points))]
    labels = placed_labels(points, names, range(len(points)))
    found = boxes(points, labels)
    for one, other in itertools.combinations(found.values(), 2):
        assert not meet(one, other)
    for i, box in found.items():
        for j, (x, y) in enumerate(points * PLOT):
            if i != j:
                assert not meet(box, (x - MARK, x + MARK, y - MARK, y + MARK))
        assert box[0] >= -BEYOND - 1e-6
        assert box[1] <= PLOT[0] + BEYOND + 1e-6
        assert box[2] >= -BEYOND - 1e-6
        assert box[3] <= PLOT[1] + BEYOND + 1e-6


def test_label_order_begins_with_the_ends():
    """Ranks of people 1 to 6; the metric puts the second lowest highest."""
    part = pd.DataFrame({"human": range(6), "score": [0, 9, 1, 2, 3, 4]})
    assert label_order(part.assign(higher_is_better=True))[:3] == [5, 0, 1]
    falling = part.assign(higher_is_better=False, score=-part["score"])
    assert label_order(falling)[:3] == [5, 0, 1]
