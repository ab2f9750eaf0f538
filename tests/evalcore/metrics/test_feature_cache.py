"""Features on disk: complete or absent, even after crashes."""

import multiprocessing

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from evalcore.metrics.engine import FeatureStore

FEATURES = arrays.arrays(
    dtype=st.sampled_from([np.float32, np.float64, np.int64, np.uint8]),
    shape=arrays.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4),
)


@pytest.fixture
def store(tmp_path):
    return FeatureStore(tmp_path / "features with space")


def files_of(store):
    return [p for p in store.folder.rglob("*") if p.is_file() and p.suffix != ".txt"]


@given(feature=FEATURES)
def test_stored_feature_is_returned(tmp_path_factory, feature):
    store = FeatureStore(tmp_path_factory.mktemp("features"))
    store.put_many("one", {"key": feature})
    got = store.get_many("one", ["key", "other"])
    assert list(got) == ["key"]
    assert got["key"].dtype == feature.dtype
    np.testing.assert_array_equal(got["key"], feature)


@pytest.mark.parametrize("kept", [0, 1, 5, 12])
def test_truncated_file_is_ignored(store, kept):
    store.put_many("one", {"key": np.arange(4.0)})
    (file,) = files_of(store)
    file.write_bytes(file.read_bytes()[:kept])
    assert store.get_many("one", ["key"]) == {}
    store.put_many("one", {"key": np.arange(4.0)})
    assert list(store.get_many("one", ["key"])) == ["key"]


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
