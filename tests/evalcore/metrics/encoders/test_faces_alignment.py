"""Mapping of five points to a template, and of the picture with them."""

import cv2
import numpy as np
import pytest
from PIL import Image, ImageFilter

from evalcore.metrics.encoders.faces import (
    ARCFACE_TEMPLATE,
    FFHQ,
    aligned,
    similarity,
)
from tests.evalcore.metrics.asking import noise

POINTS = np.array(ARCFACE_TEMPLATE.points)


def umeyama(source, target):
    """Return Umeyama's own solution, by singular values (equations 38 to 42)."""
    a, b = source - source.mean(0), target - target.mean(0)
    u, d, v = np.linalg.svd(b.T @ a / len(a))
    sign = np.diag([1, np.sign(np.linalg.det(u) * np.linalg.det(v))])
    scale = np.trace(np.diag(d) @ sign) / (a**2).sum(1).mean()
    turn = scale * u @ sign @ v
    return np.column_stack([turn, target.mean(0) - turn @ source.mean(0)])


@pytest.mark.parametrize("seed", range(20))
def test_similarity_matches_umeyama_for_inexact_points(seed):
    source = np.random.default_rng(seed).uniform(0, 640, (5, 2))
    assert similarity(source, POINTS) == pytest.approx(umeyama(source, POINTS))


def test_mirrored_points_are_refused():
    # A square and its mirror image: any rotation brings two corners near and two far.
    square = np.array([[0.0, 0], [1, 0], [1, 1], [0, 1]])
    with pytest.raises(ValueError, match="no rotation aligns"):
        similarity(square, square * [1, -1])


def test_points_are_mapped_to_template():
    # A large, tilted face: a red dot at each point, wide enough to stay red.
    angle = np.radians(25)
    turn = 3 * np.array(
        [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
    )
    points = POINTS @ turn.T + [220, 40]
    picture = np.full((480, 480, 3), 30, np.uint8)
    for x, y in points.round().astype(int):
        picture[y - 5 : y + 6, x - 5 : x + 6] = (255, 0, 0)
    face = aligned(picture, points, ARCFACE_TEMPLATE)
    assert face.shape == (112, 112, 3)
    red = face[..., 0] > 200
    for x, y in POINTS.round().astype(int):
        assert red[y, x]
    # Dots of 11 x 11 become about 3.7 x 3.7 each; nothing else is red.
    assert 5 * 8 <= red.sum() <= 5 * 18


def test_sampling_matches_opencv():
    smooth = Image.fromarray(noise(1, (400, 400))).filter(ImageFilter.GaussianBlur(2))
    picture = np.asarray(smooth)
    points = np.array([[170.0, 160], [240, 155], [210, 200], [180, 240], [238, 236]])
    matrix = similarity(points, POINTS)
    want = cv2.warpAffine(picture, matrix, (112, 112)).astype(int)
    # opencv rounds positions to 1/32 of a pixel.
    assert np.abs(aligned(picture, points, ARCFACE_TEMPLATE) - want).max() <= 4


def test_templates_match_reference_programs():
    # insightface's template for 112 x 112: eyes 35.2 apart, mouth 29.2 wide.
    assert np.array(ARCFACE_TEMPLATE.points) == pytest.approx(
        np.array(
            [
                [38.2946, 51.6963],
                [73.5318, 51.5014],
                [56.0252, 71.7366],
                [41.5493, 92.3655],
                [70.7299, 92.2041],
            ]
        )
    )
    # facexlib's template in 112 x 112: eyes 27.5 apart, mouth 24.5 wide.
    assert np.array(FFHQ.resized(112).points) == pytest.approx(
        np.array(
            [
                [42.2147, 52.4884],
                [69.7600, 52.5424],
                [56.1387, 68.6917],
                [44.0259, 81.2460],
                [68.4882, 81.1893],
            ]
        ),
        abs=1e-4,
    )
