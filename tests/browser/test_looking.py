"""Time in sight of shots in Chromium, measured and optionally required."""

import re

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from annotate.models import Invitation, Rating, Slot
from evalcore.models import Frame
from tests.browser.hands import Digits, Finger, Mouse, NoScript
from tests.browser.waiting import wait_until
from tests.cases import named_cases
from tests.factories import make_benchmark, make_study

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

HANDS = {"mouse": Mouse(), "finger": Finger(), "keys": Digits()}
DONE = "You have seen all shots. You can answer now."
MARK = """(one) => [getComputedStyle(one, "::after").content, one.innerText]"""
SEEN = "() => JSON.parse(sessionStorage[`in sight ${location.pathname}`])['1 only']"


def begin(kind="likert", *, must_see=0.3, shots=3, stories=2, **kw):
    """Create a study with one annotator who has read the instructions."""
    methods = {"likert": 1, "choice": 2, "ranking": 3}[kind]
    benchmark = make_benchmark(
        stories=stories, shots=shots, methods=("Alder", "Birch", "Cedar")[:methods]
    )
    presentation = {"must_see": must_see} if must_see else {}
    return make_study(
        kind=kind,
        benchmark=benchmark,
        annotators=1,
        consented=True,
        presentation=presentation,
        **kw,
    )


def open_story(page, live_server, hand=None):
    token = Invitation.objects.get().token
    page.goto(live_server.url + reverse("rate-entry", args=[token]))
    page.click("main form button")
    page.wait_for_url("**/story/**")
    if not isinstance(hand, NoScript):
        page.wait_for_selector("html.ready")


def line(page):
    return page.locator(".to-see")


def left(shots: str) -> str:
    noun = "shots" if re.search("[\u2013,]", shots) else "shot"
    return f"Look at {noun} {shots} before answering (→ or All shots)"


def step(page, hand):
    if isinstance(hand, Digits):
        page.keyboard.press("ArrowRight")
    else:
        hand.press(page.locator(".viewer-bar [data-key=ArrowRight]"))


def submit(page, hand):
    here = page.url
    for question, value in {"character": "3", "aesthetics": "1"}.items():
        hand.choose(page, question, value)
    hand.send(page)
    page.wait_for_url(lambda url: url != here)
    wait_until(page, Slot.objects.filter(state="submitted").exists, True)
    return Slot.objects.get(state="submitted")


@pytest.mark.parametrize(
    "hand", named_cases({name: (hand,) for name, hand in HANDS.items()}, {"mouse"})
)
def test_answers_require_all_shots_in_sight(chromium, live_server, hand):
    begin()
    with hand.page(chromium) as page:
        open_story(page, live_server)
        expect(line(page)).to_have_text(left("2–3"))
        if isinstance(hand, Digits):
            hand.choose(page, "character", "3")
        else:
            hand.press(page.locator(".option:has([name='q:character'][value='3'])"))
        expect(page.locator("#problem")).to_have_text(left("2–3"))
        assert not page.locator(".question :checked").count()
        hand.send(page)
        expect(page.locator("#problem")).to_have_text(left("2–3"))
        step(page, hand)
        expect(line(page)).to_have_text(left("3"))
        expect(page.locator("#problem")).to_have_text(left("3"))
        step(page, hand)
        expect(line(page)).to_have_text(DONE)
        expect(page.locator("#problem")).to_be_hidden()
        assert not Rating.objects.exists()
        done = submit(page, hand)
    assert list(done.in_sight) == ["1", "2", "3"]
    assert all(0.3 <= seen <= done.seconds for seen in done.in_sight.values())


@pytest.mark.slow
def test_time_in_sight_survives_a_reload(page, live_server):
    begin()
    open_story(page, live_server)
    page.keyboard.press("ArrowRight")
    page.wait_for_timeout(500)
    page.keyboard.press("ArrowLeft")
    expect(line(page)).to_have_text(left("3"))
    page.reload()
    page.wait_for_selector("html.ready")
    expect(line(page)).to_have_text(left("3"))
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    done = submit_when_seen(page)
    assert done.in_sight["1"] >= 0.3


def submit_when_seen(page):
    expect(line(page)).to_have_text(DONE)
    return submit(page, Digits())


@pytest.mark.page_errors("ERR_FAILED .*/display/")
def test_missing_or_broken_picture_does_not_block_answers(page, live_server):
    """A broken picture counts as not seen; a missing one is not reported."""
    begin()
    Frame.objects.filter(number=2).update(media=None)
    page.route(re.compile("/only/3/display"), lambda route: route.abort())
    open_story(page, live_server)
    done = submit_when_seen(page)
    assert list(done.in_sight) == ["1", "3"]
    assert done.in_sight["1"] >= 0.3
    assert done.in_sight["3"] == 0


@pytest.mark.slow
def test_pair_requires_both_stories_in_sight(page, live_server):
    """The pictures are stacked, as in a narrow window."""
    begin("choice", shots=1)
    open_story(page, live_server)
    expect(line(page)).to_have_text(DONE)
    tab = page.context.new_page()
    tab.add_init_script("""addEventListener("DOMContentLoaded", () => {
      document.querySelector("figure[data-side=right]").style.marginTop = "2000px";
    })""")
    tab.goto(page.url)
    tab.wait_for_selector("html.ready")
    tab.wait_for_timeout(600)
    expect(line(tab)).to_have_text(left("1"))
    tab.locator("figure[data-side=right] .pane").scroll_into_view_if_needed()
    expect(line(tab)).to_have_text(DONE)
