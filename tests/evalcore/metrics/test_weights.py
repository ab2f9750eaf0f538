"""Weights: searched in the operator's folder, checked, never downloaded."""

import hashlib

import pytest

from evalcore.metrics.weights import Weights, WeightsError

FILE = Weights("some/file.pth", "MIT", "from its authors", sha256="2c26b46b")
FOLDER = Weights(
    "some-repo",
    "MIT",
    "hf download a/some-repo",
    hub="a/some-repo",
    hub_file="model.safetensors",
)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("EVALCORE_WEIGHTS_DIR", str(tmp_path))
    (tmp_path / "some").mkdir()
    return tmp_path


def test_file_is_found_and_hash_is_checked(folder):
    assert FILE.find() is None
    path = folder / "some" / "file.pth"
    path.write_bytes(b"foo")  # SHA-256 2c26b46b...
    assert FILE.need() == path
    path.write_bytes(b"bar!")
    with pytest.raises(WeightsError) as caught:
        FILE.need()
    begin = hashlib.sha256(b"bar!").hexdigest()[:8]
    assert f"begins with {begin}, not with 2c26b46b" in str(caught.value)


def test_hub_cache_is_searched_without_network(tmp_path, monkeypatch):
    monkeypatch.delenv("EVALCORE_WEIGHTS_DIR", raising=False)
    assert FOLDER.find() is None
    cache = tmp_path / "models--a--some-repo"
    (cache / "refs").mkdir(parents=True)
    (cache / "refs" / "main").write_text("abc")
    snapshot = cache / "snapshots" / "abc"
    snapshot.mkdir(parents=True)
    (snapshot / "model.safetensors").write_bytes(b"x")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    assert FOLDER.find() == snapshot
