"""Strict loading of transformers' folders: nothing missing, nothing left over."""

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import (
    DPTForDepthEstimation,
)

from evalcore.metrics.encoders.runtime import load_pretrained
from evalcore.metrics.encoders.scenes import FIRST_FUSION
from evalcore.metrics.weights import WeightsError
from tests.evalcore.metrics.vistar.networks import depth_network


def change(folder, by):
    path = folder / "model.safetensors"
    state = load_file(path)
    by(state)
    save_file(state, path, metadata={"format": "pt"})


def test_depth_network_loads_without_unused_layers(tmp_path):
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
