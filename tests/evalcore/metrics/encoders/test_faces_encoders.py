"""Face encoders: detector, alignment and network through the real engine."""

import numpy as np
import pytest

from evalcore.metrics.base import Ask, Value
from evalcore.metrics.encoders import faces
from evalcore.metrics.encoders.antelope import ArcFace
from evalcore.metrics.encoders.faces import ARCFACE_TEMPLATE, aligned
from evalcore.metrics.engine import Engine, MetricJob
from evalcore.metrics.feature_store import FeatureStore
from tests.evalcore.metrics.asking import image_of, noise
from tests.evalcore.metrics.encoders.face_files import (
    empty_outputs,
    in_folder,
    plant,
    save_arcface,
    scrfd_of,
)

MATRIX = np.random.default_rng(5).normal(size=(3, 512))
UNITS, WIDTHS = (1, 1, 1, 1), (4, 4, 4, 4)
DARK = np.full((100, 80, 3), 60, np.uint8)
GREY = np.full((90, 90, 3), 127, np.uint8)


def asked(encoder, images, folder):
    """Return the features of images, requested as by a metric."""

    def scoring():
        found = yield Ask(encoder, images, tolerant=True)
        features.extend(found)
        return [Value(0.0)]

    features = []
    engine = Engine(FeatureStore(folder), threads=2)
    (outcome,) = engine.run([MetricJob("it", scoring())])
    assert outcome.error is None
    return features


def bright(seed, size=(120, 120)):
    """Return a picture in which the tiny detector finds a face."""
    picture = 100 + noise(seed, size) // 3
    picture[0, 0] = 255
    return picture


@pytest.fixture
def finder(monkeypatch, tmp_path):
    """Return a detector of a face in the middle of any picture with a white pixel."""
    outputs = empty_outputs()
    places = np.array(ARCFACE_TEMPLATE.points) * 640 / 112
    plant(outputs, 32, 10, 10, 0, 1, [9] * 4, (places - 320) / 32)
    return scrfd_of(outputs, monkeypatch, tmp_path)


@pytest.fixture
def arcface(finder, monkeypatch, tmp_path):
    save_arcface(tmp_path / "arcface.onnx", MATRIX)
    network = ArcFace(in_folder(monkeypatch, tmp_path, "arcface.onnx"))
    return faces.FaceEncoder(network, finder, ARCFACE_TEMPLATE)


def face_of(picture, finder):
    """Return the face in a picture of 120 x 120: all of it, in the template's size."""
    points = finder.points(picture)
    assert points == pytest.approx(
        np.array(ARCFACE_TEMPLATE.points) * 120 / 112, abs=1e-4
    )
    return aligned(picture, points, ARCFACE_TEMPLATE)


def test_feature_has_one_row_with_a_face_and_none_without(arcface, finder, tmp_path):
    pictures = [DARK, bright(1), GREY, bright(2), np.full((1, 1, 3), 9, np.uint8)]
    features = asked(arcface, [image_of(p) for p in pictures], tmp_path / "f")
    assert [f.shape for f in features] == [
        (0, 512),
        (1, 512),
        (0, 512),
        (1, 512),
        (0, 512),
    ]
    assert {f.dtype for f in features} == {np.dtype(np.float32)}
    for feature, seed in ((features[1], 1), (features[3], 2)):
        assert np.linalg.norm(feature) == pytest.approx(1, abs=1e-6)
        face = face_of(bright(seed), finder)
        want = (face.mean((0, 1)) - 127.5) / 127.5 @ MATRIX
        assert feature[0] == pytest.approx(want / np.linalg.norm(want), abs=1e-4)


# Encoders of the published files ---------------------------------------------------


@pytest.fixture
def afresh(monkeypatch, tmp_path):
    """Create the encoders again, with an empty folder for weights."""
    monkeypatch.setenv("EVALCORE_WEIGHTS_DIR", str(tmp_path))
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    made = (
        faces.scrfd,
        faces.arcface_encoder,
        faces.adaface_encoder,
        faces.facenet_encoder,
    )
    for make in made:
        make.cache_clear()
    yield tmp_path
    for make in made:
        make.cache_clear()


def test_profiles_place_the_face_differently(afresh):
    assert faces.arcface_encoder().template == ARCFACE_TEMPLATE
    for make in (faces.adaface_encoder, faces.facenet_encoder):
        code = make().template
        assert make("vsb-code-2026.02").template == code
        assert (code.name, code.side) == ("FFHQ template", 112)
        assert code.border == (132, 133, 135)
    assert faces.adaface_encoder("vsb-paper").template == ARCFACE_TEMPLATE
    assert faces.facenet_encoder("vsb-paper").template == ARCFACE_TEMPLATE.resized(160)
    code, paper = faces.facenet_encoder(), faces.facenet_encoder("vsb-paper")
    assert "BGR from 0 to 1" in code.network.name
    assert "RGB from -1 to 1" in paper.network.name
    for make in (faces.adaface_encoder, faces.facenet_encoder):
        with pytest.raises(ValueError, match="'vsb-2025': known are vsb-code"):
            make("vsb-2025")
