"""GC: each cue on pictures made for it, and the metrics on a tiny real network."""

import math

import numpy as np
import pytest

from evalcore.metrics.vistar.geometric_cues import (
    GeometricCues,
    contour_score,
    curvature_score,
    highlight_score,
    normals_score,
)
from tests.evalcore.metrics.asking import noise, rendering_of, score

SIDE = 64
SLOPE = np.tile(np.linspace(0, 1, SIDE), (SIDE, 1))


def grey(values):
    return np.repeat(np.asarray(values, float)[..., None], 3, axis=-1)


class TestNormals:
    def test_normals_of_steep_planes_agree(self):
        assert normals_score(SLOPE) == pytest.approx(1)
        assert normals_score((SLOPE + SLOPE.T) / 2) == pytest.approx(1)


class TestCurvature:
    def test_planes_have_no_curvature(self):
        assert curvature_score(SLOPE) == pytest.approx(1)

    def test_value_matches_hand_calculation(self):
        # z = 0.05 x^2 / 2: the Laplacian is 0.05 everywhere.
        bowl = np.tile(0.025 * np.arange(9.0) ** 2, (9, 1))
        assert curvature_score(bowl) == pytest.approx(math.exp(-1))


class TestHighlights:
    def shining(self, mask):
        return grey(np.where(mask, 255, 60))

    def test_narrow_break_counts_as_flaw(self):
        mask = np.zeros((SIDE, SIDE), bool)
        mask[10:30, 10:30] = True
        mask[19:21] = False
        # 18 of 20 rows.
        assert highlight_score(self.shining(mask)) == pytest.approx(0.9)


class TestContours:
    def test_long_contour_is_no_fragment(self):
        picture = np.full((SIDE, SIDE), 20.0)
        picture[16:48, 16:48] = 220
        assert contour_score(grey(picture)) == 1

    def test_short_contours_are_fragments(self):
        picture = np.full((SIDE, SIDE), 20.0)
        picture[8::16, 8::16] = 220  # single bright pixels: contours of a few pixels
        assert contour_score(grey(picture)) == 0


class TestMetrics:
    def test_tiny_network_end_to_end(self, weights, tmp_path):
        weights.save("depth")
        rendering = rendering_of([noise(1), None, noise(2)])
        values = score(GeometricCues(), rendering, tmp_path)
        assert [value.shot for value in values] == [1, 3]
        for value in values:
            assert list(value.trace) == [
                *("normals", "curvature", "highlight", "contour", "texture")
            ]
            assert all(0 <= cue <= 1 for cue in value.trace.values())
            assert value.value == min(value.trace.values())
