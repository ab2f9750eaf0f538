"""Depth, objects and joints, compared with transformers' own processors."""

import numpy as np
import pytest
import torch
from transformers import DPTImageProcessorPil
from transformers.models.rf_detr.image_processing_rf_detr import RfDetrImageProcessor

from evalcore.metrics.encoders import scenes
from evalcore.metrics.encoders import scenes as people
from evalcore.metrics.encoders.scene_features import SIDE, unframed, unpacked
from tests.evalcore.metrics.asking import noise

WIDE, TALL = noise(1, (400, 250)), noise(2, (90, 160))


def encoded(encoder, *pictures):
    return encoder.encode([encoder.prepare(picture) for picture in pictures])


def test_depth_matches_transformers(weights):
    network = weights.save("depth")
    own = encoded(scenes.depth(), WIDE, TALL)
    processor = DPTImageProcessorPil(
        size={"height": 384, "width": 384},
        image_mean=[0.5] * 3,
        image_std=[0.5] * 3,
        resample=2,
    )
    for feature, picture in zip(own, (WIDE, TALL), strict=True):
        assert feature.shape == (SIDE, SIDE)
        with torch.no_grad():
            maps = network(**processor(picture, return_tensors="pt")).predicted_depth
        expected = maps[0].numpy().reshape(SIDE, 2, SIDE, 2).mean(axis=(1, 3))
        np.testing.assert_allclose(feature, expected, atol=1e-4)


def test_objects_match_transformers(weights):
    network = weights.save("objects")
    own = encoded(scenes.objects(), WIDE)
    pixels = torch.from_numpy(scenes.objects().prepare(WIDE).copy())[None].float()
    pixels = scenes.normalised(pixels, scenes.IMAGENET)
    with torch.no_grad():
        outputs = network(pixel_values=pixels)
    (expected,) = RfDetrImageProcessor().post_process_instance_segmentation(
        outputs, return_binary_maps=True, target_sizes=[(SIDE, SIDE)]
    )
    found = unpacked(own[0])
    assert 0 < len(found) < 5  # some of the five queries are below the threshold
    infos = expected["segments_info"]
    assert [one.label for one in found] == [info["label_id"] for info in infos]
    # The processor rounds the score.
    assert [one.score for one in found] == pytest.approx(
        [info["score"] for info in infos], abs=1e-4
    )
    for one, mask in zip(found, expected["segmentation"].numpy(), strict=True):
        np.testing.assert_array_equal(one.mask, mask.astype(bool))
        left, top, right, bottom = one.box
        assert 0 <= left <= right <= 1
        assert 0 <= top <= bottom <= 1


def test_joints_are_at_maxima_of_heat_maps(weights, monkeypatch):
    weights.save("pose")
    heat = torch.zeros(1, 17, 64, 48)
    heat[0, 3, 10, 20] = 0.8

    class Hot(torch.nn.Module):
        def forward(self, _batch):
            return type("Output", (), {"heatmaps": heat})

    monkeypatch.setattr(people, "load_pretrained", lambda *_args: Hot())
    (joints,) = encoded(people.pose(), WIDE)
    np.testing.assert_allclose(joints[3], [20.5 / 48, 10.5 / 64, 0.8], atol=1e-6)
    # 400 x 250 fills the frame across: 192 x 120, with 68 empty rows above.
    x, y, _score = unframed(joints, (400, 250))[3]
    assert x == pytest.approx(20.5 / 48 * 400)
    assert y == pytest.approx((10.5 * 4 - 68) * 250 / 120)
