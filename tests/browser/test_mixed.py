"""Ratings and a checklist on one page."""

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from annotate.audit_log.verifying import problems
from annotate.models import Invitation, Rating
from tests.browser.hands import HANDS
from tests.cases import slow
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

# A story's tag selects its questions.
APART = """\
redundancy: 1
questions:
  - {key: beauty, kind: likert, scale: [0, 4], title: Beauty, text: "How nice?",
     stories: {ask: [rating, both]}}
  - {key: pan, kind: checklist, category: Camera, title: Pan,
     stories: {ask: [labels, both]}}
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
    page.wait_for_selector("html.ready")


def stored() -> dict[tuple[str, int], int]:
    rows = Rating.objects.filter(is_current=True, slot__state="submitted")
    return {(row.question.key, row.shot): row.value for row in rows if row.value}


@pytest.mark.parametrize("hand", ["finger", *slow("mouse")])
def test_mixed_study_is_answered_by_every_input(chromium, live_server, study, hand):
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


@pytest.mark.slow
def test_shared_keys_go_to_the_focused_kind(chromium, live_server, study):
    with HANDS["digits"].page(chromium) as page:
        open_story(page, live_server, study)
        page.keyboard.press("1")
        expect(page.locator("[name='q:beauty'][value='1']")).to_be_checked()
        page.locator("[name='1:zoom|text']").focus()
        page.keyboard.press("2")
        expect(page.locator("[name='1:zoom|video']")).to_be_checked()
        expect(page.locator("[name='q:beauty'][value='1']")).to_be_checked()
        for shot in (1, 2):
            HANDS["digits"].look_at(page, shot)
            page.keyboard.press("Enter")
        HANDS["digits"].send(page)
        page.wait_for_url("**/done/")
    assert stored() == {("beauty", 0): 1, ("zoom|video", 1): 1}


@pytest.mark.slow
@pytest.mark.parametrize("hand", ["digits", *slow("mouse")])
@pytest.mark.parametrize(
    "order",
    [
        ("labels", "rating"),
        ("both", "labels"),
        *slow(("rating", "labels"), ("labels", "both")),
    ],
)
def test_stories_can_have_different_questions(chromium, live_server, order, hand):
    benchmark = make_benchmark(stories=2, shots=2, methods=["Alder"])
    study = make_planned(APART, benchmark=benchmark, annotators=1)
    slots = list(study.slots.order_by("position").select_related("unit__story"))
    for slot, asked in zip(slots, order, strict=True):
        slot.unit.story.tags = {"ask": asked}
        slot.unit.story.save()
    hand = HANDS[hand]
    with hand.page(chromium) as page:
        # The next story is prefetched.
        with page.expect_response(f"**/story/{slots[1].code}/*"):
            open_story(page, live_server, study)
        for asked in order:
            page.wait_for_selector("html.ready")
            here = page.url
            sheets, questions = (
                page.locator(f"[data-part={part}]")
                for part in ("checklist", "question")
            )
            expect(sheets).to_have_count(int(asked != "rating"))
            expect(questions).to_have_count(int(asked != "labels"))
            if asked != "labels":
                hand.choose(page, "beauty", "3")
                expect(questions.locator(":checked")).to_have_value("3")
            if asked != "rating":
                page.locator("[name='1:pan|text']").focus()
                hand.tick(page, 1, "pan|text")
                for shot in (1, 2):
                    hand.look_at(page, shot)
                    hand.finish_shot(page, shot)
            hand.send(page)
            page.wait_for_function("url => location.href !== url", arg=here)
        page.wait_for_url("**/done/")
    rows = Rating.objects.filter(is_current=True, value__gt=0, slot__state="submitted")
    told = [("beauty", 0, 3)] * (2 - order.count("labels"))
    told += [("pan|text", 1, 1)] * (2 - order.count("rating"))
    found = rows.order_by("question__key").values_list("question__key", "shot", "value")
    assert list(found) == told
    assert problems(study) == []
