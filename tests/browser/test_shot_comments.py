"""Comments on single shots in Chromium: every input method, and offline."""

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from annotate.models import Choice, Invitation, ShotComment, Slot
from annotate.presentation import slot_view
from tests.browser.accessibility import violations
from tests.browser.hands import EACH_HAND, Keyboard, NoScript, tab_to
from tests.browser.reels import make_same_reel
from tests.browser.test_rate import OFFLINE, saved
from tests.browser.waiting import wait_until
from tests.cases import named_cases, slow
from tests.clips import write_clip
from tests.factories import make_benchmark, make_study
from tests.working import join

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

TEXT = "At 2 the hat\nhas 3 tails"
TO_THE_START = """() => {
  const scrub = document.querySelector(".scrub");
  scrub.value = 0;
  scrub.dispatchEvent(new Event("input"));
}"""
FIELD = ".shot-comments .current textarea"


def begin(kind="likert", *, shots=3, benchmark=None, **kw):
    methods = {"likert": 1, "checklist": 1, "choice": 2, "ranking": 3}[kind]
    names = ("Alder", "Birch", "Cedar")[:methods]
    benchmark = benchmark or make_benchmark(stories=2, shots=shots, methods=names)
    kw["presentation"] = {"shot_comments": True, "must_watch": False}
    study = make_study(kind=kind, benchmark=benchmark, annotators=1, **kw)
    return join(study, "A01")


def sit_down(page, live_server, has_scripts=True):
    token = Invitation.objects.get().token
    page.goto(live_server.url + reverse("rate-pause", args=[token]))
    page.click("main form button.primary")
    page.wait_for_url("**/story/**")
    if has_scripts:
        page.wait_for_selector("html.ready")


def opened(page):
    page.click(".shot-comments summary")
    return page.locator(FIELD)


def stored():
    rows = ShotComment.objects.order_by("shot", "output__method__name")
    return [(row.output.method.name, row.shot, row.text) for row in rows]


def told(page):
    return page.locator(".shot-comments output")


@pytest.mark.parametrize("hand", named_cases(EACH_HAND, {"tab"}))
def test_shot_comment_is_written_by_every_input(chromium, live_server, hand):
    begin("choice")
    has_scripts = not isinstance(hand, NoScript)
    with hand.page(chromium) as page:
        sit_down(page, live_server, has_scripts)
        here, slot = page.url, Slot.objects.get(state="leased")
        if has_scripts:
            hand.press(page.locator(".viewer-bar [data-key=ArrowRight]"))
        hand.press(page.locator(".shot-comments summary"))
        field = page.get_by_label("Shot 2 Right")
        if isinstance(hand, Keyboard):
            tab_to(field)
        else:
            hand.press(field)
        page.keyboard.type(TEXT)
        assert page.url == here
        assert not page.locator(".question :checked").count()
        newline = "\n"
        if not has_scripts:
            newline = "\r\n"  # as in a form
            hand.choose(page, "character", "left")
            hand.choose(page, "aesthetics", "tie")
            hand.send(page)
            page.wait_for_url(lambda url: url != here)
        name = slot_view.sides(slot)["right"].method.name
        wait_until(page, stored, [(name, 2, TEXT.replace("\n", newline))])
        page.goto(here)
        expect(told(page)).to_have_text("2")
        assert field.input_value() == TEXT
        assert Choice.objects.count() == (0 if has_scripts else 2)


@pytest.mark.slow
def test_comment_field_follows_the_shot(page, live_server):
    begin("choice", shots=5)
    sit_down(page, live_server)
    fields = opened(page)
    expect(page.locator(".shot-comments textarea:visible")).to_have_count(2)
    fields.first.fill("First.")
    page.locator("#strip a").nth(3).click()
    chosen = page.locator(".shot-comments select")
    expect(chosen).to_have_value("4")
    assert fields.first.input_value() == fields.last.input_value() == ""
    fields.last.fill("Fourth.")
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    expect(page.locator("#here")).to_have_text("Shot 2 of 5")
    expect(told(page)).to_have_text("1, 4")
    page.evaluate("document.activeElement.blur()")
    for key in ("a", "b"):
        page.keyboard.press(key)
        chosen.select_option("5")
        expect(page.locator("#shot-5, .story .here").first).to_be_visible()
        expect(page.locator("#here")).to_have_text("Shot 5 of 5")
        page.evaluate("document.activeElement.blur()")
        page.keyboard.press("ArrowLeft")
        expect(chosen).to_have_value("4")
    saved(page)
    assert [shot for _method, shot, _text in stored()] == [1, 4]
    assert not violations(page)


@pytest.mark.page_errors(OFFLINE)
def test_offline_shot_comment_waits_with_its_story(page, live_server):
    person = begin()
    sit_down(page, live_server)
    page.wait_for_function("() => Number(document.body.dataset.ahead) >= 1")
    here = page.url
    page.context.set_offline(True)
    opened(page).fill("Waits.")
    page.locator(".shot-comments select").select_option("3")
    page.locator(FIELD).fill("Too.")
    page.evaluate("document.activeElement.blur()")
    for key in ("3", "1", "Enter"):
        page.keyboard.press(key)
    expect(page.locator("#place")).to_contain_text("Story 2 of")
    assert page.locator(FIELD).input_value() == ""
    page.keyboard.press("Backspace")
    page.wait_for_url(here)
    expect(page.locator(".shot-comments select")).to_have_value("1")
    assert page.locator(FIELD).input_value() == "Waits."
    expect(told(page)).to_have_text("1, 3")
    assert not ShotComment.objects.exists()
    page.context.set_offline(False)
    saved(page)
    assert stored() == [("Alder", 1, "Waits."), ("Alder", 3, "Too.")]
    first = person.slots.get(position=1)
    assert {row.slot for row in ShotComment.objects.all()} == {first}
    assert first.state == Slot.State.SUBMITTED


@pytest.fixture(scope="module")
def clip(tmp_path_factory):
    path = tmp_path_factory.mktemp("clip") / "clip.mp4"
    return write_clip(path, frames=24, rate=12)


@pytest.mark.slow
def test_shot_comment_follows_the_playing_part_of_a_video(page, live_server, clip):
    begin(benchmark=make_same_reel(clip, 2.0, ["Alder"]))
    page.emulate_media(reduced_motion="reduce")  # the video waits to be played
    sit_down(page, live_server)
    box = page.locator(".shot-comments")
    captions = page.locator(".captions button")
    number = captions.last.get_attribute("data-shot")
    opened(page)
    page.evaluate("document.activeElement.blur()")
    captions.last.click()
    expect(box.locator("select")).to_have_value(number)
    page.locator(FIELD).fill("Jumps.")
    page.evaluate(TO_THE_START)
    expect(captions.first).to_have_attribute("aria-current", "true")
    page.wait_for_timeout(400)  # the test cannot wait for an absent change
    expect(box.locator("select")).to_have_value(number)
    box.locator("select").select_option(captions.first.get_attribute("data-shot"))
    assert page.locator(FIELD).input_value() == ""
    box.locator("select").select_option(number)
    expect(captions.last).to_have_attribute("aria-current", "true")
    assert page.locator(FIELD).input_value() == "Jumps."
    saved(page)
    assert stored() == [("Alder", int(number), "Jumps.")]


@pytest.mark.slow
@pytest.mark.parametrize("medium", ["video", *slow("pictures")])
def test_shot_comment_follows_the_shot_of_a_checklist(page, live_server, clip, medium):
    reel = make_same_reel(clip, 2.0, ["Alder"]) if medium == "video" else None
    begin("checklist", benchmark=reel, shots=2)
    sit_down(page, live_server)
    opened(page)
    page.locator("#shot-done").click()
    expect(page.locator("#sheet-2")).to_be_visible()
    expect(page.locator(".shot-comments select")).to_have_value("2")
    expect(page.locator(FIELD)).to_have_attribute("name", "shot-comment:2:only")
