"""GC: each cue on pictures made for it, and the metrics on a tiny real network."""

import math

import numpy as np
import pytest

from evalcore.metrics.vistar.geometric_cues import (
    GeometricCues,
    contour_score,
    curvature_score,
    five_cues,
    highlight_score,
    normals_score,
    texture_score,
)
from tests.evalcore.metrics.asking import noise, rendering_of, score

SIDE = 64
RNG = np.random.default_rng(3)
NOISE = RNG.uniform(0, 1, (SIDE, SIDE))
SLOPE = np.tile(np.linspace(0, 1, SIDE), (SIDE, 1))


def grey(values):
    return np.repeat(np.asarray(values, float)[..., None], 3, axis=-1)


class TestNormals:
    def test_planes_agree_however_steep(self):
        assert normals_score(SLOPE) == pytest.approx(1)
        assert normals_score((SLOPE + SLOPE.T) / 2) == pytest.approx(1)

    def test_a_roof_agrees_but_at_its_ridge(self):
        """Up to the middle and down again: normals at 45 degrees either way."""
        roof = 1 - np.abs(np.linspace(-1, 1, SIDE, endpoint=False))[None].repeat(
            SIDE, 0
        )
        # The ridge runs between two tiles; only the gradient across it is level.
        assert 0.97 < normals_score(roof / 2) < 1

    def test_a_tile_half_this_way_half_that_way(self):
        # Normals (±1, 0, 1) / sqrt 2 in equal shares: a mean of length sqrt 1/2, but
        # for the two columns of 16 at the fold and the one at each edge.
        zigzag = np.abs((np.arange(SIDE) + 8) % 16 - 8) / SIDE
        assert normals_score(np.tile(zigzag, (SIDE, 1))) == pytest.approx(
            0.74, abs=0.02
        )


class TestCurvature:
    def test_planes_do_not_bend(self):
        assert curvature_score(SLOPE) == pytest.approx(1)

    def test_by_hand(self):
        # z = 0.05 x^2 / 2: the Laplacian is 0.05 everywhere.
        bowl = np.tile(0.025 * np.arange(9.0) ** 2, (9, 1))
        assert curvature_score(bowl) == pytest.approx(math.exp(-1))


class TestHighlights:
    def shining(self, mask):
        return grey(np.where(mask, 255, 60))

    def test_whole(self):
        mask = np.zeros((SIDE, SIDE), bool)
        mask[10:30, 10:30] = True
        assert highlight_score(self.shining(mask)) == 1

    def test_at_the_edges_of_the_picture(self):
        mask = np.zeros((SIDE, SIDE), bool)
        mask[:20] = True
        assert highlight_score(self.shining(mask)) == 1

    def test_a_narrow_break_is_a_flaw(self):
        mask = np.zeros((SIDE, SIDE), bool)
        mask[10:30, 10:30] = True
        mask[19:21] = False
        # 18 of 20 rows.
        assert highlight_score(self.shining(mask)) == pytest.approx(0.9)

    def test_a_wide_gap_is_none(self):
        mask = np.zeros((SIDE, SIDE), bool)
        mask[10:20, 10:30] = mask[26:36, 10:30] = True
        assert highlight_score(self.shining(mask)) == 1

    def test_bright_colours_are_no_highlights(self):
        mask = np.zeros((SIDE, SIDE), bool)
        mask[10:30:2, 10:30] = True
        yellow = np.where(mask[..., None], [255.0, 255.0, 120.0], 60.0)
        assert highlight_score(yellow) == 1


class TestContours:
    def test_a_long_contour(self):
        picture = np.full((SIDE, SIDE), 20.0)
        picture[16:48, 16:48] = 220
        assert contour_score(grey(picture)) == 1

    def test_fragments(self):
        picture = np.full((SIDE, SIDE), 20.0)
        picture[8::16, 8::16] = 220  # single bright pixels: contours of a few pixels
        assert contour_score(grey(picture)) == 0

    def test_both(self):
        picture = np.full((SIDE, SIDE), 20.0)
        picture[40:60, 10:50] = 220
        whole = contour_score(grey(picture))
        picture[8:32:16, 8::16] = 220
        assert 0.5 < contour_score(grey(picture)) < whole == 1


class TestTexture:
    def test_flat_and_sloping(self):
        assert texture_score(grey(np.full((SIDE, SIDE), 90.0))) == 1
        assert texture_score(grey(255 * SLOPE)) == 1

    def test_a_checkerboard(self):
        # Bright pixels have 4 bright neighbours, in turn with 4 dark: 8 changes; for
        # dark ones no neighbour is darker: none. Half of the pixels each.
        board = np.indices((34, 34)).sum(axis=0) % 2 * 255
        assert texture_score(grey(board)) == 0.5


class TestWorst:
    def test_scale_and_zero_of_depth_do_not_matter(self):
        pixels = np.ones(3)
        assert five_cues(SLOPE * 900 - 3, pixels) == pytest.approx(
            five_cues(SLOPE, pixels)
        )


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
