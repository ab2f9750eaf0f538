"""Ratings and a checklist of the same story, on one page."""

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from annotate.models import Invitation, Rating
from tests.browser.hands import HANDS
from tests.factories import make_benchmark
from tests.working import join, make_planned

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

FILE = """\
redundancy: 1
questions:
  - {key: beauty, kind: likert, scale: [0, 4], title: Beauty, text: "How nice?"}
  - {key: pan, kind: checklist, category: Camera, title: Pan}
  - {key: zoom, kind: checklist, category: Camera, title: Zoom}
"""


@pytest.fixture
def study():
    benchmark = make_benchmark(stories=1, shots=2, methods=["Alder"])
    return make_planned(FILE, benchmark=benchmark, annotators=1)


def open_story(page, live_server, study):
    person = join(study, "A01")
    token = Invitation.objects.get(annotator=person).token
    page.goto(live_server.url + reverse("rate-pause", args=[token]))
    page.locator("main form button.primary").click()
    page.wait_for_url("**/story/**")
    page.wait_for_selector("html.js")


def stored() -> dict[tuple[str, int], int]:
    rows = Rating.objects.filter(is_current=True, slot__state="submitted")
    return {(row.question.key, row.shot): row.value for row in rows if row.value}


@pytest.mark.parametrize("hand", ["mouse", "finger"])
def test_both_kinds_by_hand(chromium, live_server, study, hand):
    hand = HANDS[hand]
    with hand.page(chromium) as page:
        open_story(page, live_server, study)
        hand.choose(page, "beauty", "3")
        hand.tick(page, 1, "zoom|text")
        for shot in (1, 2):
            page.locator(f"#shot-{shot}").scroll_into_view_if_needed()
            hand.look_at(page, shot)
            hand.finish_shot(page, shot)
        hand.send(page)
        page.wait_for_url("**/done/")
    assert stored() == {("beauty", 0): 3, ("zoom|text", 1): 1}


def test_shared_keys_go_to_the_kind_that_has_the_focus(chromium, live_server, study):
    with HANDS["digits"].page(chromium) as page:
        open_story(page, live_server, study)
        page.keyboard.press("1")
        expect(page.locator("[name=beauty][value='1']")).to_be_checked()
        page.locator("[name='1:zoom|text']").focus()
        page.keyboard.press("2")
        expect(page.locator("[name='1:zoom|video']")).to_be_checked()
        expect(page.locator("[name=beauty][value='1']")).to_be_checked()
        for shot in (1, 2):
            HANDS["digits"].look_at(page, shot)
            page.keyboard.press("Enter")
        HANDS["digits"].send(page)
        page.wait_for_url("**/done/")
    assert stored() == {("beauty", 0): 1, ("zoom|video", 1): 1}
