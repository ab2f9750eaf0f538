"""CSE: formulas by hand, and the metric on tiny real networks."""

import numpy as np
import pytest
import torch

from evalcore.metrics.encoders import subjects as detector
from evalcore.metrics.encoders.subjects import GREY, VIEW, squared, subject_encoder
from evalcore.metrics.vistar.composition import Composition, composition, regions
from tests.evalcore.metrics import tiny
from tests.evalcore.metrics.asking import noise, rendering_of, score


class TestSubjects:
    def test_subject_is_centred_on_grey_square(self):
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

    def test_network_inputs_match_transformers(self, weights):
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


@pytest.fixture
def ready(weights, monkeypatch):
    """Save tiny versions of all networks; accept every box of the detector."""
    tiny.know_clip(weights.folder, monkeypatch)
    tiny.save_clip(weights.folder)
    tiny.save_detector(weights.folder)
    weights.save("cut_out", "appearance")
    monkeypatch.setattr(detector, "THRESHOLD", 0.0)
    return lambda profile: Composition(profile, tiny.CLIP)


TEXTS = [{"prompt": "A fox"}, {"plot": "It jumps."}, {"caption": "It lands"}]


def prompt(**parameters):
    vistar = {"angle": "CSE", "parameters": parameters}
    return rendering_of([noise(1, (61, 40))], texts=[TEXTS[0]], vistar=vistar)


class TestRegions:
    def test_picture_is_cut_into_two_columns_and_two_rows(self):
        panels, texts = regions(prompt())
        halves = [(0, 0, 30, 20), (30, 0, 60, 20), (0, 20, 30, 40), (30, 20, 60, 40)]
        assert [panel.box for panel in panels] == halves
        assert texts == ["A fox"]

    def test_parameters_name_grid_and_sub_prompts(self):
        panels, texts = regions(prompt(grid="3x1", panels="It wakes | it eats|"))
        assert [panel.box[0] for panel in panels] == [0, 20, 40]
        assert texts == ["It wakes", "it eats"]

    @pytest.mark.parametrize(
        ("rendering", "reason"),
        [
            (prompt(grid="four"), "parameter grid: expected columns and rows, such as"),
            (rendering_of([noise(1), noise(2)]), "expected one picture, found 2"),
            (rendering_of([noise(1, (1, 40))]), "no 2 x 2 cells"),
        ],
    )
    def test_other_outputs_are_undefined(self, rendering, reason, tmp_path):
        (value,) = score(Composition(), rendering, tmp_path)
        assert value.value is None
        assert reason in value.reason


class TestMetric:
    @pytest.mark.parametrize(
        ("profile", "rendering", "panels", "subject"),
        [
            pytest.param(
                "vistar-regions",
                prompt(subject="fox", panels="a|b"),
                4,
                "fox",
                marks=pytest.mark.slow,
            ),
            (
                "story-shots",
                rendering_of([noise(1), noise(2, (80, 50)), None], texts=TEXTS),
                2,
                "character",
            ),
        ],
    )
    def test_tiny_networks_end_to_end(
        self, ready, tmp_path, profile, rendering, panels, subject
    ):
        metric = ready(profile)
        assert not metric.missing()
        assert metric.info.full_version == f"2 {profile}"
        (value,) = score(metric, rendering, tmp_path)
        assert value.shot is None
        assert value.trace["subject"] == subject
        assert value.trace["panels"] == value.trace["found"] == panels
        expected = composition(value.trace["coverage"], value.trace["consistency"])
        assert value.value == expected
        assert 0 <= value.value <= 1
