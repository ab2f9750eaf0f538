"""Goals of a study on the page Progress, in Chromium."""

import pytest
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import expect

from annotate.coverage import snapshots
from tests.browser.accessibility import violations_of_both_themes
from tests.browser.test_dashboard import address, log_in
from tests.studies import flag, running_study

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_goal_is_set_by_keyboard_while_the_page_refreshes(page, live_server):
    study = running_study(timezone.now())
    snapshots.refresh(study)
    log_in(page, live_server, study)
    page.goto(address(live_server, study))
    page.set_viewport_size({"width": 390, "height": 844})
    page.locator("#enough-goals summary").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    page.keyboard.type("0.1")
    before = page.locator("#coverage-version").input_value()
    flag(study.annotators.first(), "warn", "gold")
    snapshots.refresh(study)
    study.events.create(kind="study edited")
    expect(page.locator("#coverage-version")).not_to_have_value(before, timeout=15_000)
    expect(page.locator("#id_mean")).to_have_value("0.1")
    page.get_by_role("button", name="Save the goals").press("Enter")
    expect(page.get_by_text("The smallest goal is ±1.0")).to_be_visible()
    page.locator("#enough-goals summary").press("Enter")
    page.fill("#id_top", "2")
    page.keyboard.press("Enter")
    expect(page.locator("#enough .badge").first).to_have_text("Not known yet")
    study.refresh_from_db()
    assert study.goals == {"top": 2}
    snapshots.refresh(study)
    page.goto(live_server.url + reverse("study-coverage", args=[study.slug]))
    expect(page.locator("#enough")).to_contain_text("10 stories; the study has 8")
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    assert violations_of_both_themes(page) == []
