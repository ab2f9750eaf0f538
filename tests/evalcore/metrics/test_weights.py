"""Weights: searched in the operator's folder, checked, never downloaded."""

import hashlib

import pytest

from evalcore.metrics.encoders import published
from evalcore.metrics.weights import (
    LOCK,
    File,
    Weights,
    WeightsError,
    fingerprint,
    first_uses,
    missing_requirements,
)

FOO = "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae"  # of b"foo"
BAR = "fcde2b2edba56bf408601fb721fe9b5c338d10ee429ea04fae5511b68fbf8fb9"  # of b"bar"
FILE = Weights("some/file.pth", "MIT", (File("some/file.pth", sha256="2c26b46b"),))
FOLDER = Weights(
    "some-repo",
    "MIT",
    (File("some-repo/config.json", sha256=FOO), File("some-repo/model.safetensors")),
    hub="a/some-repo",
    revision="abc",
    hub_file="model.safetensors",
)


@pytest.fixture
def folder(tmp_path, monkeypatch, published_hashes):
    monkeypatch.setenv("EVALCORE_WEIGHTS_DIR", str(tmp_path))
    (tmp_path / "some").mkdir()
    return tmp_path


def write(folder, config=b"foo", model=b"bar"):
    (folder / "some-repo").mkdir(exist_ok=True)
    (folder / "some-repo" / "config.json").write_bytes(config)
    (folder / "some-repo" / "model.safetensors").write_bytes(model)


def test_file_is_found_and_hash_is_checked(folder):
    assert FILE.find() is None
    path = folder / "some" / "file.pth"
    path.write_bytes(b"foo")
    assert FILE.need() == path
    path.write_bytes(b"bar!")
    with pytest.raises(WeightsError) as caught:
        FILE.need()
    begin = hashlib.sha256(b"bar!").hexdigest()[:8]
    assert f"begins with {begin}, not with 2c26b46b as published" in str(caught.value)


def test_other_publication_of_the_same_weights_is_accepted(folder):
    csd = Weights("csd.pth", "MIT", (File("csd.pth", sha256=FOO, also=(BAR,)),))
    (folder / "csd.pth").write_bytes(b"bar")
    assert csd.need() == folder / "csd.pth"


def test_file_without_published_hash_must_stay_as_at_its_first_use(folder):
    write(folder)
    assert FOLDER.need() == folder / "some-repo"
    assert first_uses(folder) == {"some-repo/model.safetensors": BAR}
    assert FOLDER.need() == folder / "some-repo"
    assert len((folder / LOCK).read_text().splitlines()) == 1
    write(folder, model=b"swapped")
    with pytest.raises(WeightsError, match=f"not with {BAR[:8]} as at its first use"):
        FOLDER.need()
    write(folder, config=b"bar")
    with pytest.raises(WeightsError, match=r"config\.json: its SHA-256 begins"):
        FOLDER.need()


def test_incomplete_folder_names_the_lacking_file(folder):
    write(folder)
    (folder / "some-repo" / "config.json").unlink()
    with pytest.raises(WeightsError, match=r"some-repo lacks config.json"):
        FOLDER.need()


def test_fingerprint_counts_only_the_files_that_are_read(folder):
    write(folder)
    before = fingerprint(FOLDER)
    (folder / "some-repo" / "pytorch_model.bin").write_bytes(b"another format")
    assert fingerprint(FOLDER) == before
    (folder / LOCK).unlink()
    write(folder, model=b"foo")
    assert fingerprint(FOLDER) != before


def test_hub_cache_is_searched_without_network(tmp_path, monkeypatch):
    monkeypatch.delenv("EVALCORE_WEIGHTS_DIR", raising=False)
    assert FOLDER.find() is None
    snapshot = tmp_path / "models--a--some-repo" / "snapshots" / "abc"
    snapshot.mkdir(parents=True)
    (snapshot / "model.safetensors").write_bytes(b"x")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    assert FOLDER.find() == snapshot


def test_missing_requirements_are_one_short_text(tmp_path, monkeypatch):
    monkeypatch.setenv("EVALCORE_WEIGHTS_DIR", str(tmp_path))
    lacks = missing_requirements(("torch", "no_such"), (published.CSD, FILE))
    assert str(lacks) == (
        "package no_such (make metrics, or pip install 'plumbline[metrics]'); "
        "csd/csd_vit-large.pth, some/file.pth (plumbline weights)"
    )
    # An unrelated package on the registry has DOVER's import name.
    (tmp_path / "dover").mkdir()
    (tmp_path / "dover" / "__init__.py").write_text("raise ImportError('imported')")
    monkeypatch.syspath_prepend(tmp_path)
    assert "VQAssessment/DOVER" in str(missing_requirements(("dover.models",)))
    (tmp_path / "dover" / "models").mkdir()
    assert not missing_requirements(("dover.models",))


def test_published_files_have_addresses_and_whole_hashes():
    known = [one for one in vars(published).values() if isinstance(one, Weights)]
    every = [one for one in known if not one.package]
    every += [published.clip_weights(name) for name in published.CLIP]
    assert len(every) > 20
    for weights in every:
        for file in weights.files:
            assert file.url.startswith("https://") or weights.steps, file
            assert len(file.sha256) in (0, 64), file
            assert "/main/" not in file.url or not file.sha256, file
