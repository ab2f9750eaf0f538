"""dlib's faces, with its real weights: a stand-in."""

from concurrent.futures import ThreadPoolExecutor
from itertools import combinations

import numpy as np
import pytest
from PIL import Image

from evalcore.metrics.encoders import faces
from evalcore.metrics.encoders.dlib_faces import DlibFaces, dlib_face_encoder
from evalcore.metrics.weights import WeightsError
from tests.evalcore.metrics.asking import image_of
from tests.evalcore.metrics.encoders.face_files import drawn_face, in_folder
from tests.evalcore.metrics.encoders.test_faces_encoders import asked

# One thing is drawn; dlib takes it for a face.
FACE = drawn_face()


@pytest.fixture(scope="module")
def encoder():
    assert not faces.missing(faces.DLIB)
    return dlib_face_encoder()


def feature_of(encoder, picture):
    (feature,) = encoder.encode([encoder.prepare(picture)])
    return feature


def test_a_face_is_1_x_128_and_of_length_1(encoder):
    feature = feature_of(encoder, FACE)
    assert feature.shape == (1, 128)
    assert feature.dtype == np.float32
    assert np.linalg.norm(feature) == pytest.approx(1)


@pytest.mark.parametrize(
    "picture",
    [
        np.full((200, 200, 3), 127, np.uint8),
        np.zeros((1, 1, 3), np.uint8),
        np.zeros((3, 500, 3), np.uint8),
        FACE[:150],
        drawn_face(40),
    ],
    ids=["grey", "1 x 1", "3 x 500", "half a face", "face of 20 pixels"],
)
def test_where_no_face_is_seen_it_is_0_x_128(picture, encoder):
    assert feature_of(encoder, picture).shape == (0, 128)


def test_the_same_face_elsewhere_is_nearer_than_another(encoder):
    bordered = np.pad(drawn_face(200), ((50, 50), (90, 10), (0, 0)), mode="edge")
    one, same, other = (
        feature_of(encoder, picture)[0]
        for picture in (FACE, bordered, drawn_face(skin=(120, 80, 60)))
    )
    assert one @ same > one @ other


def test_of_two_faces_the_better_one_counts(encoder):
    # The second one is darker, so its score is lower, and larger.
    boxes, scores, _parts = encoder._detector.run(
        both := np.hstack([FACE, np.pad(FACE // 3, ((0, 0), (0, 40), (0, 0)))]), 1, 0.0
    )
    assert len(boxes) == 2
    best = boxes[int(np.argmax(scores))]
    (alone, other) = (FACE, both[:, 300:])
    if best.left() > 300:
        alone, other = other, alone
    feature = feature_of(encoder, both)[0]
    near = feature @ feature_of(encoder, alone)[0]
    assert near > feature @ feature_of(encoder, other)[0]
    assert near > 0.98


@pytest.mark.slow
def test_the_engine_asks_from_several_threads(encoder, tmp_path):
    # Threads that share a detector get other boxes, or crash.
    small = drawn_face(150)
    pictures = [
        np.pad(small, ((3 * n, 0), (0, 5 * n), (0, 0)), mode="edge") for n in range(12)
    ]
    alone = [feature_of(encoder, picture) for picture in pictures]
    together, _counts = asked(encoder, [image_of(p) for p in pictures], tmp_path)
    assert np.array_equal(alone, together)
    with ThreadPoolExecutor(4) as pool:
        chips = list(pool.map(encoder.prepare, pictures))
    assert np.array_equal(alone, encoder.encode(chips))


def test_its_name_has_the_hashes_of_both_files(encoder):
    assert "shape_predictor_5_face_landmarks.dat c4b1e980" in encoder.id
    assert "dlib_face_recognition_resnet_model_v1.dat 55533b28" in encoder.id


def test_a_file_that_is_none_of_dlibs_is_refused(monkeypatch, tmp_path):
    (tmp_path / "points.dat").write_bytes(b"no predictor")
    broken = in_folder(monkeypatch, tmp_path, "points.dat")
    encoder = DlibFaces(broken, broken)
    with pytest.raises(WeightsError, match=r"points\.dat cannot be read by dlib"):
        encoder.prepare(FACE)


@pytest.mark.slow
@pytest.mark.shared
def test_faces_of_a_real_story_are_nearer_than_those_of_others(encoder, shared):
    root = shared / "data/real_stories/outputs/story-adapter/base/en/20241011_000000"
    # Three stories about people; the others are about animals.
    stories = {}
    for story in ("007016", "007137", "008614"):
        paths = sorted((root / "shots" / story).iterdir())[:6]
        pictures = [np.asarray(Image.open(path).convert("RGB")) for path in paths]
        features = encoder.encode([encoder.prepare(picture) for picture in pictures])
        stories[story] = [feature[0] for feature in features if len(feature)]
        assert len(stories[story]) >= 4
    within = [a @ b for found in stories.values() for a, b in combinations(found, 2)]
    across = [
        a @ b
        for one, two in combinations(stories.values(), 2)
        for a in one
        for b in two
    ]
    assert np.mean(within) > np.mean(across) + 0.03
