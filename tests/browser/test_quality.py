"""Training, skips and heartbeats in Chromium, by keyboard."""

import pytest
from django.utils import timezone

from annotate.assignment import choosing
from annotate.models import Rating, Skip, Slot
from tests.browser.accessibility import violations
from tests.factories import make_study
from tests.working import LIKERT, join, make_planned

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


@pytest.mark.slow
def test_story_is_skipped_by_keyboard_with_a_comment(page, live_server):
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


def test_heartbeat_renews_the_lease_of_active_annotator(page, live_server):
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
