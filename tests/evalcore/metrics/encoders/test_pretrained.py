"""Folders of transformers are loaded strictly: nothing missing, nothing left over."""

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import (
    DPTForDepthEstimation,
    SiglipConfig,
    SiglipModel,
    SiglipVisionConfig,
    SiglipVisionModel,
)

from evalcore.metrics.encoders.runtime import load_pretrained
from evalcore.metrics.encoders.scenes import FIRST_FUSION
from evalcore.metrics.encoders.siglip import TEXT_TOWER
from evalcore.metrics.weights import WeightsError
from tests.evalcore.metrics.vistar.networks import depth_network

SMALL = {
    "hidden_size": 16,
    "intermediate_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
}
TOWER = {**SMALL, "image_size": 64, "patch_size": 32}


@pytest.fixture
def tower(tmp_path):
    """A folder with a picture tower alone."""
    SiglipVisionModel(SiglipVisionConfig(**TOWER)).save_pretrained(tmp_path)
    return tmp_path


def change(folder, by):
    path = folder / "model.safetensors"
    state = load_file(path)
    by(state)
    save_file(state, path, metadata={"format": "pt"})


def test_the_picture_tower_loads_from_a_folder_with_both(tmp_path):
    torch.manual_seed(8)
    both = SiglipModel(
        SiglipConfig(vision_config=TOWER, text_config={**SMALL, "vocab_size": 20})
    ).eval()
    both.save_pretrained(tmp_path)
    loaded = load_pretrained(SiglipVisionModel, tmp_path, beside=TEXT_TOWER).eval()
    picture = torch.rand(1, 3, 64, 64)
    with torch.no_grad():
        own = loaded(picture).pooler_output
        wanted = both.vision_model(picture).pooler_output
    torch.testing.assert_close(own, wanted)
    with pytest.raises(WeightsError, match="24 not of this network: logit_bias, logit"):
        load_pretrained(SiglipVisionModel, tmp_path)


def test_weights_of_another_shape_are_named(tower):
    def widen(state):
        key = next(key for key in state if key.endswith("fc1.bias"))
        state[key] = torch.zeros(3)

    change(tower, widen)
    with pytest.raises(WeightsError, match=r"1 of .*fc1\.bias is \(3,\), not \(16,\)"):
        load_pretrained(SiglipVisionModel, tower)


def test_depth_was_published_without_what_it_never_reads(tmp_path):
    torch.manual_seed(9)
    network = depth_network().eval()
    network.save_pretrained(tmp_path)
    picture = torch.rand(1, 3, 384, 384)
    with torch.no_grad():
        wanted = network(picture).predicted_depth

    def forget(beginning):
        def by(state):
            lost = [key for key in state if key.startswith(beginning)]
            assert lost, beginning
            for key in lost:
                del state[key]

        change(tmp_path, by)

    forget(FIRST_FUSION)
    loaded = load_pretrained(DPTForDepthEstimation, tmp_path, unused=FIRST_FUSION)
    with torch.no_grad():
        torch.testing.assert_close(loaded.eval()(picture).predicted_depth, wanted)
    with pytest.raises(WeightsError, match=r"4 missing: neck\.fusion_stage\.layers\.0"):
        load_pretrained(DPTForDepthEstimation, tmp_path)
    forget("neck.fusion_stage.layers.1.residual_layer1.")
    with pytest.raises(WeightsError, match=r"4 missing: neck\.fusion_stage\.layers\.1"):
        load_pretrained(DPTForDepthEstimation, tmp_path, unused=FIRST_FUSION)
