import pytest

from tests.evalcore.metrics import tiny


@pytest.fixture
def weights(tmp_path, monkeypatch):
    """Return an empty folder of weights, with no network loaded before."""
    monkeypatch.setenv("EVALCORE_WEIGHTS_DIR", str(tmp_path))
    monkeypatch.setenv("EVALCORE_DEVICE", "cpu")
    tiny.know_clip(tmp_path, monkeypatch)
    tiny.forget_loaded()
    yield tmp_path
    tiny.forget_loaded()
