import pytest

from evalcore.metrics.weights import File
from tests.evalcore.metrics.llm_judge.serving import serving


@pytest.fixture
def server():
    with serving() as running:
        yield running


FAULT = File.fault


@pytest.fixture(scope="package", autouse=True)
def any_hash():
    """Let tiny networks stand in the places of published files."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(File, "fault", lambda *_: "")
        yield


@pytest.fixture
def published_hashes(monkeypatch):
    """Refuse files other than the published ones, as the product does."""
    monkeypatch.setattr(File, "fault", FAULT)
