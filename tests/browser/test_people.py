"""The table of people in Chromium: filter, decide, copy, at two widths."""

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from annotate.models import Payment
from tests.annotate.payment.crowd import crowd_study
from tests.browser.accessibility import violations_of_both_themes
from tests.browser.test_dashboard import log_in

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def opened(page, live_server):
    """Return the page of people of a study with 20 people; two left."""
    study = crowd_study()
    log_in(page, live_server, study)
    page.goto(live_server.url + reverse("annotator-list", args=[study.slug]))
    return page


def show(page, status):
    """Show the people of one status, and wait for their page."""
    with page.expect_navigation():
        page.click(f"nav a:has-text('{status}')")


def names(page):
    return page.locator(".people-table .who > a").all_inner_texts()


def test_manager_rejects_people_who_left_and_pays_the_rest(opened):
    show(opened, "left")
    assert names(opened) == ["A14", "A15"]
    opened.check("label:has-text('All 2')")
    assert opened.locator("[name=person]:checked").count() == 2
    opened.uncheck("[aria-label='Select A15']")
    expect(opened.locator("[name=everybody]")).not_to_be_checked()
    opened.click("summary:has-text('Reject')")
    opened.fill("[name=reason]", "Stopped half-way")
    opened.press("[name=reason]", "Enter")  # must not approve
    opened.click(".pay-bar .danger")
    expect(opened.locator(".people-table")).to_contain_text("Stopped half-way")
    assert names(opened) == ["A14", "A15"], "the filter is kept"
    assert list(Payment.objects.values_list("annotator__name", "decision")) == [
        ("A14", "reject")
    ]
    show(opened, "finished")
    opened.check("[name=everybody]")
    opened.click("button:has-text('Approve')")
    opened.wait_for_selector("text=8 people approved.")
    opened.check("[name=everybody]")
    opened.click("button:has-text('Mark as paid')")
    opened.wait_for_selector("text=8 people marked as paid.")
    with opened.expect_download() as file:
        opened.click("text=IDs to approve (Prolific)")
    assert file.value.path().read_text() == "", "all are paid"


@pytest.mark.slow
def test_link_is_copied_and_page_fits_every_width(opened):
    row = opened.locator("tr:has-text('A09')")
    opened.context.grant_permissions(["clipboard-read", "clipboard-write"])
    copy = row.locator("[data-copy]").first
    link = copy.get_attribute("data-copy")
    copy.click()
    expect(copy).to_have_text("Copied")
    assert opened.evaluate("navigator.clipboard.readText()") == link
    row.locator(".menu > summary").click()
    row.locator("summary:has-text('Text to send')").click()
    assert link in row.locator("textarea").input_value()
    assert not violations_of_both_themes(opened)
    for width in (360, 768):
        opened.set_viewport_size({"width": width, "height": 740})
        assert opened.evaluate("document.documentElement.scrollWidth") <= width
