"""Pictures of figures pass detector, alignment and network, through the real engine."""

import numpy as np
import pytest
import torch

from evalcore.metrics.base import Ask, Value
from evalcore.metrics.encoders import faces
from evalcore.metrics.encoders.antelope import ArcFace
from evalcore.metrics.encoders.face_networks import AdaFaceNetwork, adaface
from evalcore.metrics.encoders.faces import ARCFACE_TEMPLATE, aligned
from evalcore.metrics.engine import Engine, MetricJob
from evalcore.metrics.errors import FeatureError
from evalcore.metrics.feature_cache import FeatureStore
from evalcore.metrics.weights import WeightsError
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
    """The features of images, asked for as a metric does."""

    def scoring():
        found = yield Ask(encoder, images, tolerant=True)
        features.extend(found)
        return [Value(0.0)]

    features = []
    engine = Engine(FeatureStore(folder), threads=2)
    (outcome,) = engine.run([MetricJob("it", scoring())])
    assert outcome.error is None
    return features, engine.counts


def bright(seed, size=(120, 120)):
    """A picture in which the tiny detector sees a face."""
    picture = 100 + noise(seed, size) // 3
    picture[0, 0] = 255
    return picture


@pytest.fixture
def finder(monkeypatch, tmp_path):
    """A detector of a face in the middle of every picture that is anywhere white."""
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
    """The face in a picture of 120 x 120: all of it, as the template has it."""
    points = finder.points(picture)
    assert points == pytest.approx(
        np.array(ARCFACE_TEMPLATE.points) * 120 / 112, abs=1e-4
    )
    return aligned(picture, points, ARCFACE_TEMPLATE)


def test_a_feature_is_1_x_512_with_a_face_and_0_x_512_without(
    arcface, finder, tmp_path
):
    pictures = [DARK, bright(1), GREY, bright(2), np.full((1, 1, 3), 9, np.uint8)]
    features, _counts = asked(arcface, [image_of(p) for p in pictures], tmp_path / "f")
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


def test_no_face_is_remembered_too(arcface, tmp_path):
    images = [image_of(DARK), image_of(bright(1))]
    first, _counts = asked(arcface, images, tmp_path / "f")
    again, counts = asked(arcface, images, tmp_path / "f")
    assert counts.encoded == {}
    assert [f.shape for f in again] == [(0, 512), (1, 512)]
    assert np.array_equal(first[1], again[1])


def test_pictures_without_any_face_need_no_network(finder, monkeypatch, tmp_path):
    # There is no file for the network; only its name would be asked for.
    network = ArcFace(in_folder(monkeypatch, tmp_path, "absent.onnx"))
    encoder = faces.FaceEncoder(network, finder, ARCFACE_TEMPLATE)
    (feature,) = encoder.encode([encoder.prepare(DARK)])
    assert feature.shape == (0, 512)


def test_a_crop_smaller_than_its_face_is_filled_up(finder, monkeypatch, tmp_path):
    # All of it seen, the face reaches beyond every side of this crop.
    save_arcface(tmp_path / "arcface.onnx", MATRIX)
    outputs = empty_outputs()
    places = np.array(ARCFACE_TEMPLATE.points) * 640 / 112 * 2 - 320
    plant(outputs, 32, 10, 10, 0, 1, [20] * 4, (places - 320) / 32)
    detector = scrfd_of(outputs, monkeypatch, tmp_path)
    network = ArcFace(in_folder(monkeypatch, tmp_path, "arcface.onnx"))
    encoder = faces.FaceEncoder(network, detector, ARCFACE_TEMPLATE)
    face = encoder.prepare(np.full((64, 64, 3), 255, np.uint8))
    middle = face[30:82, 30:82]
    assert (middle == 255).all()
    assert (face[:26] == 0).all()
    assert (face[:, 86:] == 0).all()


def test_three_networks_look_for_the_face_once(finder, monkeypatch, tmp_path):
    save_arcface(tmp_path / "arcface.onnx", MATRIX)
    one = ArcFace(in_folder(monkeypatch, tmp_path, "arcface.onnx"))
    encoders = [
        faces.FaceEncoder(one, finder, t) for t in (ARCFACE_TEMPLATE, faces.FFHQ)
    ]
    looks = []
    look = finder._found
    monkeypatch.setattr(finder, "_found", lambda p: looks.append(1) or look(p))
    for encoder in encoders:
        asked(encoder, [image_of(bright(1))], tmp_path / "f")
    assert len(looks) == 1
    assert encoders[0].id != encoders[1].id


def test_adaface_encodes_the_same_face(finder, monkeypatch, tmp_path):
    torch.manual_seed(1)
    network = AdaFaceNetwork(UNITS, WIDTHS).eval()
    state = {f"model.{k}": v for k, v in network.state_dict().items()}
    torch.save({"state_dict": state}, tmp_path / "adaface.ckpt")
    weights = in_folder(monkeypatch, tmp_path, "adaface.ckpt")
    encoder = faces.FaceEncoder(
        adaface(weights, UNITS, WIDTHS), finder, ARCFACE_TEMPLATE
    )
    pictures = [bright(1), DARK]
    features, _counts = asked(encoder, [image_of(p) for p in pictures], tmp_path / "f")
    face = face_of(bright(1), finder)
    given = torch.from_numpy(face[None, ..., ::-1].transpose(0, 3, 1, 2).copy())
    with torch.no_grad():
        want, _norm = network((given / 255 - 0.5) / 0.5)
    assert features[0] == pytest.approx(want.numpy(), abs=1e-5)
    assert features[1].shape == (0, 512)


def test_points_that_coincide_are_an_error_of_that_picture(
    monkeypatch, tmp_path, arcface
):
    outputs = empty_outputs()
    plant(outputs, 8, 3, 3, 0, 1, [2] * 4, np.zeros((5, 2)))
    broken = scrfd_of(outputs, monkeypatch, tmp_path)
    encoder = faces.FaceEncoder(arcface.network, broken, ARCFACE_TEMPLATE)
    images = [image_of(bright(1)), image_of(DARK)]
    (error, feature), _counts = asked(encoder, images, tmp_path / "f")
    assert isinstance(error, FeatureError)
    assert "points of a face coincide" in str(error)
    assert feature.shape == (0, 512)


@pytest.mark.parametrize("bad", [np.zeros(4), np.array([1, np.nan, 0, 0])])
def test_a_vector_without_direction_is_an_error(bad):
    made = faces.of_faces(["face", None], lambda found: [bad], 4)
    assert "vector of length" in str(made[0])
    assert made[1].shape == (0, 4)


# What is made of the published files --------------------------------------------------


@pytest.fixture
def afresh(monkeypatch, tmp_path):
    """Encoders made anew, and an empty folder for weights."""
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
        with pytest.raises(ValueError, match="'vsb-2025': there are vsb-code"):
            make("vsb-2025")


def test_all_three_say_that_scrfd_finds_the_face(afresh, monkeypatch):
    for weights in (
        faces.SCRFD_WEIGHTS,
        faces.ARCFACE_WEIGHTS,
        faces.ADAFACE_WEIGHTS,
        faces.FACENET_WEIGHTS,
    ):
        path = afresh / weights.path
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(weights.path.encode())
    # Any content will do here: the published hashes are checked in the next test.
    monkeypatch.setattr(
        "evalcore.metrics.weights._checked", lambda path, sha256, how: path
    )
    ids = [
        faces.arcface_encoder().id,
        faces.adaface_encoder().id,
        faces.adaface_encoder("vsb-paper").id,
        faces.facenet_encoder().id,
        faces.facenet_encoder("vsb-paper").id,
    ]
    assert len(set(ids)) == 5
    for one in ids:
        assert "best face of SCRFD at 640 above 0.45/0.35/0.25/0.15" in one
        assert "scrfd_10g_bnkps.onnx " in one


def test_other_files_than_the_published_ones_are_refused(afresh):
    path = afresh / "antelopev2" / "scrfd_10g_bnkps.onnx"
    path.parent.mkdir()
    path.write_bytes(b"something else")
    with pytest.raises(WeightsError, match="not with 5838f7fe as published"):
        faces.arcface_encoder().prepare(DARK)


def test_what_is_lacking_is_named_once(afresh):
    said = str(faces.missing(faces.ARCFACE, faces.ADAFACE, faces.FACENET))
    assert said.count("scrfd_10g_bnkps.onnx (") == 1
    for name in (
        "antelopev2/glintr100.onnx",
        "adaface_ir101_webface12m.ckpt",
        "20180402-114759-vggface2.pt",
        "non-commercial research only",
    ):
        assert name in said
    assert not faces.missing()


@pytest.mark.parametrize("folder", ["antelopev2", "antelopev2/antelopev2"])
def test_both_layouts_of_the_archive_will_do(folder, afresh):
    (afresh / folder).mkdir(parents=True)
    for name in ("scrfd_10g_bnkps.onnx", "glintr100.onnx"):
        (afresh / folder / name).write_bytes(b"x")
    assert faces.SCRFD_WEIGHTS.find() == afresh / folder / "scrfd_10g_bnkps.onnx"
    assert not faces.missing(faces.ARCFACE)
