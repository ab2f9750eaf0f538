"""Withdrawing and erasing by every hand, in Chromium; what comes of it is told."""

import re

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from annotate.audit_log.verifying import problems
from annotate.models import StudyMember, User
from annotate.personal_data import erasing
from tests.annotate.personal_data.people_of_studies import ADA, known_person
from tests.browser.accessibility import violations, violations_of_both_themes
from tests.browser.hands import HANDS, too_small
from tests.browser.test_manage import log_in
from tests.cases import slow

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
GONE = r"410 .*/rate/"


@pytest.fixture
def ada():
    person = known_person()
    user = User.objects.create_user("alice", password="not-a-secret")
    StudyMember.objects.create(study=person.study, user=user, role="manager")
    return person


@pytest.mark.page_errors(GONE)
@pytest.mark.parametrize("name", ["finger", "no script", *slow("mouse", "tab")])
def test_an_annotator_withdraws(chromium, live_server, ada, name):
    hand, link = HANDS[name], reverse("rate-entry", args=[ada.invitation.token])
    with hand.page(chromium) as page:
        page.goto(live_server.url + link)
        page.wait_for_url("**/pause/")
        hand.press(page.get_by_role("link", name="Withdraw from the study"))
        page.wait_for_url("**/withdraw/")
        if name == "finger":
            small = [one for one, *_size in too_small(page) if "<input" in one]
            assert small == []
        hand.press(page.get_by_role("radio", name="My answers may be used"))
        if name != "no script":  # the browser itself asks for the tick
            hand.press(page.get_by_role("button", name="Withdraw"))
            assert page.url.endswith("/withdraw/")
        hand.press(page.get_by_role("checkbox"))
        hand.press(page.get_by_role("button", name="Withdraw"))
        expect(page.locator("h1")).to_have_text("You have withdrawn from this study")
        hand.press(page.get_by_role("link", name="Leave my answers out as well"))
        expect(page.get_by_role("radio")).to_have_count(1)
        hand.press(page.get_by_role("checkbox"))
        hand.press(page.get_by_role("button", name="Withdraw"))
        expect(page.locator("main")).to_contain_text("None of your answers counts")
    ada.refresh_from_db()
    assert ada.answers_withdrawn
    assert problems(ada.study) == []


@pytest.mark.page_errors(GONE)
@pytest.mark.parametrize("name", ["tab", *slow("mouse", "finger")])
def test_a_manager_hands_out_and_erases(chromium, live_server, ada, name):
    hand, link = HANDS[name], reverse("rate-entry", args=[ada.invitation.token])
    with hand.page(chromium, accept_downloads=True) as page:
        log_in(page, live_server)
        page.goto(live_server.url + reverse("annotator-list", args=[ada.study.slug]))
        hand.press(page.get_by_role("link", name="Personal data of A01"))
        expect(page.locator("main")).to_contain_text(ADA)
        assert violations(page) == []
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        with page.expect_download() as download:
            hand.press(page.get_by_role("link", name="Download everything"))
        assert download.value.suggested_filename.endswith(".zip")
        form = page.locator("#erase")
        hand.press(form.get_by_role("checkbox", name="Erase 3 comments"))
        hand.press(form.get_by_role("button"))  # the tick is missing
        expect(page.locator("#erase")).to_be_visible()
        hand.press(form.get_by_role("checkbox", name="I am sure"))
        hand.press(form.get_by_role("button"))
        page.wait_for_url("**/annotators/")
        expect(page.locator("body")).to_contain_text("Whoever was A01 is erased")
        expect(page.locator("body")).not_to_contain_text(re.compile(ADA))
        page.goto(live_server.url + link)
        expect(page.locator("h1")).to_have_text("This link is no longer valid")
    assert problems(ada.study) == []


def test_the_pages_are_readable(chromium, live_server, ada):
    context = chromium.new_context(locale="zh-CN")
    page = context.new_page()
    log_in(page, live_server)
    left = ada.study.annotators.get(name="A02")
    erasing.withdraw(left, answers=False)
    for address in (
        reverse("annotator-data", args=[ada.study.slug, ada.pk]),
        reverse("rate-withdraw", args=[ada.invitation.token]),
        reverse("rate-withdraw", args=[left.invitation.token]),
    ):
        page.goto(live_server.url + address)
        for width in (1440, 360):
            page.set_viewport_size({"width": width, "height": 900})
            assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert violations_of_both_themes(page) == []
    context.close()
