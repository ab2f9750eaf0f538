"""Features on disk: complete or absent, even after crashes."""

import multiprocessing
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from evalcore.metrics.base import FatalError
from evalcore.metrics.feature_store import FeatureStore

FEATURES = arrays.arrays(
    dtype=st.sampled_from([np.float32, np.float64, np.int64, np.uint8]),
    shape=arrays.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4),
)


@pytest.fixture
def store(tmp_path):
    return FeatureStore(tmp_path / "features with space")


def files_of(store):
    return [p for p in store.folder.rglob("*") if p.suffix == ".sqlite3"]


@given(feature=FEATURES)
def test_stored_feature_is_returned(tmp_path_factory, feature):
    store = FeatureStore(tmp_path_factory.mktemp("features"))
    store.put_many("one", {"key": feature})
    got = store.get_many("one", ["key", "other"])
    assert list(got) == ["key"]
    assert got["key"].dtype == feature.dtype
    np.testing.assert_array_equal(got["key"], feature)


def test_text_features_are_returned(store):
    store.put_many("judge", {"key": np.array(["Score: 3", "四"])})
    assert store.get_many("judge", ["key"])["key"].tolist() == ["Score: 3", "四"]


def test_every_feature_is_found_in_one_file_an_encoder(store):
    features = {f"picture {i}": np.full(3, i) for i in range(1200)}
    store.put_many("one", features)
    store.put_many("two", {"picture 7": np.zeros(2)})
    found = store.get_many("one", [*features, "unknown"])
    assert {key: one[0] for key, one in found.items()} == {
        f"picture {i}": i for i in range(1200)
    }
    assert len(files_of(store)) == 2


@pytest.mark.parametrize("kept", [1, 100, 20000])
def test_damaged_file_is_named(store, kept):
    store.put_many("one", {"key": np.arange(4000.0)})
    (file,) = files_of(store)
    file.write_bytes(b"?" * kept + file.read_bytes()[kept:])
    with pytest.raises(FatalError, match=f"{file.name}: .* delete it"):
        store.get_many("one", ["key"])


def _fill(folder):
    store = FeatureStore(folder)
    for number in range(10**6):
        store.put_many("one", {f"{number} {i}": np.full(900, number) for i in range(4)})


@pytest.mark.slow
def test_features_are_complete_when_a_writer_is_killed(store):
    writer = multiprocessing.get_context("spawn").Process(
        target=_fill, args=(store.folder,)
    )
    writer.start()
    while not store.get_many("one", ["3 0"]):
        time.sleep(0.01)
    writer.kill()
    writer.join()
    found = store.get_many("one", [f"{n} {i}" for n in range(10**4) for i in range(4)])
    assert len(found) % 4 == 0
    assert all((one == int(key.split()[0])).all() for key, one in found.items())


def _write(folder, value):
    store = FeatureStore(folder)
    for _ in range(200):
        store.put_many("one", {"key": np.full(5000, value)})


@pytest.mark.slow
def test_processes_may_write_the_same_feature(store):
    """A reader gets one process's feature or the other's, never a mixture."""
    writers = [
        multiprocessing.get_context("spawn").Process(
            target=_write, args=(store.folder, value)
        )
        for value in (1.0, 2.0)
    ]
    for writer in writers:
        writer.start()
    seen = set()
    while any(writer.is_alive() for writer in writers):
        for feature in store.get_many("one", ["key"]).values():
            seen.add((float(feature.min()), float(feature.max())))
    for writer in writers:
        writer.join()
        assert writer.exitcode == 0
    assert seen <= {(1.0, 1.0), (2.0, 2.0)}
    assert seen
    assert len(files_of(store)) == 1
