"""PQA: its formula by hand, DOVER's views, and the package's interface.

The package is a stand-in of a few lines with the interface of `dover.models` at
f1ddc96: what it is called with, and the order of its ratings. It was never run with the
real weights here.
"""

import sys

import numpy as np
import pytest
import torch

from evalcore.metrics import registry
from evalcore.metrics.encoders import dover
from evalcore.metrics.storybench.quality import perceptual_quality
from evalcore.metrics.weights import VARIABLE
from tests.evalcore.metrics.asking import noise, rendering_of, score
from tests.evalcore.metrics.storybench.telling import filmed

PACKAGE = '''
import torch
from torch import nn

class Mean(nn.Module):
    """A backbone that keeps a video's mean, times a weight."""
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(1))
    def forward(self, video, multi=False, layer=-1):
        return video.mean((1, 2, 3, 4)) * self.weight

class VQAHead(nn.Module):
    def __init__(self, pre_pool, in_channels, hidden_channels):
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(1))
    def forward(self, feature):
        return feature + self.bias

def convnext_3d_tiny(pretrained=False, in_22k=False):
    assert not pretrained, "it would fetch weights"
    return Mean()

class DOVER(nn.Module):
    def __init__(self, backbone, backbone_preserve_keys, divide_head, vqa_head):
        super().__init__()
        for key in backbone_preserve_keys.split(","):
            if backbone[key]["type"] == "conv_tiny":
                convnext_3d_tiny(pretrained=True)
            setattr(self, key + "_backbone", Mean())
            setattr(self, key + "_head", VQAHead(pre_pool=False, **vqa_head))
    def forward(self, vclips, inference=True, reduce_scores=False):
        return [
            getattr(self, key + "_head")(getattr(self, key + "_backbone")(clips))
            for key, clips in vclips.items()
        ]
'''


def test_quality_is_the_logistic_of_standardised_ratings():
    """a = (.2 - .1107) / .07355 = 1.2141, t = (.05 + .08285) / .03774 = 3.5201."""
    expected = {"aesthetic": 77.10, "technical": 97.13, "overall": 89.21}
    for part, value in expected.items():
        assert perceptual_quality(0.2, 0.05, part) == pytest.approx(value, abs=0.01)
    assert perceptual_quality(0.1107, -0.08285, "overall") == pytest.approx(50)


@pytest.mark.parametrize(
    ("count", "first", "last"),
    [
        # Three parts of 64 frames leave no choice: every second frame.
        (192, range(0, 64, 2), range(128, 192, 2)),
        # 24 frames: parts of 8; beyond the end it begins again.
        (24, [i % 24 for i in range(0, 64, 2)], [i % 24 for i in range(16, 80, 2)]),
    ],
)
def test_technical_frames_begin_in_three_parts(count, first, last):
    frames = dover.sampled_frames(count, 32, 3, np.random.default_rng(0))
    assert frames[:32].tolist() == list(first)
    assert frames[64:].tolist() == list(last)


def test_technical_view_is_made_of_fragments_in_place():
    """At 224 x 224 each field is a fragment, so the view is the picture itself."""
    frames = np.stack([noise(1, (224, 224))] * 32)
    rng = np.random.default_rng(0)
    assert (dover.technical_view(frames, rng) == frames).all()
    # At 448 x 448 fields have 64 pixels, fragments 32, all from within their field.
    rows = np.repeat(np.arange(448, dtype=np.uint16) // 64, 448).reshape(448, 448)
    fields = np.repeat((rows * 7 + rows.T)[..., None], 3, axis=2).astype(np.uint8)
    view = dover.technical_view(np.stack([fields] * 32), rng)
    expected = np.arange(49).reshape(7, 7).repeat(32, axis=0).repeat(32, axis=1)
    assert (view[0, ..., 0] == expected).all()


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Put the stand-in where Python finds it, in place of any real one."""
    models = tmp_path / "dover" / "models"
    models.mkdir(parents=True)
    (models.parent / "__init__.py").touch()
    (models / "__init__.py").write_text(PACKAGE)
    monkeypatch.syspath_prepend(tmp_path)
    yield
    for name in [name for name in sys.modules if name.partition(".")[0] == "dover"]:
        del sys.modules[name]


@pytest.mark.slow
def test_videos_are_rated_by_the_package(package, tmp_path, monkeypatch):
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    monkeypatch.setenv("EVALCORE_DEVICE", "cpu")
    state = {"aesthetic_backbone.weight": torch.ones(1)}
    state["technical_backbone.weight"] = torch.full((1,), 2.0)
    state["aesthetic_head.bias"] = torch.full((1,), 0.5)
    state["technical_head.bias"] = torch.zeros(1)
    torch.save(state, tmp_path / "DOVER.pth")
    metric = registry.load("pqa")
    assert not metric.missing()
    video = filmed(tmp_path, [(0.0, 3.0)])
    (value,) = score(metric, video, tmp_path / "features")
    frames = np.stack(list(video.frames[0].source.pictures()))
    clips = dover.views(frames)
    ratings = {"aesthetic": clips[0].mean() + 0.5, "technical": clips[1:].mean() * 2}
    assert value.trace == pytest.approx(ratings, abs=1e-4)
    expected = perceptual_quality(*map(float, ratings.values()), "overall")
    assert value.value == pytest.approx(expected, abs=1e-2)
    (absent,) = score(metric, rendering_of([noise(1)]), tmp_path / "features")
    assert absent.reason == "the output is no video"
