"""Browser tests of the glossary page and of notes on terms."""

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from annotate.models import User
from tests.browser.accessibility import violations_of_both_themes
from tests.factories import make_benchmark

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True}


def log_in(page, live_server) -> None:
    User.objects.create_user("alice", password="not-a-secret", is_superuser=True)
    page.goto(live_server.url + reverse("login"))
    page.fill("input[name=username]", "alice")
    page.fill("input[name=password]", "not-a-secret")
    page.keyboard.press("Enter")
    page.wait_for_url(lambda url: "/login/" not in url)


def show_summary(page, live_server) -> None:
    """Open the summary of a new study, which contains terms."""
    make_benchmark()
    form = reverse("setup-form", args=["woods"])
    page.goto(f"{live_server.url}{form}?template=vistorybench-crowd")
    page.click(".setup-buttons button:has-text('Check')")
    page.wait_for_selector("[popovertarget=term-rating]")


@pytest.mark.slow
def test_note_appears_on_hover_and_focus(page, live_server):
    log_in(page, live_server)
    show_summary(page, live_server)
    note, term = (
        page.locator("#term-rating"),
        page.locator("[popovertarget=term-rating]"),
    )
    expect(note).to_be_hidden()
    term.hover()
    expect(note).to_be_visible()
    note.hover()
    page.wait_for_timeout(500)
    expect(note).to_be_visible()
    page.mouse.move(0, 0)
    expect(note).to_be_hidden()
    page.focus("#summary")
    for selector in ("[popovertarget=term-item]", "#term-item a"):
        page.keyboard.press("Tab")
        expect(page.locator(selector)).to_be_focused()
        expect(page.locator("#term-item")).to_be_visible()
    page.keyboard.press("Tab")
    expect(term).to_be_focused()
    expect(page.locator("#term-item")).to_be_hidden()
    expect(note).to_be_visible()
    assert violations_of_both_themes(page) == []
    page.keyboard.press("Escape")
    expect(note).to_be_hidden()
    page.keyboard.press("Enter")
    expect(note).to_be_visible()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_url("**/glossary/#rating")
    expect(page.locator("#rating")).to_be_in_viewport()


@pytest.mark.slow
@pytest.mark.parametrize("has_scripts", [True, False])
def test_note_appears_on_tap(chromium, live_server, has_scripts):
    context = chromium.new_context(**PHONE, java_script_enabled=has_scripts)
    page = context.new_page()
    log_in(page, live_server)
    show_summary(page, live_server)
    note = page.locator("#term-rating")
    page.locator("[popovertarget=term-rating]").tap()
    expect(note).to_be_visible()
    box = note.bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= PHONE["viewport"]["width"]
    page.touchscreen.tap(5, 5)
    expect(note).to_be_hidden()
    context.close()


@pytest.mark.slow
@pytest.mark.parametrize("width", [390, 1440])
def test_page_fits_screen_and_passes_axe(page, live_server, width):
    log_in(page, live_server)
    page.set_viewport_size({"width": width, "height": 900})
    if width == PHONE["viewport"]["width"]:
        page.click(".topbar-more")
    page.click(".topbar >> text=Glossary")
    page.wait_for_url("**/glossary/")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert violations_of_both_themes(page) == []
