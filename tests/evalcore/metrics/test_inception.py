"""The two Inception v3 and I3D: architecture, preprocessing and loading.

Networks have random weights, saved by the test and loaded by the real loader.
"""

import numpy as np
import pytest
import torch
from PIL import Image as PillowImage
from torch import nn
from torch.nn import functional
from torchvision.transforms import v2

from evalcore.metrics.base import Clip, Source
from evalcore.metrics.encoders import i3d, published
from evalcore.metrics.encoders import torchvision_networks as inception
from evalcore.metrics.weights import VARIABLE, WeightsError
from tests.cases import slow
from tests.evalcore.metrics.asking import noise

FID_FILE = "pt_inception-2015-12-05-6726825d.pth"
IMAGENET_FILE = "inception_v3_google-0cc3c7bd.pth"


def randomised(network):
    """Set random weights that keep numbers in bounds, and non-trivial statistics."""
    torch.manual_seed(0)
    for module in network.modules():
        if isinstance(module, nn.Conv2d | nn.Linear):
            nn.init.kaiming_normal_(module.weight)
        if isinstance(module, nn.BatchNorm2d):
            nn.init.uniform_(module.running_mean, -0.1, 0.1)
            nn.init.uniform_(module.bias, -0.1, 0.1)
    return network.eval()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with both files, written once."""
    folder = tmp_path_factory.mktemp("weights")
    torch.save(randomised(inception.fid_network()).state_dict(), folder / FID_FILE)
    network = randomised(inception.imagenet_network(transform_input=False))
    torch.save(network.state_dict(), folder / IMAGENET_FILE)
    return folder


@pytest.fixture(autouse=True)
def weights_folder(folder, monkeypatch):
    monkeypatch.setenv(VARIABLE, str(folder))
    monkeypatch.setenv("EVALCORE_DEVICE", "cpu")


def encoded(encoder, *items):
    features = encoder.encode([encoder.prepare(item) for item in items])
    assert all(isinstance(feature, np.ndarray) for feature in features), features
    return features


# FID's network -----------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", ["5b", "5c", "5d", "6b", "6c", "6d", "6e", "7b", "7c"])
def test_pooling_branches_ignore_padding(name):
    """On ones, FID's averages are 1; torchvision's count the padding."""
    network = randomised(inception.fid_network())
    block = getattr(network, f"Mixed_{name}")
    width = block.branch1x1.conv.weight.shape[1]
    branch = block.branch_pool
    channels = branch.conv.weight.shape[0]
    ramp = torch.arange(25.0).reshape(1, 1, 5, 5).expand(1, width, 5, 5)
    with torch.inference_mode():
        given = block(ramp)[:, -channels:]
        if name == "7c":
            # The maximum of the neighbourhood is at most one row and column away.
            rows = torch.clamp(torch.arange(5) + 1, max=4)
            pooled = (5 * rows[:, None] + rows[None]).float().expand(1, width, 5, 5)
        else:
            # The corner covers 0, 1, 5 and 6, mean 3; with padding it would be 4/3.
            padded = functional.pad(ramp, (1, 1, 1, 1), value=float("nan"))
            windows = padded.unfold(2, 3, 1).unfold(3, 3, 1).flatten(-2)
            pooled = windows.nanmean(-1)
            assert pooled[0, 0, 0, 0] == 3
        assert torch.allclose(given, branch(pooled.contiguous()), atol=1e-4)


@pytest.mark.slow
def test_pictures_are_squashed_as_floats_without_smoothing():
    picture = noise(0, (31, 17))
    prepared = inception.squashed(picture)
    assert prepared.shape == (3, 299, 299)
    assert prepared.dtype == np.float32
    # By hand: output x is at input (x + .5) * 31 / 299 - .5, between two pixels.
    x, y = 200, 120
    at = [(x + 0.5) * 31 / 299 - 0.5, (y + 0.5) * 17 / 299 - 0.5]
    left, top = (int(place) for place in at)
    right, down = at[0] - left, at[1] - top
    four = picture[top : top + 2, left : left + 2, 1] / 255
    wanted = np.array([1 - down, down]) @ four @ np.array([1 - right, right])
    assert prepared[1, y, x] == pytest.approx(2 * wanted - 1, abs=1e-5)


# torchvision's network ---------------------------------------------------------------


@pytest.mark.parametrize("as_trained", [True, *slow(False)])
def test_probabilities_match_torchvision(folder, as_trained):
    picture = noise(5, (320, 400))
    encoder = inception.imagenet_encoder(transform_input=as_trained)
    (probabilities,) = encoded(encoder, picture)
    assert probabilities.shape == (1000,)
    assert probabilities.sum() == pytest.approx(1, abs=1e-5)
    # The same by torchvision's own preprocessing; its switch is checked by hand.
    whole = v2.Compose(
        [
            v2.Resize(299),
            v2.CenterCrop(299),
            v2.PILToTensor(),
            v2.ToDtype(torch.float32, scale=True),
            v2.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
        ]
    )
    inputs = whole(PillowImage.fromarray(picture))[None]
    if as_trained:
        deviation = torch.tensor([0.229, 0.224, 0.225]).view(3, 1, 1)
        mean = torch.tensor([0.485, 0.456, 0.406]).view(3, 1, 1)
        inputs = ((inputs * deviation + mean) - 0.5) / 0.5
    network = inception.imagenet_network(transform_input=False).eval()
    network.load_state_dict(torch.load(folder / IMAGENET_FILE))
    with torch.inference_mode():
        theirs = network(inputs).softmax(-1)[0].numpy()
    assert probabilities == pytest.approx(theirs, rel=1e-3, abs=1e-7)


# Loading -----------------------------------------------------------------------------


# I3D ---------------------------------------------------------------------------------


class LikeI3D(nn.Module):
    """The archive's interface: switches, and 400 numbers per video."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.layer = nn.Linear(3, 400)

    def forward(
        self,
        x: torch.Tensor,
        rescale: bool = False,
        resize: bool = False,
        return_features: bool = False,
    ) -> torch.Tensor:
        if rescale:
            x = 2.0 * x / 255.0 - 1.0
        if resize:
            x = x[:, :, :, ::2, ::2]
        if return_features:
            # Frames weigh differently, so that their order counts.
            weights = torch.linspace(0.0, 1.0, x.shape[2])
            return self.layer((x.mean([3, 4]) * weights).sum(2))
        return x


def scripted(folder, network):
    torch.jit.save(torch.jit.script(network), str(folder / published.I3D.path))


def test_i3d_input_is_scaled_and_resized(tmp_path, monkeypatch):
    scripted(tmp_path, LikeI3D())
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    encoder = i3d.i3d_encoder()
    frames = np.stack([noise(seed, (12, 8)) for seed in range(11)])
    source = Source("k", lambda: iter(frames))
    clip = Clip(source, 0, 11).cut(list(frames))
    (feature,) = encoded(encoder, clip)
    assert feature.shape == (400,)
    chosen = torch.from_numpy(frames[i3d.choice(11)]).permute(3, 0, 1, 2)[None].float()
    with torch.inference_mode():
        wanted = LikeI3D()(chosen, True, True, True)[0]
    assert feature == pytest.approx(wanted.numpy(), abs=1e-4)


def test_only_the_published_archive_is_run(tmp_path, monkeypatch, published_hashes):
    """Loading an archive runs its code, so its hash is checked first."""
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    scripted(tmp_path, LikeI3D())
    monkeypatch.setattr(torch.jit, "load", lambda *_, **__: pytest.fail("it was run"))
    with pytest.raises(WeightsError, match="not with bec6519f as published"):
        i3d.load_i3d()
    assert len(published.I3D.files[0].sha256) == 64
