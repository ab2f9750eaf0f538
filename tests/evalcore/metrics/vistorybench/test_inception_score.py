import numpy as np
import pytest

from evalcore.metrics.base import Run
from evalcore.metrics.formulas import PixelFormula
from evalcore.metrics.vistorybench.pictures import (
    InceptionScore,
    inception_score,
)
from tests.evalcore.metrics.asking import rendering_of, score

# Encodes a picture's shares of red, green and blue brightness.
SHARES = PixelFormula("shares", lambda rgb: rgb.mean((0, 1)) / rgb.mean((0, 1)).sum())


def test_splits_keep_order():
    # The parts [0], [1] and [2, 3] of four pictures: 1, 1 and 2.
    clear = np.eye(4)
    assert inception_score(clear, 3) == (
        pytest.approx(4 / 3),
        pytest.approx(2**0.5 / 3),
    )
    # The same pictures in two parts of two: 2 and 2.
    assert inception_score(clear, 2) == (2.0, 0.0)
    # Parts of two equal pictures.
    assert inception_score(clear[[0, 0, 1, 1]], 2) == (1.0, 0.0)


def run_of(*stories):
    """Return a run of stories in plain colours; None is a missing shot."""
    outputs = []
    for number, colours in enumerate(stories):
        pictures = [
            None if colour is None else np.full((8, 8, 3), colour, np.uint8)
            for colour in colours
        ]
        outputs.append(rendering_of(pictures, story=str(number)))
    return Run("Alder", tuple(outputs))


RED, GREEN, BLUE = (90, 0, 0), (0, 90, 0), (0, 0, 90)


def scored(profile, run, folder):
    metric = InceptionScore(profile)
    metric.encoder = SHARES
    (value,) = score(metric, run, folder)
    return value


def test_pictures_of_a_method_are_pooled(tmp_path):
    # Within each story all pictures are equal; a mean over stories would be 1.
    run = run_of([RED, None, RED], [GREEN, GREEN], [BLUE, BLUE], [])
    value = scored("vsb-code-2026.02", run, tmp_path)
    assert value.value == pytest.approx(3)
    assert value.trace == {"pictures": 6, "splits": 1, "deviation": 0.0}
