"""People who come and go, and studies that grow, in Chromium."""

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from annotate.audit_log.verifying import problems
from annotate.models import StudyMember, User
from annotate.people import joining
from evalcore import members
from tests.annotate.studies.test_extending import planned_study
from tests.browser.accessibility import violations
from tests.browser.test_manage import log_in

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def study():
    row = planned_study()
    user = User.objects.create_user("alice", password="not-a-secret")
    StudyMember.objects.create(study=row, user=user, role="manager")
    members.add(row.benchmark, user)
    return row


def test_joining_by_a_link_and_a_second_person_on_the_device(page, live_server, study):
    link = joining.make_link(study, most=5)
    address = live_server.url + reverse("join", args=[link.token])
    page.goto(address)
    assert violations(page) == []
    page.keyboard.press("Enter")
    page.wait_for_url("**/consent/")
    expect(page.locator("main button.primary")).to_be_focused()
    page.keyboard.press("Enter")
    page.wait_for_url("**/instructions/")
    page.goto(address)
    page.click("text=Go on as A01")
    page.wait_for_url("**/instructions/")
    other = joining.join(link)
    page.goto(live_server.url + reverse("rate-entry", args=[other.invitation.token]))
    expect(page.locator("h1")).to_contain_text("You take part as A01")
    assert violations(page) == []
    page.click("text=I am another person")
    page.wait_for_url(f"**/{other.invitation.token}/consent/")
    log_in(page, live_server)
    page.goto(live_server.url + reverse("annotator-list", args=[study.slug]))
    expect(page.locator("text=device of A01")).to_be_visible()


@pytest.mark.page_errors("422 .*/annotators/list/")
def test_a_list_is_put_right_and_sent_again(page, live_server, study):
    log_in(page, live_server)
    page.goto(live_server.url + reverse("annotator-list", args=[study.slug]))
    page.click("text=Invite by list")
    page.fill("textarea", "Ada,fr\nGrace")
    page.click("text=Invite everybody")
    expect(page.locator("[role=alert] li")).to_have_count(1)
    assert violations(page) == []
    page.fill("textarea", "Ada\nGrace")
    page.click("text=Invite everybody")
    expect(page.locator("text=2 links created")).to_be_visible()
    page.click("text=Links to join")
    page.fill("input[name=most]", "20")
    page.click("text=Make a link")
    expect(page.locator("text=0 / 20")).to_be_visible()
    page.locator("summary:has-text('Change')").first.click()
    page.locator("td input[name=cap]").first.fill("1")
    page.locator("td button:has-text('Set')").first.click()
    expect(page.locator("text=The cap of A01 is stored")).to_be_visible()
    assert problems(study) == []


def test_a_study_is_checked_extended_and_its_work_given_away(page, live_server, study):
    log_in(page, live_server)
    page.goto(live_server.url + reverse("study-extend", args=[study.slug]))
    page.check("text=Cedar")
    page.fill("input[name=annotators]", "1")
    page.locator("button:has-text('Check')").first.click()
    expect(page.locator("#adding dl")).to_contain_text("new units")
    assert violations(page) == []
    assert study.units.count() == 4
    page.click("button:has-text('Extend')")
    expect(page.locator("text=Units: 2; slots: 4")).to_be_visible()
    assert study.units.count() == 6
    address = reverse("study-redistribute", args=[study.slug])
    page.goto(f"{live_server.url}{address}?annotator=A02")
    page.click("button:has-text('Check')")
    expect(page.locator("#outcome")).to_contain_text("A02")
    assert study.slots.filter(annotator__name="A02").exists()
    page.click("button:has-text('Give to others')")
    page.wait_for_url("**/annotators/")
    assert not study.slots.filter(annotator__name="A02").exists()
    assert problems(study) == []
