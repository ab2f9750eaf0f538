"""A manager adds a method to a closed study in Chromium."""

import pytest
from playwright.sync_api import expect

from annotate.coverage import snapshots
from annotate.models import Study
from evalcore import members
from tests.annotate.pages.test_late_entry import closed_study
from tests.browser.accessibility import violations_of_both_themes
from tests.browser.test_dashboard import address, log_in

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.mark.slow
def test_follow_up_study_is_set_up_from_a_closed_one(page, live_server):
    study = closed_study()
    snapshots.refresh(study)
    log_in(page, live_server, study)
    members.add(study.benchmark, members.account("alice"), members.Role.OWNER)
    page.goto(address(live_server, study, "study-settings"))
    page.get_by_role("link", name="Add a method late").click()
    page.get_by_label("Linking items").fill("3")
    page.get_by_role("button", name="Check").click()
    expect(page.locator("tr[aria-current]")).to_contain_text("3")
    for width in (1440, 390):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") == width
    assert violations_of_both_themes(page) == []
    page.get_by_role("button", name="Set up the follow-up study").click()
    expect(page.get_by_text("The follow-up study is set up")).to_be_visible()
    assert Study.objects.get(slug="small-2").continues == study
