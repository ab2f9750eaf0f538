"""CSE: the formulas by hand, and the metric on tiny real networks."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from evalcore.metrics.encoders import subjects as detector
from evalcore.metrics.encoders.subjects import GREY, VIEW, squared, subject_encoder
from evalcore.metrics.errors import FeatureError
from evalcore.metrics.vistar.composition import (
    Composition,
    composition,
    coverage,
)
from tests.evalcore.metrics import tiny
from tests.evalcore.metrics.asking import noise, rendering_of, score

COSINES = arrays(np.float64, (3, 4), elements=st.floats(-1, 1))


class TestCoverage:
    @given(COSINES, st.permutations(range(3)))
    def test_laws(self, similarity, order):
        value = coverage(similarity)
        assert value == pytest.approx(coverage(similarity[list(order)]))
        assert value <= similarity.max()
        assert coverage(np.vstack([similarity, similarity[:1]])) == value
        assert coverage(similarity[:2]) <= value


class TestSubjects:
    def test_the_middle_of_a_square_on_grey(self):
        picture = np.full((40, 60, 3), 200, np.uint8)
        mask = np.zeros((40, 60), bool)
        mask[10:30, 20:30] = True
        mask[12:28, 22:28] = False  # a hole
        view = squared(picture, mask)
        assert view.shape == (VIEW, VIEW, 3)
        # 20 high and 10 wide: a quarter of the square is free on each side.
        assert np.abs(view[:, : VIEW // 4 - 26].astype(int) - GREY).max() <= 1
        assert np.abs(view[VIEW // 2, VIEW // 2].astype(int) - GREY).max() <= 1
        assert (view[6, VIEW // 2] > 190).all()

    def test_features_are_unit_vectors_that_depend_on_the_box(self, weights):
        weights.save("cut_out", "appearance")
        encoder = subject_encoder()
        boxes = (0.3, 0.3, 0.5, 0.5), (0.6, 0.6, 0.7, 0.7)
        prepared = [encoder.prepare((noise(4, (80, 50)), box)) for box in boxes]
        one, other = encoder.encode(prepared)
        assert one.shape == (16,)
        assert np.linalg.norm(one) == pytest.approx(1, abs=1e-6)
        assert not np.allclose(one, other)
        np.testing.assert_allclose(encoder.encode(prepared[:1])[0], one, atol=1e-6)

    def test_the_networks_see_what_transformers_would_show_them(self, weights):
        from transformers import SamImageProcessorPil

        cut_out = weights.save("cut_out")
        weights.save("appearance")
        picture, box = noise(5, (90, 60)), (0.5, 0.5, 0.4, 0.6)
        small, _box = subject_encoder().prepare((picture, box))
        mask = subject_encoder()._mask(small, box)
        processor = SamImageProcessorPil(mask_pad_size={"height": 256, "width": 256})
        inputs = processor(picture, return_tensors="pt")
        corners = torch.tensor([[[0.3 * 1024, 0.2 * 683, 0.7 * 1024, 0.8 * 683]]])
        with torch.no_grad():
            expected = cut_out(
                pixel_values=inputs["pixel_values"],
                input_boxes=corners,
                multimask_output=False,
            ).pred_masks
        size = inputs["reshaped_input_sizes"]
        (found,) = processor.post_process_masks(expected, size, size)
        assert mask.shape == found[0, 0].shape == (683, 1024)
        assert (mask == found[0, 0].numpy()).mean() > 0.99

    def test_no_subject_in_the_box(self, weights, monkeypatch):
        weights.save("cut_out", "appearance")
        encoder = subject_encoder()
        nothing = np.zeros((1, 1), bool)
        monkeypatch.setattr(encoder, "_mask", lambda *_args: nothing)
        (feature,) = encoder.encode([encoder.prepare((noise(1), (0.5, 0.5, 1, 1)))])
        assert isinstance(feature, FeatureError)
        assert "finds nothing" in str(feature)


@pytest.fixture
def ready(weights, monkeypatch):
    """All networks, tiny; every box of the detector counts."""
    tiny.know_clip(weights.folder, monkeypatch)
    tiny.save_clip(weights.folder)
    tiny.save_detector(weights.folder)
    weights.save("cut_out", "appearance")
    monkeypatch.setattr(detector, "THRESHOLD", 0.0)
    return Composition(tiny.CLIP)


TEXTS = [{"prompt": "A fox"}, {"plot": "It jumps."}, {"caption": "It lands"}]


class TestMetric:
    def test_tiny_networks_end_to_end(self, ready, tmp_path):
        assert not ready.missing()
        pictures = [noise(1), noise(2, (80, 50)), None]
        (value,) = score(ready, rendering_of(pictures, texts=TEXTS), tmp_path)
        assert value.shot is None
        assert value.trace["subject"] == "character"
        assert value.trace["found"] == 2
        expected = composition(value.trace["coverage"], value.trace["consistency"])
        assert value.value == expected
        assert 0 <= value.value <= 1

    def test_texts_of_missing_shots_have_to_be_covered_too(self, ready, tmp_path):
        pictures = [noise(1), noise(2)]
        two = rendering_of(pictures, texts=TEXTS[:2])
        three = rendering_of([*pictures, None], texts=TEXTS)
        both = [
            score(ready, one, tmp_path)[0].trace["coverage"] for one in (two, three)
        ]
        assert both[0] != both[1]

    def test_the_prompt_may_name_the_subject(self, ready, tmp_path):
        told = rendering_of(
            [noise(1), noise(2)],
            texts=TEXTS[:2],
            vistar={"parameters": {"subject": "red fox"}},
        )
        (value,) = score(ready, told, tmp_path)
        assert value.trace["subject"] == "red fox"

    def test_a_subject_in_fewer_than_two_pictures(self, ready, tmp_path, monkeypatch):
        one = rendering_of([noise(1), None], texts=TEXTS[:2])
        (value,) = score(ready, one, tmp_path)
        assert value.value is None
        assert value.reason == (
            "'character' was found in 1 of 1 pictures, not in at least 2"
        )
        assert value.trace["coverage"] <= 1
        monkeypatch.setattr(detector, "THRESHOLD", 1.0)
        tiny.forget_loaded()
        two = rendering_of([noise(3), noise(4)], texts=TEXTS[:2])
        (value,) = score(Composition(tiny.CLIP), two, tmp_path / "other")
        assert "found in 0 of 2 pictures" in value.reason

    @pytest.mark.parametrize(
        ("pictures", "texts", "reason"),
        [
            ([None, None], TEXTS[:2], "no shot has a picture"),
            ([noise(1), noise(2)], [{}, {"camera": "close"}], "no shot has a text"),
        ],
    )
    def test_undefined(self, pictures, texts, reason, tmp_path):
        rendering = rendering_of(pictures, texts=texts)
        (value,) = score(Composition(), rendering, tmp_path)
        assert (value.value, value.reason) == (None, reason)
