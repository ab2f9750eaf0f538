"""Fixtures that all tests share."""

from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[2] / "shared"


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of reference data beside the checkout; absent on some machines."""
    if not SHARED.is_dir():
        pytest.skip("needs the reference data in ../shared")
    return SHARED


@pytest.fixture(autouse=True)
def own_data_folders(settings, tmp_path_factory):
    """Keep pictures and reports of a test out of the real data."""
    folder = tmp_path_factory.mktemp("data")
    settings.DATA_DIR = folder
    settings.MEDIA_ROOT = folder / "media"
    settings.REPORTS_ROOT = folder / "reports"
