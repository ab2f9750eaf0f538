"""The three networks for face recognition, loaded from files as published."""

from collections import OrderedDict

import numpy as np
import pytest
import torch
from facenet_pytorch import InceptionResnetV1

from evalcore.metrics.encoders.antelope import ArcFace
from evalcore.metrics.encoders.face_networks import (
    AdaFaceNetwork,
    adaface,
    facenet,
)
from evalcore.metrics.weights import Weights
from tests.evalcore.metrics.asking import noise
from tests.evalcore.metrics.encoders.face_files import in_folder, save_arcface

FACES = [noise(seed, (112, 112)) for seed in range(3)]


@pytest.fixture(autouse=True)
def in_full_precision(monkeypatch):
    monkeypatch.setenv("EVALCORE_PRECISION", "fp32")


def shaken(network):
    """Return the network with statistics unlike those of an untrained one."""
    generator = torch.Generator().manual_seed(7)
    for name, values in network.state_dict().items():
        if name.endswith("running_mean"):
            values.copy_(torch.randn(values.shape, generator=generator) / 10)
        if name.endswith("running_var"):
            values.copy_(torch.rand(values.shape, generator=generator) + 0.5)
    return network.eval()


def bgr(faces):
    """Return faces as networks take them: batch x 3 x height x width, BGR, 0 to 255."""
    return torch.from_numpy(np.stack(faces)[..., ::-1].transpose(0, 3, 1, 2).copy())


# ArcFace -----------------------------------------------------------------------------


MATRIX = np.random.default_rng(5).normal(size=(3, 512))


@pytest.mark.parametrize("batch", ["batch", 1])
def test_arcface_input_is_rgb_from_minus_1_to_1(batch, monkeypatch, tmp_path):
    save_arcface(tmp_path / "arcface.onnx", MATRIX, batch)
    encoder = ArcFace(in_folder(monkeypatch, tmp_path, "arcface.onnx"))
    vectors = encoder.encode([encoder.prepare(face) for face in FACES])
    # The tiny network multiplies the mean red, green and blue by a matrix.
    means = np.stack([face.mean((0, 1)) for face in FACES])
    want = (means - 127.5) / 127.5 @ MATRIX
    assert np.array(vectors) == pytest.approx(want, abs=1e-5)


# AdaFace -----------------------------------------------------------------------------


UNITS, WIDTHS = (1, 2, 1, 1), (4, 4, 6, 8)


def lightning(network, **more):
    """Return a checkpoint as written by Lightning: network, head, and the rest."""
    state = OrderedDict((f"model.{k}", v) for k, v in network.state_dict().items())
    state["head.kernel"] = torch.zeros(512, 10)
    state["head.t"] = torch.zeros(1)
    state["head.batch_mean"] = torch.ones(1) * 20
    state["head.batch_std"] = torch.ones(1) * 100
    return {
        "epoch": 25,
        "global_step": 1,
        "pytorch-lightning_version": "1.4.4",
        "state_dict": state,
        "hyper_parameters": {"arch": "ir_101", "lr": 0.1, "lr_milestones": [12, 20]},
        **more,
    }


def saved(network, monkeypatch, tmp_path, change=lambda state: None) -> Weights:
    checkpoint = lightning(network)
    change(checkpoint["state_dict"])
    torch.save(checkpoint, tmp_path / "adaface.ckpt")
    return in_folder(monkeypatch, tmp_path, "adaface.ckpt")


@pytest.fixture
def network():
    torch.manual_seed(3)
    return shaken(AdaFaceNetwork(UNITS, WIDTHS))


def test_adaface_input_is_bgr_from_minus_1_to_1(network, monkeypatch, tmp_path):
    weights = saved(network, monkeypatch, tmp_path)
    encoder = adaface(weights, UNITS, WIDTHS)
    vectors = encoder.encode([encoder.prepare(face) for face in FACES])
    with torch.no_grad():
        want, _norms = network((bgr(FACES) / 255 - 0.5) / 0.5)
    assert np.array(vectors) == pytest.approx(want.numpy(), abs=1e-6)
    # Colours matter to this network, so swapped ones would show.
    with torch.no_grad():
        other, _norms = network((bgr(FACES).flip(1) / 255 - 0.5) / 0.5)
    assert (other - want).abs().max() > 1e-3


# FaceNet -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def published():
    """Return the network of facenet-pytorch with random weights, and a classifier."""
    torch.manual_seed(11)
    return shaken(InceptionResnetV1(classify=True, num_classes=20))


@pytest.fixture(scope="module")
def folder(published, tmp_path_factory):
    folder = tmp_path_factory.mktemp("facenet")
    torch.save(published.state_dict(), folder / "facenet.pt")
    return folder


@pytest.mark.parametrize(
    ("as_trained", "side"),
    [
        pytest.param(False, 112, id="as used"),
        pytest.param(True, 160, id="as trained", marks=pytest.mark.slow),
    ],
)
def test_facenet_matches_facenet_pytorch(
    as_trained, side, published, folder, monkeypatch
):
    faces = [noise(seed, (side, side)) for seed in range(2)]
    encoder = facenet(
        in_folder(monkeypatch, folder, "facenet.pt"), as_trained=as_trained
    )
    vectors = encoder.encode([encoder.prepare(face) for face in faces])
    given = (bgr(faces).flip(1) - 127.5) / 128 if as_trained else bgr(faces) / 255
    monkeypatch.setattr(published, "classify", False)
    with torch.no_grad():
        want = published(given.float()).numpy()
        exchanged = published(given.float().flip(1)).numpy()
    assert np.array(vectors) == pytest.approx(want, abs=1e-6)
    # Swapped colours would show.
    assert np.abs(want - exchanged).max() > 1e-4
