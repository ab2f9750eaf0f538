import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalcore.metrics import registry
from evalcore.metrics.base import Run
from evalcore.metrics.formulas import PixelFormula
from evalcore.metrics.vistorybench.pictures import (
    InceptionScore,
    inception_score,
)
from tests.evalcore.metrics.asking import rendering_of, score

# Sees which share of a picture's brightness is red, green and blue.
SHARES = PixelFormula("shares", lambda rgb: rgb.mean((0, 1)) / rgb.mean((0, 1)).sum())


def test_splits_are_parts_in_order():
    # The parts [0], [1] and [2, 3] of four pictures: 1, 1 and 2.
    clear = np.eye(4)
    assert inception_score(clear, 3) == (
        pytest.approx(4 / 3),
        pytest.approx(2**0.5 / 3),
    )
    # Of the same pictures in two parts of two: 2 and 2.
    assert inception_score(clear, 2) == (2.0, 0.0)
    # Parts of two pictures that are alike.
    assert inception_score(clear[[0, 0, 1, 1]], 2) == (1.0, 0.0)


@given(st.integers(0, 99), st.integers(1, 12), st.integers(2, 6))
def test_bounds(seed, count, classes):
    rng = np.random.default_rng(seed)
    probabilities = rng.dirichlet(np.full(classes, 0.1), size=count)
    mean, deviation = inception_score(probabilities, 1)
    assert 1 - 1e-9 <= mean <= min(count, classes) + 1e-9
    assert deviation == 0
    alike = np.repeat(probabilities[:1], count, axis=0)
    assert inception_score(alike, 1)[0] == pytest.approx(1)


def run_of(*stories):
    """A run of stories that are told in plain colours; None is a missing shot."""
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


def test_all_pictures_of_a_method_are_pooled(tmp_path):
    # Within each story all pictures are alike; a mean over stories would be 1.
    run = run_of([RED, None, RED], [GREEN, GREEN], [BLUE, BLUE], [])
    value = scored("vsb-code-2026.02", run, tmp_path)
    assert value.value == pytest.approx(3)
    assert value.trace == {"pictures": 6, "splits": 1, "deviation": 0.0}


def test_the_papers_definition_takes_ten_splits(tmp_path):
    run = run_of([RED, GREEN] * 5, [BLUE, BLUE] * 5)
    value = scored("vsb-paper", run, tmp_path)
    # Five parts of red and green, five of blue twice: mean of five 2 and five 1.
    assert value.value == pytest.approx(1.5)
    assert value.trace == {
        "pictures": 20,
        "splits": 10,
        "deviation": pytest.approx(0.5),
    }


@pytest.mark.parametrize(
    ("profile", "run", "reason"),
    [
        ("vsb-code-2026.02", run_of([], [None]), "0 pictures, where at least 1 are"),
        ("vsb-paper", run_of([RED] * 9), "9 pictures, where at least 10 are"),
    ],
)
def test_too_few_pictures(tmp_path, profile, run, reason):
    value = scored(profile, run, tmp_path)
    assert value.value is None
    assert reason in value.reason


@pytest.mark.parametrize(
    ("name", "profile", "how"),
    [
        ("inception_score", "vsb-code-2026.02", "inputs not transformed"),
        ("inception_score@vsb-paper", "vsb-paper", "inputs as trained"),
    ],
)
def test_profiles_choose_the_inputs(name, profile, how):
    metric = registry.load(name)
    assert metric.info.profile == profile
    assert how in metric.encoder.name
