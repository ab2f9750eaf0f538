"""Which encoders may calculate in bf16, and what of them never does.

Mixed precision works on a processor too, so that what a GPU would do is seen here.
"""

import numpy as np
import pytest
import torch

from evalcore.metrics.encoders import preprocessing as pre
from evalcore.metrics.encoders import runtime, scenes
from evalcore.metrics.encoders import torchvision_networks as inception
from evalcore.metrics.encoders.clip import clip_image_encoder, csd_encoder
from evalcore.metrics.encoders.face_networks import (
    AdaFaceNetwork,
    FaceNetNetwork,
    adaface,
    facenet,
)
from evalcore.metrics.encoders.i3d import i3d_encoder
from evalcore.metrics.encoders.runtime import Network
from evalcore.metrics.encoders.siglip import aesthetic_encoder
from evalcore.metrics.encoders.subjects import Detector
from evalcore.metrics.weights import Weights
from tests.evalcore.metrics import tiny
from tests.evalcore.metrics.asking import noise
from tests.evalcore.metrics.encoders.test_networks import encoded
from tests.evalcore.metrics.test_inception import I3D_FILE, LikeI3D, scripted
from tests.evalcore.metrics.vistar import networks

PICTURES = [noise(seed, (224, 224)) for seed in range(4)]
ADAFACE_UNITS, ADAFACE_WIDTHS = (1, 1, 1, 1), (8, 8, 16, 16)


@pytest.fixture
def weights(weights, monkeypatch):
    monkeypatch.setenv("EVALCORE_PRECISION", "bf16")
    return weights


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_fp32_is_the_default_everywhere(device, monkeypatch):
    monkeypatch.delenv("EVALCORE_PRECISION", raising=False)
    monkeypatch.setattr(runtime, "device", lambda: torch.device(device))
    assert runtime.precision() == "fp32"
    assert Network(torch.nn.Identity).precision == "fp32"


def test_fp32_is_meant_in_full():
    assert not torch.backends.cuda.matmul.allow_tf32
    assert not torch.backends.cudnn.allow_tf32


class Product(torch.nn.Module):
    """Multiplies by a matrix: under bf16 its output is bf16."""

    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(3, 2)

    def forward(self, batch):
        self.seen = self.layer(batch)
        return self.seen


@pytest.mark.parametrize(
    ("exact", "named", "kind"),
    [(True, "fp32", torch.float32), (False, "bf16", torch.bfloat16)],
)
def test_an_exact_network_is_never_rounded(weights, exact, named, kind):
    product = Product()
    network = Network(lambda: product, exact=exact)
    network([np.ones(3, np.float32)])
    assert product.seen.dtype == kind
    assert network.precision == named


def saved_adaface(folder):
    torch.manual_seed(5)
    network = AdaFaceNetwork(ADAFACE_UNITS, ADAFACE_WIDTHS)
    state = {f"model.{key}": value for key, value in network.state_dict().items()}
    torch.save({"state_dict": state}, folder / "adaface.ckpt")
    where = Weights("adaface.ckpt", "", "")
    return adaface(where, ADAFACE_UNITS, ADAFACE_WIDTHS)


def saved_facenet(folder):
    torch.manual_seed(6)
    torch.save(FaceNetNetwork().state_dict(), folder / "facenet.pt")
    return facenet(Weights("facenet.pt", "", ""), as_trained=True)


def saved_detector(folder):
    tiny.save_detector(folder)
    return Detector("character")


def saved_unnormalised_clip(folder):
    tiny.save_clip(folder)
    return clip_image_encoder(tiny.CLIP, normalise=False)


def saved_i3d(folder):
    scripted(folder, LikeI3D())
    return i3d_encoder(I3D_FILE)


def saved_objects(folder):
    torch.manual_seed(7)
    networks.object_network().eval().save_pretrained(folder / scenes.OBJECTS.path)
    return scenes.ObjectEncoder()


@pytest.mark.parametrize(
    ("save", "item"),
    [
        (saved_adaface, noise(1, (112, 112))),
        (saved_facenet, noise(2, (160, 160))),
        (saved_detector, noise(3, (300, 200))),
        (saved_unnormalised_clip, PICTURES[0]),
        (saved_i3d, np.stack(PICTURES[:3])),
        (saved_objects, noise(4, (300, 200))),
    ],
)
def test_what_must_equal_the_reference_stays_in_fp32(weights, monkeypatch, save, item):
    monkeypatch.setattr("evalcore.metrics.encoders.subjects.THRESHOLD", 0.0)
    monkeypatch.setattr("evalcore.metrics.encoders.scenes.THRESHOLD", 0.0)
    encoder = save(weights)
    assert encoder.id.endswith("; fp32")
    (asked_for_bf16,) = encoded(encoder, item)
    monkeypatch.setenv("EVALCORE_PRECISION", "fp32")
    (plain,) = encoded(encoder, item)
    np.testing.assert_array_equal(asked_for_bf16, plain)


def test_both_inceptions_stay_in_fp32(weights):
    assert inception.fid_encoder().network.precision == "fp32"
    trained = inception.imagenet_encoder(transform_input=True)
    assert trained.network.precision == "fp32"


def tower_in_bf16(tower, batch):
    with torch.inference_mode(), torch.autocast("cpu", torch.bfloat16):
        return tower(batch)


def test_ratings_are_not_rounded_with_the_tower(weights):
    network = tiny.save_siglip(weights)
    encoder = aesthetic_encoder("official")
    assert encoder.id.endswith("; bf16")
    ratings = torch.tensor(np.stack(encoded(encoder, *PICTURES)))
    inputs = np.stack([encoder.prepare(one) for one in PICTURES])
    batch = pre.normalised(torch.tensor(inputs).float(), pre.HALF)
    seen = tower_in_bf16(network.tower, batch).pooler_output.float()
    with torch.inference_mode():
        wanted = network.head(torch.nn.functional.normalize(seen, dim=-1))
    torch.testing.assert_close(ratings, wanted, rtol=0, atol=1e-6)
    # A head in bf16 would give numbers that bf16 can hold.
    assert (ratings != ratings.bfloat16().float()).any()


def test_styles_are_not_rounded_with_the_tower(weights):
    network = tiny.save_csd(weights)
    encoder = csd_encoder("squash", tiny.CLIP)
    assert encoder.id.endswith("; bf16")
    styles = torch.tensor(np.stack(encoded(encoder, *PICTURES)))
    batch = pre.normalised(torch.tensor(np.stack(PICTURES)).float(), pre.CLIP)
    seen = tower_in_bf16(network.backbone, batch).float()
    with torch.inference_mode():
        wanted = seen @ network.last_layer_style
        rounded = (seen.bfloat16() @ network.last_layer_style.bfloat16()).float()
    unit = torch.nn.functional.normalize
    torch.testing.assert_close(styles, unit(wanted, dim=-1), rtol=0, atol=1e-6)
    assert (styles - unit(rounded, dim=-1)).abs().max() > 1e-4
