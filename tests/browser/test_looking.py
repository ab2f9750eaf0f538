"""Shots in sight in Chromium: measured always, waited for where a study asks for it."""

import re
from dataclasses import asdict

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from annotate.models import Annotator, Invitation, Rating, Slot
from annotate.quality_rules.rules import DEFAULT_RULES
from evalcore.models import Frame, Shot
from tests.browser.hands import Digits, Finger, Mouse, NoScript
from tests.browser.waiting import wait_until
from tests.cases import slow
from tests.factories import make_benchmark, make_study

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

HANDS = {"mouse": Mouse(), "finger": Finger(), "keys": Digits()}
UNSEEN = [
    {key: value for key, value in asdict(rule).items() if value is not None}
    for rule in DEFAULT_RULES
    if rule.key == "unseen"
]
DONE = "All shots were in sight: you can answer now."
MARK = """(one) => [getComputedStyle(one, "::after").content, one.innerText]"""
SEEN = "() => JSON.parse(sessionStorage[`in sight ${location.pathname}`])['1 only']"
PRESS = """(keys) => keys.forEach((key) => document.body.dispatchEvent(
  new KeyboardEvent("keydown", { key, bubbles: true })
))"""
HIDE = """(hidden) => {
  Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
  document.dispatchEvent(new Event("visibilitychange"));
}"""


def begin(kind="likert", *, must_see=0.3, shots=3, stories=2, **kw):
    """A study with one annotator who has read the instructions."""
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
    return f"Shots still to look at: {shots}"


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


@pytest.mark.parametrize("hand", HANDS.values(), ids=HANDS)
def test_an_answer_waits_until_each_shot_was_in_sight(chromium, live_server, hand):
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


def test_who_goes_on_by_enter_is_told_what_is_left(page, live_server):
    """A draft may be there, from another tab, before anything was seen in this one."""
    begin()
    open_story(page, live_server)
    page.keyboard.press("a")
    expect(line(page)).to_have_text(DONE)
    for key in "31":
        page.keyboard.press(key)
    wait_until(page, Rating.objects.count, 2)
    page.evaluate("localStorage.clear()")
    tab = page.context.new_page()
    tab.goto(page.url)
    tab.wait_for_selector("html.ready")
    expect(line(tab)).to_have_text(left("2–3"))
    tab.keyboard.press("Enter")
    expect(tab.locator("#problem")).to_have_text(left("2–3"))
    assert tab.url == page.url


def test_what_was_seen_is_known_after_a_reload(page, live_server):
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


@pytest.mark.parametrize("kind", ["choice", *slow("likert", "ranking")])
def test_the_overview_shows_all_shots_at_once(page, live_server, kind):
    shots = 6 if kind == "ranking" else 16
    begin(kind, shots=shots)
    open_story(page, live_server)
    expect(line(page)).to_have_text(left(f"2–{shots}"))
    page.keyboard.press("a")
    expect(line(page)).to_have_text(DONE)
    assert not page.locator(".unseen").count()


@pytest.mark.slow
def test_what_was_not_seen_is_marked_by_a_sign(page, live_server):
    begin(must_see=30)
    open_story(page, live_server)
    expect(line(page)).to_have_text(left("1–3"))
    numbers = page.locator("#strip .strip-number")
    assert [one.evaluate(MARK)[0] for one in numbers.all()] == ['" ○" / ""'] * 3
    page.keyboard.press("a")
    captions = page.locator("figcaption span")
    assert [one.evaluate(MARK)[0] for one in captions.all()] == ['" ○" / ""'] * 3


def test_a_page_without_scripts_waits_for_nothing(chromium, live_server):
    begin()
    hand = NoScript()
    with hand.page(chromium) as page:
        open_story(page, live_server, hand)
        assert submit(page, hand).in_sight is None


def test_the_time_is_measured_where_nothing_is_asked(page, live_server):
    begin(must_see=0)
    open_story(page, live_server)
    page.wait_for_timeout(600)
    expect(line(page)).to_be_hidden()
    done = submit(page, Digits())
    assert done.in_sight["1"] >= 0.5
    assert done.in_sight["2"] == done.in_sight["3"] == 0


def test_nothing_is_in_sight_of_a_hidden_tab(page, live_server):
    begin(must_see=30)
    open_story(page, live_server)
    page.evaluate(HIDE, True)
    before = page.evaluate(SEEN)
    page.wait_for_timeout(500)
    page.evaluate(HIDE, False)
    assert page.evaluate(SEEN) < before + 0.3


@pytest.mark.slow
def test_a_picture_that_is_scrolled_away_is_not_in_sight(page, live_server):
    begin(must_see=2)
    Shot.objects.update(text={"en": {"plot": "The fox walks on. " * 60}})
    page.set_viewport_size({"width": 390, "height": 500})
    open_story(page, live_server)
    page.evaluate("document.querySelector('#shots').scrollTop = 9999")
    page.wait_for_timeout(200)
    before = page.evaluate(SEEN)
    page.wait_for_timeout(500)
    assert page.evaluate(SEEN) == before < 2


@pytest.mark.page_errors("ERR_FAILED .*/display/")
def test_a_picture_that_is_missing_or_broken_holds_nobody_up(page, live_server):
    """One that never came was not seen; of one that is missing nothing is said."""
    begin()
    Frame.objects.filter(number=2).update(media=None)
    page.route(re.compile("/only/3/display"), lambda route: route.abort())
    open_story(page, live_server)
    done = submit_when_seen(page)
    assert list(done.in_sight) == ["1", "3"]
    assert done.in_sight["1"] >= 0.3
    assert done.in_sight["3"] == 0


def test_both_stories_of_a_pair_have_to_be_in_sight(page, live_server):
    """One above the other, as a window may show them."""
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


def test_one_at_a_time_counts_as_long_as_the_shot_was_in_sight(page, live_server):
    begin("choice", shots=1, must_see=0)
    open_story(page, live_server)
    page.keyboard.press("o")
    page.wait_for_timeout(900)
    page.keyboard.press("ArrowRight")
    page.wait_for_timeout(900)
    done = submit_pair(page)
    assert done.in_sight["1"] >= 1.7  # each side for half of it


@pytest.mark.slow
def test_a_side_that_was_never_in_sight_leaves_nothing(page, live_server):
    begin("choice", shots=1, must_see=0)
    alone = '{"viewer": {"alone": true}}'
    page.add_init_script(f"localStorage.setItem('plumbline-seat', '{alone}')")
    open_story(page, live_server)
    page.wait_for_timeout(600)
    assert submit_pair(page).in_sight["1"] == 0


def submit_pair(page):
    for key in ("1", "3", "Enter"):
        page.keyboard.press(key)
    wait_until(page, Slot.objects.filter(state="submitted").exists, True)
    return Slot.objects.get(state="submitted")


@pytest.mark.slow
def test_a_submitted_story_waits_for_nothing(page, live_server):
    begin(session_size=3)
    open_story(page, live_server)
    first = page.url
    page.keyboard.press("a")
    submit_when_seen(page)
    tab = page.context.new_page()
    tab.goto(first)
    tab.wait_for_selector("html.ready")
    expect(line(tab)).to_be_hidden()
    tab.keyboard.press("0")
    wait_until(tab, Rating.objects.filter(value=0).count, 1)


def test_who_clicks_through_is_warned_at_once(page, live_server):
    """The reply finds the next story begun; what was answered there is kept."""
    begin(must_see=0, stories=9, session_size=9, rules=UNSEEN)
    open_story(page, live_server)
    for story in range(4):
        page.wait_for_function("() => document.body.dataset.ahead > 0")
        here = page.url
        for key in ("3", "1"):
            page.keyboard.press(key)
        if story < 3:
            page.keyboard.press("Enter")
            page.wait_for_url(lambda url, here=here: url != here)
    page.evaluate(PRESS, ["Enter", "2"])
    page.wait_for_url("**/note/")
    expect(page.locator("main p").first).to_contain_text("before most of the shots")
    assert Slot.objects.filter(state="submitted").count() == 4
    page.click("main form button.primary")
    page.wait_for_url("**/story/**")
    expect(page.locator("[name='q:character'][value='2']")).to_be_checked()
    assert Annotator.objects.get().state == "active"


@pytest.mark.parametrize(
    ("place", "hidden", "shown"),
    [
        ("10", "left", "right"),
        pytest.param("90", "right", "left", marks=pytest.mark.slow),
    ],
)
def test_a_picture_behind_another_one_is_not_in_sight(
    page, live_server, place, hidden, shown
):
    begin("choice", must_see=30)
    open_story(page, live_server)
    page.keyboard.press("s")
    page.locator("#divider").fill(place)
    seconds = "() => JSON.parse(sessionStorage[`in sight ${location.pathname}`])"
    before = page.evaluate(seconds)
    page.wait_for_timeout(600)
    after = page.evaluate(seconds)
    assert after[f"1 {hidden}"] - before[f"1 {hidden}"] < 0.2
    assert after[f"1 {shown}"] - before[f"1 {shown}"] > 0.3
