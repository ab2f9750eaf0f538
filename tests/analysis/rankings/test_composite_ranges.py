"""Composites whose parts have different ranges; weights worked out by hand."""

import pandas as pd
import pytest

from analysis.rankings.composite_weights import Composite, by_name
from analysis.rankings.composites import range_remarks

VALUES = pd.DataFrame(
    [("stars", v) for v in (1, 5)] + [("slider", v) for v in (0, 100)],
    columns=["part", "value"],
)
OVERALL = by_name([Composite("overall", {"stars": 0.8, "slider": 0.2})])


def test_range_remark_gives_weights_that_compensate():
    """.8 / 4 and .2 / 100 are as .2 to .002."""
    ((name, remark),) = range_remarks(VALUES, OVERALL)
    assert name == "overall"
    assert "(stars from 1 to 5, slider from 0 to 100)" in remark
    assert "Weights stars: 0.99, slider: 0.0099 make up for that" in remark


def test_ranges_within_a_factor_of_two_are_taken_for_chance():
    near = VALUES.replace({"value": {100: 8}})
    assert not [*range_remarks(near, OVERALL)]


@pytest.mark.parametrize(("slider", "expected"), [((1, 5), 0), ((0, 5), 1)])
def test_known_scales_count_before_what_was_seen(slider, expected):
    scales = {"stars": (0, 4), "slider": slider}
    assert len([*range_remarks(VALUES, OVERALL, scales.get)]) == expected
