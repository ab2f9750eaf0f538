"""OneIG's diversity by hand, on a stand-in with the interface of `dreamsim` 0.2.1.

It was never run with DreamSim's real weights here.
"""

import sys

import numpy as np
import pytest

from evalcore.metrics import registry
from evalcore.metrics.encoders import published
from evalcore.metrics.weights import VARIABLE
from tests.evalcore.metrics.asking import rendering_of, score

PACKAGE = '''
import torch
from torch import nn

class Ensemble(nn.Module):
    """Directions of the mean colour, instead of three networks."""
    def embed(self, img):
        assert img.shape[1:] == (3, 224, 224) and 0 <= img.min() and img.max() <= 1
        return nn.functional.normalize(img.mean((2, 3)), dim=1)

def dreamsim(pretrained=True, device="cuda", cache_dir="./models",
             normalize_embeds=True, dreamsim_type="ensemble", use_patch_model=False):
    from pathlib import Path
    assert (Path(cache_dir) / "ensemble_lora").is_dir(), "it would fetch weights"
    return Ensemble().to(device), None
'''


@pytest.fixture
def metric(tmp_path, monkeypatch):
    for package, text in (("dreamsim", PACKAGE), ("peft", "")):
        (tmp_path / f"{package}.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    folder = tmp_path / "weights"
    for file in published.DREAMSIM.files:
        (folder / file.path).parent.mkdir(parents=True, exist_ok=True)
        (folder / file.path).touch()
    monkeypatch.setenv(VARIABLE, str(folder))
    monkeypatch.setenv("EVALCORE_DEVICE", "cpu")
    metric = registry.load("oneig_diversity@grid-2x2")
    assert not metric.missing()
    yield metric
    for package in ("dreamsim", "peft"):
        sys.modules.pop(package, None)


def test_diversity_is_the_mean_distance_of_pairs(metric, tmp_path):
    """Red, red, green, yellow: distances 0, 1, .293, 1, .293, .293, mean .4798."""
    picture = np.zeros((32, 32, 3), np.uint8)
    picture[:16, :, 0] = 200
    picture[16:, :, 1] = 200
    picture[16:, 16:, 0] = 200
    (value,) = score(metric, rendering_of([picture]), tmp_path / "features")
    assert value.value == pytest.approx((2 + 3 * (1 - np.sqrt(0.5))) / 6, abs=1e-6)
    picture[:, 16:] = picture[16:, :16] = 0  # black cells are no pictures
    (value,) = score(metric, rendering_of([picture]), tmp_path / "features")
    assert value.reason == "fewer than two pictures"
