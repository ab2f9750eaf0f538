"""The axis of the drawing beside the first table."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.report.forest_bars import MOST_TICKS, axis_of

NUMBERS = st.floats(-1e6, 1e6).map(lambda x: round(x, 6))


@given(st.lists(NUMBERS, min_size=1, max_size=9), NUMBERS)
def test_everything_stands_inside_and_the_numbers_are_few_and_in_order(values, mark):
    axis = axis_of([*values, math.nan], {"chance": mark}, "{:.12g}".format)
    places = [axis.place(x) for x in (*values, mark)]
    assert all(0 < float(place.removesuffix("%")) < 100 for place in places)
    assert 1 <= len(axis.ticks) <= MOST_TICKS
    assert axis.marks == {"chance": axis.place(mark)}
    for place, text in axis.ticks:
        assert axis.place(float(text)) == place
    at = [float(text) for _, text in axis.ticks]
    assert at == sorted(set(at))


def test_nothing_known_has_no_axis():
    assert axis_of([math.nan], {"chance": math.nan}, str) is None


@pytest.mark.parametrize("ends", [(math.nan, 1.0), (0.0, math.nan)])
def test_a_value_without_an_interval_is_a_point(ends):
    axis = axis_of([0.0, 1.0], {}, str)
    assert axis.bar(0.5, *ends).low == ""
    assert axis.bar(0.5, 0.0, 1.0).high == axis.place(1.0)
