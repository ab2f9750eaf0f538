import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from evalcore.metrics.registry import load
from evalcore.metrics.vistar.light_integrity import (
    DIRECTIONS,
    LightIntegrity,
    light_integrity,
    scene_light,
)
from evalcore.metrics.weights import WeightsError
from tests.evalcore.metrics.asking import noise, rendering_of, score

VECTOR = arrays(np.float64, 3, elements=st.floats(-9, 9)).filter(
    lambda vector: np.linalg.norm(vector) > 1e-6
)
X, Y, Z = np.eye(3)


def test_sixteen_different_unit_vectors():
    assert len(DIRECTIONS) == 16
    vectors = np.stack(list(DIRECTIONS.values()))
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1)
    # The nearest two: cos = sin² 45° + cos² 45° cos 45°.
    cosines = vectors @ vectors.T - 2 * np.eye(16)
    assert np.degrees(np.arccos(cosines.max())) == pytest.approx(31.4, abs=0.01)


def test_phrases():
    np.testing.assert_allclose(DIRECTIONS["light from front"], Z, atol=1e-15)
    np.testing.assert_allclose(DIRECTIONS["light from left"], -X, atol=1e-15)
    upper = DIRECTIONS["light from upper-left front"]  # the paper's own phrase
    np.testing.assert_allclose(upper, [-0.5, 0.5**0.5, 0.5])


@pytest.mark.parametrize(
    ("found", "value"),
    [
        (X, 1),
        (2 * X, 1),
        (X + Y, 0.5),  # 45 of 90 degrees
        (X + np.sqrt(3) * Y, 1 / 3),  # 60
        (Y, 0),
        (-X + Y, 0),  # 135: clipped, as written it were -.5
        (-X, 0),  # as written -1
    ],
)
def test_by_hand(found, value):
    assert light_integrity(found, X) == pytest.approx(value)


@given(VECTOR, VECTOR)
def test_laws(a, b):
    value = light_integrity(a, b)
    assert 0 <= value <= 1
    assert value == pytest.approx(light_integrity(b, a))
    assert light_integrity(a, 3 * a) == pytest.approx(1, abs=1e-7)


@pytest.mark.parametrize(
    "vector", [np.zeros(3), np.full(3, np.nan), np.full(3, np.inf)]
)
def test_what_has_no_direction(vector):
    with pytest.raises(ValueError, match="has no direction"):
        light_integrity(vector, X)


def test_the_median_is_not_moved_by_one_wrong_shadow():
    np.testing.assert_allclose(scene_light(np.array([X, 2 * X, -Y])), X)
    # Medians of two: their middle.
    np.testing.assert_allclose(scene_light(np.array([X, Y])), (X + Y) / 2**0.5)


def test_no_median():
    with pytest.raises(ValueError, match="no object"):
        scene_light(np.zeros((0, 3)))
    with pytest.raises(ValueError, match="has no direction"):
        scene_light(np.array([X, -X]))


def wanting(light, *pictures):
    return rendering_of(list(pictures), vistar={"parameters": {"light": light}})


class Shadows:
    """Says of each picture where its objects are lit from: as many as it is high."""

    id, batch = "shadows", 8

    def prepare(self, item):
        return np.tile(X + Z, (len(item) - 8, 1))

    def encode(self, prepared):
        return list(prepared)


def test_a_value_a_picture(tmp_path):
    metric = LightIntegrity()
    metric.shadows = Shadows()
    lit, dark = noise(1, (8, 10)), noise(2, (8, 8))
    values = score(metric, wanting("Light from right", lit, None, dark), tmp_path)
    assert [value.shot for value in values] == [1, 3]
    # Found in front and to the right, wanted to the right: 45 of 90 degrees.
    assert values[0].value == pytest.approx(0.5)
    assert values[0].trace["light"] == pytest.approx([0.5**0.5, 0, 0.5**0.5])
    assert values[1].value is None
    assert values[1].reason == "no object has a light direction"


@pytest.mark.parametrize("light", ["", "light from below"])
def test_undefined_without_a_direction(tmp_path, light):
    (value,) = score(LightIntegrity(), wanting(light, noise(1)), tmp_path)
    assert value.value is None
    assert value.reason.startswith("parameter light: expected one of light from front,")
    assert value.reason.endswith(f"found {light!r}")


def test_never_ready_and_never_a_value(tmp_path):
    metric = load("light_integrity")
    assert "not published" in str(metric.missing())
    with pytest.raises(WeightsError, match="not published"):
        score(metric, wanting("light from front", noise(1)), tmp_path)
