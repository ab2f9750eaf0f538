"""The two Inception v3 and I3D: their architecture, preprocessing and loading.

Networks have random weights, saved by the test and loaded by the real loader.
"""

import dataclasses

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
from tests.evalcore.metrics.asking import noise

FID_FILE = "pt_inception-2015-12-05-6726825d.pth"
IMAGENET_FILE = "inception_v3_google-0cc3c7bd.pth"


def unhashed(weights):
    """The same file, without the hash of what was published."""
    return dataclasses.replace(weights, sha256="")


FID = unhashed(published.INCEPTION_FID)
IMAGENET = unhashed(published.INCEPTION_IMAGENET)


def randomised(network):
    """Random weights that keep numbers in bounds, and statistics that matter."""
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
    """A folder with both files, written once."""
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


@pytest.mark.parametrize("name", ["5b", "5c", "5d", "6b", "6c", "6d", "6e", "7b", "7c"])
def test_what_the_pooling_branches_see(name):
    """Of ones every average over those there is 1; torchvision's counts the padding."""
    network = randomised(inception.fid_network())
    block = getattr(network, f"Mixed_{name}")
    width = block.branch1x1.conv.weight.shape[1]
    branch = block.branch_pool
    channels = branch.conv.weight.shape[0]
    ramp = torch.arange(25.0).reshape(1, 1, 5, 5).expand(1, width, 5, 5)
    with torch.inference_mode():
        given = block(ramp)[:, -channels:]
        if name == "7c":
            # The largest of the neighbourhood, at most one row and column further.
            rows = torch.clamp(torch.arange(5) + 1, max=4)
            pooled = (5 * rows[:, None] + rows[None]).float().expand(1, width, 5, 5)
        else:
            # The corner sees 0, 1, 5 and 6, mean 3; with padding it would be 4/3.
            padded = functional.pad(ramp, (1, 1, 1, 1), value=float("nan"))
            windows = padded.unfold(2, 3, 1).unfold(3, 3, 1).flatten(-2)
            pooled = windows.nanmean(-1)
            assert pooled[0, 0, 0, 0] == 3
        assert torch.allclose(given, branch(pooled.contiguous()), atol=1e-4)


def test_the_other_branches_are_torchvisions():
    network = randomised(inception.fid_network())
    plain = inception.imagenet_network(transform_input=False).eval()
    plain.Mixed_5b.load_state_dict(network.Mixed_5b.state_dict())
    inputs = torch.rand(1, 192, 7, 7)
    with torch.inference_mode():
        ours, theirs = network.Mixed_5b(inputs), plain.Mixed_5b(inputs)
    assert torch.equal(ours[:, :-32], theirs[:, :-32])
    assert not torch.allclose(ours[:, -32:], theirs[:, -32:])


def test_pictures_are_squashed_on_numbers_without_smoothing():
    picture = noise(0, (31, 17))
    prepared = inception.squashed(picture)
    assert prepared.shape == (3, 299, 299)
    assert prepared.dtype == np.float32
    # By hand: output x looks at (x + .5) * 31 / 299 - .5, between two pixels.
    x, y = 200, 120
    at = [(x + 0.5) * 31 / 299 - 0.5, (y + 0.5) * 17 / 299 - 0.5]
    left, top = (int(place) for place in at)
    right, down = at[0] - left, at[1] - top
    four = picture[top : top + 2, left : left + 2, 1] / 255
    wanted = np.array([1 - down, down]) @ four @ np.array([1 - right, right])
    assert prepared[1, y, x] == pytest.approx(2 * wanted - 1, abs=1e-5)


def test_reducing_drops_pixels_as_the_reference_does():
    # 598 -> 299 without smoothing sees the mean of two neighbours in each direction.
    picture = np.zeros((598, 598, 3), np.uint8)
    picture[::4] = 255
    prepared = inception.squashed(picture)
    assert prepared[0, :2, 7] == pytest.approx([0.0, -1.0], abs=1e-5)


def test_features_are_those_of_the_last_pooling(folder):
    encoder = inception.fid_encoder(FID)
    pictures = noise(1, (60, 40)), noise(2, (299, 299))
    one, other = encoded(encoder, *pictures)
    assert one.shape == other.shape == (2048,)
    assert one.dtype == np.float32
    assert not np.allclose(one, other)
    # The last layer, which is left out, gives its classes from just these features.
    network = inception.fid_network().eval()
    network.load_state_dict(torch.load(folder / FID_FILE))
    with torch.inference_mode():
        classes = network(torch.from_numpy(inception.squashed(pictures[0]))[None])[0]
        from_features = network.fc(torch.from_numpy(one))
    assert classes.shape == (1008,)
    assert torch.allclose(classes, from_features, rtol=1e-3, atol=1e-3)


# torchvision's network ---------------------------------------------------------------


@pytest.mark.parametrize("as_trained", [True, False])
def test_probabilities(folder, as_trained):
    picture = noise(5, (320, 400))
    encoder = inception.imagenet_encoder(transform_input=as_trained, weights=IMAGENET)
    (probabilities,) = encoded(encoder, picture)
    assert probabilities.shape == (1000,)
    assert probabilities.sum() == pytest.approx(1, abs=1e-5)
    # The same by torchvision's own preprocessing; its switch is told apart by hand.
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


def test_the_auxiliary_classifier_must_be_in_the_file_and_is_let_go(folder, tmp_path):
    network = inception.load_imagenet_network(True, IMAGENET)
    assert network.AuxLogits is None
    assert network.transform_input is True
    state = torch.load(folder / IMAGENET_FILE)
    assert sum(key.startswith("AuxLogits.") for key in state) == 14
    for key in [key for key in state if key.startswith("AuxLogits.")]:
        del state[key]
    torch.save(state, tmp_path / IMAGENET_FILE)
    with pytest.raises(WeightsError, match=r"14 missing: AuxLogits\.conv0\.conv"):
        load_from(tmp_path, inception.load_imagenet_network, True, IMAGENET)


# Loading -----------------------------------------------------------------------------


def load_from(folder, load, *arguments):
    """Load with another folder of weights."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, str(folder))
        return load(*arguments)


def test_a_file_from_before_batches_were_counted(folder, tmp_path):
    state = torch.load(folder / FID_FILE)
    old = {key: t for key, t in state.items() if "num_batches_tracked" not in key}
    assert len(old) < len(state)
    torch.save(old, tmp_path / FID_FILE)
    network = load_from(tmp_path, inception.load_fid_network, FID)
    assert torch.equal(
        network.Mixed_7c.branch1x1.conv.weight, state["Mixed_7c.branch1x1.conv.weight"]
    )


def test_an_altered_file_is_refused():
    # The random weights have not the published hash.
    with pytest.raises(WeightsError, match="not with 6726825d as published"):
        inception.load_fid_network()
    with pytest.raises(WeightsError, match="not with 0cc3c7bd as published"):
        inception.load_imagenet_network(False)


# I3D ---------------------------------------------------------------------------------


class LikeI3D(nn.Module):
    """What the archive promises: switches, and 400 numbers of a video."""

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


class LikeAnother(nn.Module):
    def forward(self, x: torch.Tensor, rescale: bool = False) -> torch.Tensor:
        return x


I3D_FILE = dataclasses.replace(published.I3D, hub="", sha256="")


def scripted(folder, network):
    torch.jit.save(torch.jit.script(network), str(folder / I3D_FILE.path))


@pytest.mark.parametrize(
    ("count", "repeated"), [(1, 9), (2, 5), (3, 3), (4, 3), (5, 2), (6, 2), (8, 2)]
)
def test_short_videos_are_repeated(count, repeated):
    # The reference's table: so often does each frame come; then 9 of them are taken.
    longer = np.repeat(np.arange(count), repeated)
    nine = len(longer) // 9 * 9
    spread = (np.arange(nine) * (len(longer) - 1) / max(nine - 1, 1)).astype(int)
    assert i3d.choice(count).tolist() == longer[spread].tolist()
    assert len(i3d.choice(count)) == 9


@pytest.mark.parametrize(("count", "kept"), [(9, 9), (17, 9), (18, 18), (50, 45)])
def test_long_videos_are_cut_to_nines(count, kept):
    chosen = i3d.choice(count)
    assert len(chosen) == kept
    assert (chosen[0], chosen[-1]) == (0, count - 1)
    assert (np.diff(chosen) >= 1).all()
    if kept == count:
        assert chosen.tolist() == list(range(count))


def test_i3d_sees_scaled_and_resized_videos(tmp_path, monkeypatch):
    scripted(tmp_path, LikeI3D())
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    encoder = i3d.i3d_encoder(I3D_FILE)
    frames = np.stack([noise(seed, (12, 8)) for seed in range(11)])
    source = Source("k", lambda: iter(frames))
    clip = Clip(source, 0, 11).cut(list(frames))
    (feature,) = encoded(encoder, clip)
    assert feature.shape == (400,)
    chosen = torch.from_numpy(frames[i3d.choice(11)]).permute(3, 0, 1, 2)[None].float()
    with torch.inference_mode():
        wanted = LikeI3D()(chosen, True, True, True)[0]
    assert feature == pytest.approx(wanted.numpy(), abs=1e-4)


def test_clips_of_different_sizes_go_one_after_the_other(tmp_path, monkeypatch):
    scripted(tmp_path, LikeI3D())
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    encoder = i3d.i3d_encoder(I3D_FILE)
    assert encoder.batch == 1
    clips = np.zeros((3, 4, 6, 3), np.uint8), np.zeros((20, 8, 8, 3), np.uint8)
    assert [len(f) for f in encoded(encoder, *clips)] == [400, 400]


def test_an_archive_is_run_only_if_it_is_the_published_one(tmp_path, monkeypatch):
    """Loading an archive runs what is in it, so its hash comes first."""
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    scripted(tmp_path, LikeI3D())
    monkeypatch.setattr(torch.jit, "load", lambda *_, **__: pytest.fail("it was run"))
    with pytest.raises(WeightsError, match="not with bec6519f as published"):
        i3d.load_i3d()
    assert len(published.I3D.sha256) == 64


def test_another_archive_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    scripted(tmp_path, LikeAnother())
    with pytest.raises(WeightsError, match="it takes no resize, return_features"):
        i3d.load_i3d(I3D_FILE)
