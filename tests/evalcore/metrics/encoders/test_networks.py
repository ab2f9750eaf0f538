"""Network encoders: the real loaders and runs on tiny random weights."""

import argparse
import zipfile

import numpy as np
import open_clip
import pytest
import torch
from PIL import Image
from safetensors.torch import load_file, save_file
from torch import nn
from torchvision.transforms import v2
from transformers import BertTokenizerFast, GroundingDinoImageProcessorPil

from evalcore.metrics.base import Text
from evalcore.metrics.encoders import preprocessing as pre
from evalcore.metrics.encoders import published
from evalcore.metrics.encoders.clip import (
    clip_image_encoder,
    clip_text_encoder,
    csd_encoder,
)
from evalcore.metrics.encoders.runtime import Network
from evalcore.metrics.encoders.scenes import aesthetic_encoder
from evalcore.metrics.encoders.subjects import DETECTOR, Detector
from evalcore.metrics.weights import WeightsError
from tests.evalcore.metrics import tiny
from tests.evalcore.metrics.asking import noise


def encoded(encoder, *items):
    return encoder.encode([encoder.prepare(item) for item in items])


def rename_in_pickle(path, module, other):
    """Rewrite a checkpoint so that it names a module differently."""
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
    def test_picture_feature_matches_open_clip(self, weights):
        network = tiny.save_clip(weights)
        own = encoded(clip_image_encoder(tiny.CLIP, normalise=False), WIDE, TALL)
        seen = open_clip.image_transform(
            224, is_train=False, mean=pre.CLIP[0], std=pre.CLIP[1]
        )
        for feature, picture in zip(own, (WIDE, TALL), strict=True):
            with torch.no_grad():
                expected = network.encode_image(seen(Image.fromarray(picture))[None])
            np.testing.assert_allclose(feature, expected[0], atol=2e-5)

    def test_text_feature_matches_open_clip(self, weights):
        network = tiny.save_clip(weights)
        (own,) = encoded(clip_text_encoder(tiny.CLIP), Text("A fox walks."))
        tokens = open_clip.get_tokenizer(tiny.CLIP)(["A fox walks."])
        with torch.no_grad():
            expected = network.encode_text(tokens, normalize=True)[0]
        np.testing.assert_allclose(own, expected, atol=1e-6)
        assert np.linalg.norm(own) == pytest.approx(1, abs=1e-6)


class TestStrictLoading:
    def path(self, weights):
        tiny.save_clip(weights)
        return weights / "tiny-clip" / tiny.CLIP_FILE

    def failure(self, weights, change):
        path = self.path(weights)
        state = load_file(path)
        change(state)
        save_file(state, path)
        with pytest.raises(WeightsError) as caught:
            encoded(clip_image_encoder(tiny.CLIP), WIDE)
        return str(caught.value)

    def test_missing_keys_are_reported(self, weights):
        text = self.failure(weights, lambda state: state.pop("visual.conv1.weight"))
        assert "1 missing: visual.conv1.weight" in text
        assert tiny.CLIP_FILE in text

    def test_file_without_weights_is_refused(self, weights):
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
    def test_style_follows_formula(self, weights):
        """Class token after the last norm, times the style matrix, of length 1."""
        network = tiny.save_csd(weights)
        (own,) = encoded(csd_encoder("squash", tiny.CLIP), WIDE)
        program = v2.Compose(
            [
                v2.Resize((224, 224), interpolation=v2.InterpolationMode.BICUBIC),
                v2.Normalize(*pre.CLIP),
            ]
        )
        shares = WIDE.astype(np.float32) / 255
        batch = program(torch.from_numpy(shares).permute(2, 0, 1)[None])
        with torch.no_grad():
            style = network.backbone(batch) @ network.last_layer_style
        np.testing.assert_allclose(own, (style / style.norm())[0], atol=2e-5)

    @pytest.mark.parametrize("numpy_s", ["numpy.core", "numpy._core"])
    def test_training_checkpoint_of_authors_loads(self, weights, numpy_s):
        """The file also has a command line, and numbers by either version of numpy."""
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


class TestAesthetic:
    def test_official_preprocessing_matches_network(self, weights):
        network = tiny.save_siglip(weights)
        (own,) = encoded(aesthetic_encoder("official"), WIDE)
        resized = np.asarray(Image.fromarray(WIDE).resize((384, 384), Image.BICUBIC))
        batch = torch.tensor(resized / 127.5 - 1, dtype=torch.float32)
        with torch.no_grad():
            expected = network(batch.permute(2, 0, 1)[None])[0]
        np.testing.assert_allclose(own, expected, atol=1e-5)
        assert own.shape == (1,)

    def test_pictures_of_reference_program_are_not_normalised(self, weights):
        network = tiny.save_siglip(weights)
        (own,) = encoded(aesthetic_encoder("vsb"), WIDE)
        resized = np.asarray(Image.fromarray(WIDE).resize((378, 378), Image.BILINEAR))
        batch = torch.tensor(resized / 255, dtype=torch.float32)
        with torch.no_grad():
            expected = network(batch.permute(2, 0, 1)[None])[0]
        np.testing.assert_allclose(own, expected, atol=1e-5)


class TestDetector:
    @pytest.mark.slow
    @pytest.mark.parametrize(("picture", "resize"), [(WIDE, True), (TALL, False)])
    def test_boxes_match_transformers(self, weights, monkeypatch, picture, resize):
        """Uses its tokens and its normalisation, for all queries.

        Sizes match too, up to the longest side, where its rounding differs from the
        program's.
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


class Fussy(nn.Module):
    """Network that runs out of memory above a number of inputs."""

    def __init__(self, most):
        super().__init__()
        self.most = most
        self.seen = []

    def forward(self, batch):
        if len(batch) > self.most:
            raise torch.OutOfMemoryError("out of memory")
        self.seen.append(len(batch))
        return batch * 2


def test_batch_is_halved_permanently_when_memory_runs_out():
    network = Fussy(3)
    run = Network(lambda: network, batch=16)
    inputs = [np.full(2, i, np.float32) for i in range(20)]
    features = run(inputs)
    np.testing.assert_array_equal(np.stack(features), np.stack(inputs) * 2)
    assert max(network.seen) == 2
    assert run.batch == 2
