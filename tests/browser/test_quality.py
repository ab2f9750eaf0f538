"""Training, warnings, skipping and the sign of life, in Chromium and by keyboard."""

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from annotate.assignment import choosing
from annotate.models import Annotator, Flag, Rating, Skip, Slot
from tests.browser.accessibility import violations
from tests.factories import make_study
from tests.working import LIKERT, always, join, make_planned, work

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

TRAINING = """
session_size: 3
training:
  units:
    - {story: "01", method: Alder, expected: {character: [3, 4], beauty: 1},
       feedback: Look at the hat.}
"""


def link(live_server, person, page=""):
    return f"{live_server.url}/rate/{person.invitation.token}/{page}"


def open_story(page, live_server, study):
    person = join(study, "A01")
    slot = choosing.next_for(person).slot
    page.goto(link(live_server, person, f"story/{slot.code}/"))
    page.wait_for_selector("html.ready")
    return person, slot


def has_no_faults(page):
    assert violations(page) == []


def enter(page):
    page.wait_for_function("() => document.activeElement.tagName === 'BUTTON'")
    page.keyboard.press("Enter")


def test_training_by_keyboard(page, live_server):
    study = make_planned(LIKERT + TRAINING, annotators=1, redundancy=1)
    open_story(page, live_server, study)
    assert "Training 1 of 1" in page.inner_text("header")
    for key in ("2", "1", "Enter"):
        page.keyboard.press(key)
    page.wait_for_url("**/feedback/")
    assert "Look at the hat." in page.inner_text("main")
    assert page.locator(".marks li").count() == 2
    has_no_faults(page)
    enter(page)
    page.wait_for_url("**/story/**")
    page.wait_for_selector("html.ready")
    for key in ("3", "1", "Enter"):
        page.keyboard.press(key)
    page.wait_for_url("**/feedback/")
    assert page.inner_text("h1") == "Training passed"
    enter(page)
    page.wait_for_selector("html.ready")
    assert "Story 1 of 3" in page.inner_text("header")


def test_a_story_is_skipped_by_keyboard_with_a_comment(page, live_server):
    study = make_study(annotators=2)
    _person, slot = open_story(page, live_server, study)
    page.focus(".skip summary")
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    page.keyboard.press("ArrowDown")
    assert page.is_checked("input[name=reason][value=unclear]")
    page.keyboard.press("Tab")
    page.keyboard.type("At 2 a test fails")
    page.keyboard.press("Backspace")
    assert page.input_value("input[name=comment]") == "At 2 a test fail"
    assert not Rating.objects.exists(), "a digit in a comment is no answer"
    has_no_faults(page)
    before = page.url
    page.keyboard.press("Enter")
    page.wait_for_function("url => location.href !== url", arg=before)
    skip = Skip.objects.get()
    assert (skip.reason, skip.comment) == ("unclear", "At 2 a test fail")
    slot.refresh_from_db()
    assert slot.annotator is None
    assert "/story/" in page.url


def test_who_skips_a_story_asks_no_longer_what_follows_it(page, live_server):
    """Once it is given away, the server knows no such story of theirs."""
    page.route("**/ahead/", lambda _route: None)  # is never answered
    with page.expect_request("**/ahead/"):
        open_story(page, live_server, make_study(annotators=2))
    page.evaluate("skip.addEventListener('submit', (event) => event.preventDefault())")
    page.click(".skip summary")
    page.check("input[name=reason][value=unclear]")
    with page.expect_event("requestfailed", lambda asked: "/ahead/" in asked.url):
        page.click(".skip-reasons button")


def test_skipping_needs_a_reason(page, live_server):
    study = make_study(annotators=2)
    open_story(page, live_server, study)
    page.click(".skip summary")
    page.click(".skip-reasons button")
    assert not Skip.objects.exists()
    assert page.evaluate("document.querySelector('#skip').checkValidity()") is False


def test_the_reasons_for_skipping_come_into_sight(page, live_server):
    page.set_viewport_size({"width": 1440, "height": 700})
    open_story(page, live_server, make_study(annotators=2))
    page.click(".skip summary")
    expect(page.locator(".skip-reasons button")).to_be_in_viewport(ratio=0.9)


def test_without_scripts_a_story_can_be_skipped(chromium, live_server):
    study = make_study(annotators=2)
    person = join(study, "A01")
    slot = choosing.next_for(person).slot
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(link(live_server, person, f"story/{slot.code}/"))
    page.click(".skip summary")
    page.check("input[name=reason][value=broken]")
    page.click(".skip-reasons button")
    expect(page.locator(".brand")).to_contain_text("Story 1 of 2")
    context.close()
    assert Skip.objects.get().reason == "broken"


def test_a_sign_of_life_renews_the_lease_while_somebody_is_there(page, live_server):
    study = make_study(annotators=2)
    page.clock.install()
    _person, slot = open_story(page, live_server, study)
    soon = timezone.now() + timezone.timedelta(minutes=1)
    Slot.objects.filter(pk=slot.pk).update(lease_until=soon)
    with page.expect_response("**/heartbeat/") as beat:
        page.clock.fast_forward(60_000)
    assert beat.value.status == 204
    slot.refresh_from_db()
    assert slot.lease_until > soon + timezone.timedelta(minutes=20)
    beats = []
    page.on("request", lambda sent: "beat" in sent.url and beats.append(sent.url))
    page.clock.fast_forward(120_000)
    page.wait_for_timeout(200)
    assert beats == [], "nobody has moved since"
    with page.expect_response("**/heartbeat/"):
        page.keyboard.press("ArrowRight")
        page.clock.fast_forward(60_000)


@pytest.mark.page_errors("403 .*/rate/")
def test_a_warning_and_a_pause_are_plain_pages(page, live_server):
    study = make_planned(LIKERT + "session_size: 3\n", annotators=1, redundancy=1)
    person = join(study, "A01")
    work(person, always("3"), most=1)
    flag = Flag.objects.create(
        annotator=person,
        rule="x",
        n=3,
        text="x",
        signal="seconds_per_shot",
        action="warn",
    )
    page.goto(link(live_server, person, "pause/"))
    enter(page)
    page.wait_for_url("**/note/")
    assert "You answer very fast" in page.inner_text("main")
    has_no_faults(page)
    enter(page)
    page.wait_for_url("**/story/**")
    flag.refresh_from_db()
    assert flag.shown_at is not None
    Annotator.objects.update(state="paused")
    page.goto(link(live_server, person))
    assert page.inner_text("h1") == "Your work is paused"
    has_no_faults(page)
