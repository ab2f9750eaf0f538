"""Encoders that are networks: the real loaders and runs on tiny random weights."""

import argparse
import logging
import zipfile

import numpy as np
import open_clip
import pytest
import torch
from PIL import Image
from safetensors.torch import load_file, save_file
from torch import nn
from transformers import BertTokenizerFast, GroundingDinoImageProcessorPil

from evalcore.metrics.base import Text
from evalcore.metrics.encoders import preprocessing as pre
from evalcore.metrics.encoders import published, runtime
from evalcore.metrics.encoders.clip import (
    clip_image_encoder,
    clip_text_encoder,
    csd_encoder,
)
from evalcore.metrics.encoders.runtime import DeviceError, Network
from evalcore.metrics.encoders.siglip import aesthetic_encoder
from evalcore.metrics.encoders.subjects import DETECTOR, Detector
from evalcore.metrics.encoders.torchvision_networks import mobilenet_encoder
from evalcore.metrics.errors import FeatureError
from evalcore.metrics.weights import WeightsError
from tests.evalcore.metrics import tiny
from tests.evalcore.metrics.asking import noise


def encoded(encoder, *items):
    return encoder.encode([encoder.prepare(item) for item in items])


def rename_in_pickle(path, module, other):
    """Have a checkpoint name a module in another way."""
    with zipfile.ZipFile(path) as old:
        files = {name: old.read(name) for name in old.namelist()}
    with zipfile.ZipFile(path, "w") as new:
        for name, content in files.items():
            if name.endswith("data.pkl"):
                assert module.encode() in content
                content = content.replace(module.encode(), other.encode())
            new.writestr(name, content)


WIDE, TALL = noise(1, (400, 250)), noise(2, (230, 500))


class TestClip:
    def test_a_picture_is_seen_as_by_the_package_itself(self, weights):
        network = tiny.save_clip(weights)
        own = encoded(clip_image_encoder(tiny.CLIP, normalise=False), WIDE, TALL)
        seen = open_clip.image_transform(
            224, is_train=False, mean=pre.CLIP[0], std=pre.CLIP[1]
        )
        for feature, picture in zip(own, (WIDE, TALL), strict=True):
            with torch.no_grad():
                expected = network.encode_image(seen(Image.fromarray(picture))[None])
            np.testing.assert_allclose(feature, expected[0], atol=2e-5)

    def test_a_text_is_read_as_by_the_package_itself(self, weights):
        network = tiny.save_clip(weights)
        (own,) = encoded(clip_text_encoder(tiny.CLIP), Text("A fox walks."))
        tokens = open_clip.get_tokenizer(tiny.CLIP)(["A fox walks."])
        with torch.no_grad():
            expected = network.encode_text(tokens, normalize=True)[0]
        np.testing.assert_allclose(own, expected, atol=1e-6)
        assert np.linalg.norm(own) == pytest.approx(1, abs=1e-6)

    def test_a_long_text_is_cut_and_an_empty_one_is_read(self, weights):
        tiny.save_clip(weights)
        encoder = clip_text_encoder(tiny.CLIP)
        long, longer, empty = encoded(
            encoder, Text("fox " * 100), Text("fox " * 200), Text("")
        )
        np.testing.assert_array_equal(long, longer)
        assert not np.allclose(long, empty)

    def test_other_weights_are_another_encoder(self, weights):
        tiny.save_clip(weights)
        first = clip_image_encoder(tiny.CLIP).id
        assert "fp32" in first
        path = weights / "tiny-clip" / published.CLIP_FILE
        state = load_file(path)
        state["logit_scale"] += 1
        save_file(state, path)
        assert clip_image_encoder(tiny.CLIP).id != first


class TestStrictLoading:
    def path(self, weights):
        tiny.save_clip(weights)
        return weights / "tiny-clip" / published.CLIP_FILE

    def failure(self, weights, change):
        path = self.path(weights)
        state = load_file(path)
        change(state)
        save_file(state, path)
        with pytest.raises(WeightsError) as caught:
            encoded(clip_image_encoder(tiny.CLIP), WIDE)
        return str(caught.value)

    def test_missing_keys_are_named(self, weights):
        text = self.failure(weights, lambda state: state.pop("visual.conv1.weight"))
        assert "1 missing: visual.conv1.weight" in text
        assert published.CLIP_FILE in text

    def test_another_shape_is_named(self, weights):
        text = self.failure(
            weights, lambda state: state.update({"logit_scale": torch.zeros(3)})
        )
        assert "logit_scale is (3,), not ()" in text

    def test_a_file_that_holds_no_weights(self, weights):
        self.path(weights).write_bytes(b"<html>not found</html>")
        with pytest.raises(WeightsError, match="cannot be read as weights"):
            encoded(clip_image_encoder(tiny.CLIP), WIDE)

    def test_code_in_a_checkpoint_is_not_run(self, weights):
        ran = weights / "ran"

        class Trap:
            def __reduce__(self):
                return ran.write_text, ("x",)

        (weights / "csd").mkdir()
        torch.save({"model_state_dict": Trap()}, weights / published.CSD.path)
        with pytest.raises(WeightsError, match="cannot be read as weights"):
            encoded(csd_encoder("squash", tiny.CLIP), WIDE)
        assert not ran.exists()


class TestCsd:
    def test_the_style_is_what_the_formula_says(self, weights):
        """Class token after the last norm, times the style matrix, of length 1."""
        network = tiny.save_csd(weights)
        (own,) = encoded(csd_encoder("squash", tiny.CLIP), WIDE)
        squashed = np.asarray(Image.fromarray(WIDE).resize((224, 224), Image.BICUBIC))
        scaled = (squashed / 255 - pre.CLIP[0]) / pre.CLIP[1]
        batch = torch.tensor(scaled, dtype=torch.float32).permute(2, 0, 1)[None]
        with torch.no_grad():
            style = network.backbone(batch) @ network.last_layer_style
        np.testing.assert_allclose(own, (style / style.norm())[0], atol=2e-5)

    @pytest.mark.parametrize("prefix", ["module.", ""])
    def test_both_ways_of_naming_the_keys_load(self, weights, prefix):
        tiny.save_csd(weights, prefix)
        (own,) = encoded(csd_encoder("centercrop", tiny.CLIP), TALL)
        assert np.linalg.norm(own) == pytest.approx(1, abs=1e-6)

    def test_nobody_reads_that_its_weights_are_random(self, weights, caplog):
        """open_clip says so, of the moment before they are loaded."""
        tiny.save_csd(weights)
        tiny.save_clip(weights)
        caplog.clear()
        with caplog.at_level("INFO"):
            encoded(csd_encoder("squash", tiny.CLIP), WIDE)
            encoded(clip_image_encoder(tiny.CLIP), WIDE)
            logging.getLogger().warning("others are heard")
        assert caplog.messages == ["others are heard"]

    def test_its_keys_are_the_published_ones(self, weights):
        keys = set(tiny.save_csd(weights).state_dict())
        assert keys >= {
            "backbone.class_embedding",
            "backbone.ln_post.weight",
            "backbone.transformer.resblocks.0.attn.in_proj_weight",
            "last_layer_style",
            "last_layer_content",
        }
        assert "backbone.proj" not in keys

    @pytest.mark.parametrize("numpy_s", ["numpy.core", "numpy._core"])
    def test_its_authors_checkpoint_of_the_training_loads(self, weights, numpy_s):
        """Beside the weights lie a command line, and numbers as either numpy writes."""
        tiny.save_csd(weights)
        path = weights / published.CSD.path
        whole = torch.load(path) | {
            "args": argparse.Namespace(lr=0.1, gpu=0),
            "opt_proj": {"param_groups": [{"lr": np.float64(0.1)}]},
            "iteration": np.int64(3),
        }
        torch.save(whole, path)
        rename_in_pickle(path, "numpy._core", numpy_s)
        (own,) = encoded(csd_encoder("centercrop", tiny.CLIP), TALL)
        assert np.linalg.norm(own) == pytest.approx(1, abs=1e-6)

    def test_squashing_and_cropping_differ(self, weights):
        tiny.save_csd(weights)
        squash = csd_encoder("squash", tiny.CLIP)
        crop = csd_encoder("centercrop", tiny.CLIP)
        assert squash.id != crop.id
        assert not np.allclose(encoded(squash, TALL)[0], encoded(crop, TALL)[0])


class TestAesthetic:
    def test_official_pictures_are_rated_as_the_network_rates_them(self, weights):
        network = tiny.save_siglip(weights)
        (own,) = encoded(aesthetic_encoder("official"), WIDE)
        resized = np.asarray(Image.fromarray(WIDE).resize((384, 384), Image.BICUBIC))
        batch = torch.tensor(resized / 127.5 - 1, dtype=torch.float32)
        with torch.no_grad():
            expected = network(batch.permute(2, 0, 1)[None])[0]
        np.testing.assert_allclose(own, expected, atol=1e-5)
        assert own.shape == (1,)

    def test_the_reference_program_s_pictures_are_not_normalised(self, weights):
        network = tiny.save_siglip(weights)
        (own,) = encoded(aesthetic_encoder("vsb"), WIDE)
        resized = np.asarray(Image.fromarray(WIDE).resize((378, 378), Image.BILINEAR))
        batch = torch.tensor(resized / 255, dtype=torch.float32)
        with torch.no_grad():
            expected = network(batch.permute(2, 0, 1)[None])[0]
        np.testing.assert_allclose(own, expected, atol=1e-5)

    def test_the_head_is_affine_and_has_the_published_keys(self, weights):
        """Keys 0, 2, 4, 6, 8: the published head has dropouts between them."""
        tiny.save_siglip(weights)
        state = torch.load(weights / published.AESTHETIC_HEAD.path, weights_only=True)
        assert sorted(state) == sorted(
            f"scoring_head.{i}.{what}"
            for i in (0, 2, 4, 6, 8)
            for what in ("weight", "bias")
        )


class TestDetector:
    @pytest.mark.parametrize(("picture", "resize"), [(WIDE, True), (TALL, False)])
    def test_boxes_are_those_of_the_package_itself(
        self, weights, monkeypatch, picture, resize
    ):
        """With its tokens and its normalisation, of all queries.

        Its sizes too, up to the longest side, where it rounds otherwise than the
        program.
        """
        network = tiny.save_detector(weights)
        monkeypatch.setattr("evalcore.metrics.encoders.subjects.THRESHOLD", 0.0)
        detector = Detector("Character")
        (own,) = encoded(detector, picture)
        shown = picture if resize else detector.prepare(picture)
        processor = GroundingDinoImageProcessorPil(do_resize=resize)
        inputs = processor(shown, return_tensors="pt")
        words = BertTokenizerFast(str(weights / DETECTOR.path / "vocab.txt"))
        with torch.no_grad():
            seen = network(**inputs, **words(["character."], return_tensors="pt"))
        scores = seen.logits[0].sigmoid().amax(dim=-1)
        order = scores.argsort(descending=True, stable=True)
        np.testing.assert_allclose(own[:, 4], scores[order], atol=1e-5)
        np.testing.assert_allclose(own[:, :4], seen.pred_boxes[0][order], atol=1e-5)

    def test_boxes_above_the_threshold_the_best_first(self, weights, monkeypatch):
        tiny.save_detector(weights)
        monkeypatch.setattr("evalcore.metrics.encoders.subjects.THRESHOLD", 0.0)
        detector = Detector("Character")
        wide, tall, again = encoded(detector, WIDE, TALL, WIDE)
        assert wide.shape == (12, 5)
        assert tall.shape == (12, 5)
        np.testing.assert_allclose(wide, again, atol=1e-4)
        assert (np.diff(wide[:, 4]) <= 0).all()
        middle = float(np.median(wide[:, 4]))
        monkeypatch.setattr("evalcore.metrics.encoders.subjects.THRESHOLD", middle)
        (fewer,) = encoded(detector, WIDE)
        np.testing.assert_allclose(fewer, wide[wide[:, 4] > middle], atol=1e-4)

    def test_the_prompt_ends_with_a_full_stop(self, weights):
        tiny.save_detector(weights)
        assert Detector(" Character ").prompt == Detector("character.").prompt
        assert "'character.'" in Detector("character").id
        assert Detector("dog").id != Detector("character").id

    @pytest.mark.parametrize(
        ("size", "expected"),
        [((512, 768), (800, 1200)), ((1600, 800), (1332, 666)), ((10, 10), (800, 800))],
    )
    def test_sizes(self, size, expected):
        """512 x 768 gives 800 x 1200; the shorter side of at most 1333 is rounded."""
        height, width = Detector("x").prepare(noise(0, size)).shape[:2]
        assert (width, height) == expected


class TestMobileNet:
    """Real weights, from a package."""

    def test_features_have_length_1_and_shares_sum_to_1(self):
        (features,) = encoded(mobilenet_encoder("features"), WIDE)
        (shares,) = encoded(mobilenet_encoder("probabilities"), WIDE)
        assert features.shape == (1280,)
        assert np.linalg.norm(features) == pytest.approx(1, abs=1e-5)
        assert shares.shape == (1000,)
        assert shares.sum() == pytest.approx(1, abs=1e-5)

    def test_it_sees_what_is_there(self):
        """A red disc on white is nearer to a moved red disc than to noise."""
        y, x = np.mgrid[0:224, 0:224]
        discs = [
            np.where(
                ((x - at) ** 2 + (y - 112) ** 2 < 3000)[..., None], [200, 0, 0], 255
            ).astype(np.uint8)
            for at in (100, 120)
        ]
        one, moved, other = encoded(mobilenet_encoder("features"), *discs, WIDE)
        assert one @ moved > 0.8 > one @ other


class Fussy(nn.Module):
    """Says that memory is out for more than so many inputs."""

    def __init__(self, most):
        super().__init__()
        self.most = most
        self.seen = []

    def forward(self, batch):
        if len(batch) > self.most:
            raise torch.OutOfMemoryError("out of memory")
        self.seen.append(len(batch))
        return batch * 2


def test_a_batch_that_does_not_fit_is_halved_for_good():
    network = Fussy(3)
    run = Network(lambda: network, batch=16)
    inputs = [np.full(2, i, np.float32) for i in range(20)]
    features = run(inputs)
    np.testing.assert_array_equal(np.stack(features), np.stack(inputs) * 2)
    assert max(network.seen) == 2
    assert run.batch == 2


def test_what_does_not_fit_alone_has_a_reason():
    (feature,) = Network(lambda: Fussy(0), batch=4)([np.zeros(2, np.float32)])
    assert isinstance(feature, FeatureError)
    assert "does not fit into the memory" in str(feature)


@pytest.mark.parametrize("name", ["gpu", "cuda:99", "xpu"])
def test_a_device_that_is_not_here_ends_the_work(monkeypatch, name):
    monkeypatch.setenv("EVALCORE_DEVICE", name)
    runtime.device.cache_clear()
    made = []
    run = Network(lambda: made.append(1) or nn.Identity(), batch=2)
    try:
        with pytest.raises(DeviceError, match=f"EVALCORE_DEVICE='{name}': write cpu, "):
            run([np.zeros(2, np.float32)])
    finally:
        monkeypatch.undo()
        runtime.device.cache_clear()
    assert not made


class Lost(nn.Module):
    """Says what torch says of a GPU that is gone."""

    def forward(self, batch):
        raise torch.AcceleratorError("an illegal memory access was encountered")


def test_a_lost_device_ends_the_work_instead_of_refusing_every_picture():
    with pytest.raises(DeviceError, match=r"failed .*illegal memory access"):
        Network(Lost)([np.zeros(2, np.float32)])


class Large(nn.Module):
    """Says that memory is out when it is brought anywhere."""

    def to(self, where):
        raise torch.OutOfMemoryError("out of memory")


def test_a_network_that_fits_nowhere_ends_the_work():
    with pytest.raises(DeviceError, match=r"Large cannot be brought to .*out of mem"):
        Network(Large)([np.zeros(2, np.float32)])


def test_mixed_precision_is_near_the_full_one(monkeypatch):
    """Real features of MobileNet: cosines agree to two places."""
    full = encoded(mobilenet_encoder("features"), WIDE)[0]
    monkeypatch.setenv("EVALCORE_PRECISION", "bf16")
    mixed = mobilenet_encoder("features")
    assert mixed.id.endswith("bf16")
    half = encoded(mixed, WIDE)[0]
    assert full @ half == pytest.approx(1, abs=0.01)
    assert np.linalg.norm(half) == pytest.approx(1, abs=1e-5)
