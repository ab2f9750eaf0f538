"""Proxies: real weights from packages, on pictures with an obvious order."""

import numpy as np
import pytest

from evalcore.metrics import registry
from evalcore.metrics.base import Run
from tests.evalcore.metrics.asking import noise, rendering_of, score


def checked(seed):
    """Return a chequered picture, shifted a little by the seed."""
    y, x = np.mgrid[0:200, 0:200]
    squares = ((x + seed) // 25 + y // 25) % 2
    return np.repeat((squares * 200)[..., None], 3, axis=2).astype(np.uint8)


def test_shifted_pictures_are_more_consistent_than_different_ones(tmp_path):
    metric = registry.load("mobilenet_self")
    (moved,) = score(metric, rendering_of([checked(i) for i in range(3)]), tmp_path)
    mixed = [checked(0), noise(1, (200, 200)), np.full((200, 200, 3), 128, np.uint8)]
    (other,) = score(metric, rendering_of(mixed), tmp_path)
    assert moved.value > 0.8 > other.value + 0.1


def test_method_with_one_picture_has_no_diversity(tmp_path):
    metric = registry.load("mobilenet_diversity")
    same = Run("Alder", (rendering_of([checked(0)] * 4),))
    mixed = Run("Birch", (rendering_of([checked(0)]), rendering_of([noise(1), None])))
    (one,) = score(metric, same, tmp_path)
    (more,) = score(metric, mixed, tmp_path)
    assert one.value == pytest.approx(1, abs=1e-6)
    assert more.value > 1.1
    (none,) = score(metric, Run("Cedar", (rendering_of([None]),)), tmp_path)
    assert none.value is None


@pytest.mark.slow
def test_consistency_is_undefined_without_faces(tmp_path):
    metric = registry.load("dlib_self")
    (value,) = score(metric, rendering_of([checked(0), checked(5)]), tmp_path)
    assert value.value is None
    assert "fewer than two shots show a face" in value.reason


@pytest.mark.parametrize("name", ["mobilenet_self", "mobilenet_diversity", "dlib_self"])
def test_proxy_declares_itself_a_stand_in(name):
    info = registry.load(name).info
    assert info.family == "stand-in"
    assert "stand-in" in info.title
    assert "stand-in" in info.source
