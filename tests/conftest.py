"""Fixtures that all tests share."""

import os
import shutil
from pathlib import Path

import pytest
from django.conf import settings
from django.utils import translation
from hypothesis import settings as hypothesis_settings
from playwright.sync_api import expect, sync_playwright

from tests.page_errors import PageErrors

# Playwright runs an event loop in the tests' own thread, and Django would refuse
# to touch the database there.
os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"

# A busy machine takes its time; what is expected may come as late as all else.
expect.set_options(timeout=30_000)

# Time on a busy machine is no property of the code, and a run that failed must fail
# again; `--hypothesis-profile=explore` looks for new examples.
hypothesis_settings.register_profile("explore", deadline=None)
hypothesis_settings.register_profile("repeatable", deadline=None, derandomize=True)
hypothesis_settings.load_profile("repeatable")

# The first to see a view's answer: what comes after knows its length.
settings.MIDDLEWARE = [*settings.MIDDLEWARE, "tests.one_line.middleware"]

SHARED = Path(__file__).resolve().parents[2] / "shared"


# What a test asks for that touches the database.
DATABASE = {"db", "transactional_db", "live_server"}


def pytest_collection_modifyitems(config, items):
    """Run again on PostgreSQL only what touches the database."""
    if settings.DATABASES["default"]["ENGINE"].endswith("sqlite3"):
        return
    touching, others = [], []
    for item in items:
        asked = DATABASE.intersection(getattr(item, "fixturenames", ()))
        touches = asked or item.get_closest_marker("django_db")
        (touching if touches else others).append(item)
    config.hook.pytest_deselected(items=others)
    items[:] = touching


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of reference data beside the checkout; absent on some machines."""
    if not SHARED.is_dir():
        pytest.skip("needs the reference data in ../shared")
    return SHARED


@pytest.fixture(autouse=True)
def english_again():
    """Let no test speak the language of the last page that the one before asked for."""
    yield
    translation.deactivate()


@pytest.fixture(autouse=True)
def own_data_folders(settings, tmp_path_factory):
    """Keep pictures and reports of a test out of the real data."""
    folder = tmp_path_factory.mktemp("data")
    settings.DATA_DIR = folder
    settings.MEDIA_ROOT = folder / "media"
    settings.REPORTS_ROOT = folder / "reports"
    settings.FEATURES_ROOT = folder / "features"


@pytest.fixture(scope="session")
def page_errors() -> PageErrors:
    """What pages complain about in the test at hand."""
    return PageErrors()


@pytest.fixture(autouse=True)
def no_page_errors(page_errors, request):
    """Fail a test whose pages throw or complain, but for what its mark names."""
    page_errors.heard.clear()
    yield
    marks = request.node.iter_markers("page_errors")
    page_errors.check([pattern for mark in marks for pattern in mark.args])


@pytest.fixture(scope="module")
def chromium(page_errors):
    """Debian's Chromium, driven by Playwright; one process for a module's tests.

    Errors are heard in every context that a test opens in it.
    """
    path = shutil.which("chromium")
    if path is None:
        pytest.skip("needs Chromium: apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=path,
            args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
        )
        browser.on("context", page_errors.listen)
        yield browser
        browser.close()


@pytest.fixture
def page(chromium):
    """A fresh desktop page without cookies."""
    context = chromium.new_context(viewport={"width": 1440, "height": 900})
    yield context.new_page()
    context.close()
