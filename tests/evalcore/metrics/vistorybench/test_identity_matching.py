"""Boxes of figures, by hand."""

import math

import pytest

from evalcore.metrics.vistorybench.character_matching import pixel_box


@pytest.mark.parametrize(
    ("shares", "expected"),
    [
        # 81 x 41: all four numbers are truncated to whole pixels, then halved.
        ((0.5, 0.5, 0.5, 0.5), (20, 10, 60, 30)),
        ((0.0, 0.0, 0.5, 0.5), (0, 0, 20, 10)),
        ((0.5, 0.5, 4.0, 4.0), (0, 0, 81, 41)),
        ((0.5, 0.5, 0.001, 0.5), None),
        ((3.0, 0.5, 0.5, 0.5), None),
        # Beyond the left border: -8 +- 10 is -18 to 2, so 0 to 2 is left.
        ((-0.1, 0.5, 0.25, 0.5), (0, 10, 2, 30)),
        # Truncated towards 0, also below it: -0.8 becomes 0, and 0 +- 10 ends at 10.
        ((-0.01, 0.5, 0.25, 0.5), (0, 10, 10, 30)),
        ((0.5, 0.5, -0.5, 0.5), None),
        ((0.5, 0.5, 0.5, 0.0), None),
        # Sides of odd length: of 40 +- 10.5 and 20 +- 2.5 Pillow cuts the even pixels.
        ((0.5, 0.5, 21.5 / 81, 5.5 / 41), (30, 18, 50, 22)),
        ((math.nan, 0.5, 0.5, 0.5), None),
        ((0.5, 0.5, 0.5, math.inf), None),
    ],
)
def test_boxes_are_in_whole_pixels(shares, expected):
    assert pixel_box(shares, (81, 41)) == expected
