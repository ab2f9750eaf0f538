"""The documentation in Chromium, under the policy of the product."""

import subprocess
import sys

import pytest
from playwright.sync_api import expect

from tests.serving import ROOT

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.django_db(transaction=True),
]
START = "docs/tutorials/demo.html"


@pytest.fixture(scope="module")
def html(tmp_path_factory):
    """The documentation as `make docs` builds it; broken links end the build."""
    folder = tmp_path_factory.mktemp("docs")
    options = ["--fail-on-warning", "--keep-going", "--quiet"]
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", *options, "docs", folder / "html"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return folder / "html"


@pytest.fixture
def site(html, live_server, settings):
    settings.DOCUMENTATION_ROOT = html
    return live_server.url


@pytest.mark.parametrize("width", [390, 1440])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_page_fits_and_follows_the_theme(chromium, site, width, theme):
    size = {"width": width, "height": 900}
    context = chromium.new_context(viewport=size, color_scheme=theme)
    page = context.new_page()
    page.goto(f"{site}/{START}")
    expect(page.locator("h1")).to_contain_text("Ten minutes with the demo")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (
        background == {"light": "rgb(251, 250, 247)", "dark": "rgb(19, 23, 22)"}[theme]
    )
    expect(page.locator(".icon-sprite").first).to_be_hidden()
    context.close()


def test_reader_chooses_a_theme_that_is_kept(page, site):
    page.goto(f"{site}/{START}")
    page.locator(".theme-toggle-content button").click()
    assert page.evaluate("document.body.dataset.theme") == "dark"
    page.reload()
    assert page.evaluate("document.body.dataset.theme") == "dark"


def test_search_finds_pages(page, site):
    page.goto(f"{site}/{START}")
    page.fill("input[name=q]", "completion code")
    page.press("input[name=q]", "Enter")
    page.locator("#search-results a").first.click()
    expect(page.locator("h1")).to_be_visible()
