"""dlib's face encoder with its real weights: a proxy."""

from concurrent.futures import ThreadPoolExecutor
from itertools import combinations

import numpy as np
import pytest
from PIL import Image

from evalcore.metrics.encoders.dlib_faces import dlib_face_encoder
from evalcore.metrics.proxies import FaceConsistency
from tests.evalcore.metrics.asking import image_of
from tests.evalcore.metrics.encoders.face_files import drawn_face
from tests.evalcore.metrics.encoders.test_faces_encoders import asked


@pytest.fixture(scope="module")
def encoder():
    assert not FaceConsistency.missing()
    return dlib_face_encoder()


def feature_of(encoder, picture):
    (feature,) = encoder.encode([encoder.prepare(picture)])
    return feature


@pytest.mark.slow
def test_encoder_works_from_several_threads(encoder, tmp_path):
    # Threads that share a detector get wrong boxes, or crash.
    small = drawn_face(150)
    pictures = [
        np.pad(small, ((3 * n, 0), (0, 5 * n), (0, 0)), mode="edge") for n in range(12)
    ]
    alone = [feature_of(encoder, picture) for picture in pictures]
    together = asked(encoder, [image_of(p) for p in pictures], tmp_path)
    assert np.array_equal(alone, together)
    with ThreadPoolExecutor(4) as pool:
        chips = list(pool.map(encoder.prepare, pictures))
    assert np.array_equal(alone, encoder.encode(chips))


@pytest.mark.slow
@pytest.mark.shared
def test_faces_within_a_real_story_are_closer_than_between_stories(encoder, shared):
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
