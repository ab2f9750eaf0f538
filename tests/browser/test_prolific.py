"""A manager and a participant of Prolific in Chromium."""

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from annotate.models import StudyMember, User
from tests.annotate.people.prolific import Participant, code_of, recruiting_study
from tests.browser.test_manage import log_in

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.mark.page_errors("403 .*/join/")
def test_link_leads_from_prolific_to_code_and_back(page, live_server):
    study, link = recruiting_study(2, redundancy=4)
    user = User.objects.create_user("alice", password="not-a-secret")
    StudyMember.objects.create(study=study, user=user, role="manager")
    log_in(page, live_server)
    recruitment = live_server.url + reverse("study-recruitment", args=[study.slug])
    page.goto(recruitment)
    page.fill("[action$='/places/'] input[name=most]", "3")
    page.click("text=Change places")
    expect(page.locator("text=0 of 3 places taken")).to_be_visible()
    page.click("#codes [data-copy] >> nth=0")
    expect(page.locator("#codes [data-copy] >> nth=0")).to_have_text("Copied")
    address = page.locator("#join-links .link-field").input_value()
    assert address.endswith("&SESSION_ID={{%SESSION_ID%}}")

    ann = Participant(link)
    browser = page.context.browser
    seat, other = browser.new_page(), browser.new_page()
    seat.goto(live_server.url + ann.address)
    seat.click("button:has-text('Take part')")
    other.goto(live_server.url + ann.on_another_device(session="later").address)
    other.click("button[name=ask]")
    code = other.inner_text(".completion-code")
    page.goto(recruitment)
    expect(page.locator("#requests code", has_text=code)).to_be_visible()
    with page.expect_navigation():
        page.click("text=Let A01 in")
    other.click("text=Try again")
    other.wait_for_url("**/consent/")
    seat.click("text=I do not agree")
    expect(seat.locator(".completion-code")).to_have_text(code_of(study, "no_consent"))
    back = seat.locator("text=Return to Prolific").get_attribute("href")
    assert back.endswith(f"complete?cc={code_of(study, 'no_consent')}")
    page.goto(recruitment)
    expect(page.locator("text=0 of 3 places taken")).to_be_visible()
    for one in (seat, other):
        one.close()
