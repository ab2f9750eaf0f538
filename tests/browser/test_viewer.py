"""The viewer in Chromium: zoom, flicker, swipe, broken pictures."""

import re

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from annotate.kinds.registry import KINDS
from annotate.models import Fault, Invitation, Rating
from evalcore.models import Character, Frame
from tests.browser.accessibility import violations_of_both_themes
from tests.browser.waiting import stop_time
from tests.cases import slow
from tests.factories import (
    METHODS,
    make_benchmark,
    make_study,
    picture_bytes,
    store_picture,
)

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

# A picture's position in its box, as shares: left, top, width.
PLACES = """() => [...document.querySelectorAll(".shot.current a.pane")].map((pane) => {
  const box = pane.getBoundingClientRect();
  const picture = pane.firstElementChild.getBoundingClientRect();
  return [(picture.x - box.x) / box.width, (picture.y - box.y) / box.height,
          picture.width / box.width].map((part) => Math.round(part * 1000) / 1000);
})"""
SHOT_IS_THERE = """() => document.readyState === "complete" &&
  [...document.querySelectorAll(".shot.current img")].every((one) => one.complete)"""


def begin(kind="likert", *, shots=3, characters=0, size=(96, 64), **kw):
    """Create a study of a few methods with one annotator ready to rate."""
    methods = METHODS[: max(2, KINDS[kind].least)]
    benchmark = make_benchmark(stories=2, shots=shots, methods=methods)
    for frame in Frame.objects.exclude(output__method__name="Birch"):
        label = f"{frame.output.story.key} Alder {frame.number}"
        frame.media = store_picture(picture_bytes(label, size))
        frame.save()
    for i in range(characters):
        for story in benchmark.stories.all():
            person = Character.objects.create(
                story=story,
                key=f"c{i}",
                names={"en": f"Fox {i}"},
                descriptions={"en": "A red fox."},
            )
            for n in (1, 2):
                stored = store_picture(picture_bytes(f"ref {i} {n}"))
                person.images.create(ordinal=n, media=stored)
    study = make_study(
        kind=kind, benchmark=benchmark, annotators=1, consented=True, **kw
    )
    study.annotators.update(instructed_at=study.created_at)
    return study


def open_story(page, live_server):
    token = Invitation.objects.get().token
    page.goto(live_server.url + reverse("rate-entry", args=[token]))
    page.click("main form button")
    page.wait_for_selector("html.ready")
    page.wait_for_function(SHOT_IS_THERE)


def pictures(page):
    return page.locator(".shot.current a.pane")


def middle(page, n=0, across=0.5):
    return middle_of(pictures(page).nth(n), across)


def middle_of(control, across=0.5):
    box = control.bounding_box()
    return box["x"] + box["width"] * across, box["y"] + box["height"] / 2


@pytest.mark.slow
@pytest.mark.parametrize("size", [(160, 90), *slow((96, 64), (64, 64))])
@pytest.mark.parametrize("kind", ["choice", *slow("likert")])
def test_sixteen_shots_fit_the_window(page, live_server, kind, size):
    begin(kind, shots=16, size=size)
    open_story(page, live_server)
    page.keyboard.press("a")
    for shot in (1, 16):
        for pane in page.locator(f"#shot-{shot} .pane").all():
            expect(pane).to_be_in_viewport(ratio=1)
            assert pane.bounding_box()["width"] > 100
    assert page.evaluate("document.documentElement.scrollHeight") <= 900
    assert page.is_hidden("#shot-1 .shot-text")
    page.keyboard.press("t")
    assert page.is_visible("#shot-1 .shot-text")


@pytest.mark.slow
def test_keys_zoom_and_arrows_move_the_picture(page, live_server):
    begin()
    open_story(page, live_server)
    level = page.locator("#zoom")
    page.keyboard.press("z")
    assert page.evaluate(PLACES) == [[-0.5, -0.5, 2]]
    expect(level).to_have_text("2×")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    assert page.evaluate(PLACES) == [[-0.625, -0.625, 2]]
    for _ in range(9):
        page.keyboard.press("ArrowRight")
    assert page.evaluate(PLACES)[0][0] == -1  # never beyond the edge
    assert page.is_visible("#shot-1")
    assert "current" in page.get_attribute("[data-question=character]", "class")
    page.keyboard.press("0")
    page.keyboard.press("Escape")
    assert page.evaluate(PLACES) == [[0, 0, 1]]
    expect(level).to_have_text("1×")
    page.keyboard.press("ArrowRight")
    assert page.is_visible("#shot-2")
    page.keyboard.press("+")
    expect(level).to_have_text("1.3×")
    page.keyboard.press("-")
    page.keyboard.press("-")
    expect(level).to_have_text("1×")
    page.wait_for_selector("#save-state.good")
    assert Rating.objects.get().value == 0


def test_both_sides_zoom_and_move_together(page, live_server):
    begin("choice", size=(64, 96))
    open_story(page, live_server)
    boxes = [pictures(page).nth(n).bounding_box() for n in (0, 1)]
    assert boxes[0]["width"] == boxes[1]["width"]
    assert boxes[0]["height"] == boxes[1]["height"]
    x, y = middle(page, 1, 0.25)
    page.mouse.move(x, y)
    page.mouse.wheel(0, -300)
    page.wait_for_function("() => document.querySelector('#zoom').textContent !== '1×'")
    left, right = page.evaluate(PLACES)
    assert left == right
    # The point under the pointer stays in place.
    assert (0.25 - right[0]) / right[2] == pytest.approx(0.25, abs=0.01)
    page.mouse.down()
    page.mouse.move(x - 30, y - 20, steps=3)
    page.mouse.up()
    moved = page.evaluate(PLACES)
    assert moved[0] == moved[1]
    box = boxes[1]
    assert moved[0][0] - left[0] == pytest.approx(-30 / box["width"], abs=0.01)
    assert moved[0][1] - left[1] == pytest.approx(-20 / box["height"], abs=0.01)
    page.mouse.dblclick(x, y)
    assert page.evaluate(PLACES) == [[0, 0, 1]] * 2
    page.keyboard.press("a")
    page.keyboard.press("+")
    pages = page.locator("a.pane img").evaluate_all(
        "all => new Set(all.map((each) => getComputedStyle(each).scale + "
        "getComputedStyle(each).transform.split(',')[0])).size"
    )
    assert pages == 1


def side_at_point(page, x, y):
    find = "([x, y]) => document.elementFromPoint(x, y).closest('figure').dataset.side"
    return page.evaluate(find, [x, y])


def shown_first(page):
    """Return the side whose picture is shown in the left place."""
    x, y = page.evaluate(
        """() => { const box = document.querySelector(".shot.current .pane")
          .getBoundingClientRect(); return [box.x + 5, box.y + 5]; }"""
    )
    return side_at_point(page, x, y)


@pytest.mark.slow
def test_flicker_shows_the_right_picture_while_held(page, live_server):
    begin("choice")
    page.clock.install()
    open_story(page, live_server)
    stop_time(page)
    assert shown_first(page) == "left"
    page.keyboard.down("f")
    assert shown_first(page) == "right"
    assert page.is_visible(".current figcaption:has-text('Right')")
    assert page.is_hidden(".current figcaption:has-text('Left')")
    page.keyboard.up("f")
    assert shown_first(page) == "left"
    page.click(".tools summary")
    button = page.locator("#flicker")
    button.hover()
    page.mouse.down()
    assert shown_first(page) == "right"
    page.clock.run_for(400)
    page.mouse.up()
    assert shown_first(page) == "left"
    button.click()  # kept after a click, for annotators who cannot hold a key
    assert shown_first(page) == "right"
    expect(button).to_have_attribute("aria-pressed", "true")
    button.click()
    assert shown_first(page) == "left"
    button.focus()
    page.keyboard.press("Enter")
    assert shown_first(page) == "right"


@pytest.mark.slow
def test_swipe_overlays_the_pictures(page, live_server):
    begin("choice")
    open_story(page, live_server)
    assert page.is_hidden("#divider")
    page.keyboard.press("s")
    boxes = [pictures(page).nth(n).bounding_box() for n in (0, 1)]
    assert boxes[0] == boxes[1]

    def side_at(across):
        return side_at_point(page, *middle(page, 0, across))

    assert (side_at(0.45), side_at(0.55)) == ("left", "right")
    page.focus("#divider")
    for _ in range(10):
        page.keyboard.press("ArrowRight")
    assert page.is_visible("#shot-1")  # the arrows moved the divider
    assert (side_at(0.55), side_at(0.65)) == ("left", "right")
    x, y = middle(page, 0, 0.6)
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(*middle(page, 0, 0.2), steps=4)
    page.mouse.up()
    assert (side_at(0.15), side_at(0.25)) == ("left", "right")
    assert page.input_value("#divider") == "20"
    for side in ("Left", "Right"):
        assert page.is_visible(f".current figcaption:has-text('{side}')")


@pytest.mark.page_errors("ERR_FAILED .*/display/")
def test_broken_picture_can_be_reloaded_and_reported(page, live_server):
    begin("choice")
    broken = re.compile(r"/right/2/display")
    page.route(broken, lambda route: route.abort())
    open_story(page, live_server)
    page.keyboard.press("ArrowRight")
    tile = page.locator("#shot-2 .fault")
    expect(tile).to_contain_text("This picture cannot be shown.")
    report = tile.locator(".report-fault")
    report.focus()
    page.keyboard.press("Enter")
    expect(report).to_have_text("Reported")
    expect(page.locator("#zoom")).to_have_text("1×")
    expect(report).to_be_disabled()
    page.wait_for_selector("#save-state.good")
    assert list(Fault.objects.values_list("side", "shot")) == [("right", 2)]
    tile.get_by_text("Try again").click()
    expect(tile).to_have_count(1)
    page.unroute(broken)
    tile.get_by_text("Try again").click()
    expect(tile).to_have_count(0)
    page.wait_for_function(
        "() => document.querySelectorAll('#shot-2 img')[1].naturalWidth"
    )


@pytest.mark.slow
def test_view_settings_apply_to_the_next_story(page, live_server):
    begin(characters=1)
    open_story(page, live_server)
    first = page.url
    for key in "atc":
        page.keyboard.press(key)
    page.keyboard.press("3")
    page.keyboard.press("3")
    page.keyboard.press("Enter")
    page.wait_for_url(lambda url: url != first)
    page.wait_for_selector("html.ready")
    assert page.is_visible("#shot-1 .shot-text")
    assert page.is_visible("#shot-3")
    for look in ("all", "text", "large"):
        expect(page.locator(f"[data-look={look}]")).to_have_attribute(
            "aria-pressed", "true"
        )


@pytest.fixture
def phone(chromium):
    """Return a page of a phone with a touch screen."""
    context = chromium.new_context(
        viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True
    )
    yield context.new_page()
    context.close()


def touch(page, *moments):
    """Touch the points of each moment in turn, then release."""
    session = page.context.new_cdp_session(page)
    for i, points in enumerate([*moments, []]):
        kind = "touchStart" if i == 0 else "touchMove" if points else "touchEnd"
        session.send(
            "Input.dispatchTouchEvent",
            {
                "type": kind,
                "touchPoints": [
                    {"x": x, "y": y, "id": n} for n, (x, y) in enumerate(points)
                ],
            },
        )
        page.wait_for_timeout(30)


@pytest.mark.slow
def test_two_fingers_zoom_and_one_moves_the_picture(phone, live_server):
    begin("choice")
    open_story(phone, live_server)
    assert phone.evaluate("document.documentElement.scrollWidth") <= 390
    x, y = middle(phone)
    wide = [[(x - d, y), (x + d, y)] for d in (10, 15, 20, 25, 30)]
    touch(phone, *wide)
    left, right = phone.evaluate(PLACES)
    assert left == right
    assert left[2] == pytest.approx(3, rel=0.1)
    touch(phone, *[[(x - d, y)] for d in (0, 15, 30, 40)])
    moved = phone.evaluate(PLACES)
    assert moved[0][0] < left[0] - 0.1
    assert moved[0] == moved[1]
    phone.tap(".tools summary")
    phone.tap("[data-key=z]")
    assert phone.evaluate(PLACES) == [[0, 0, 1]] * 2


@pytest.mark.page_errors("ERR_FAILED .*/display/")
@pytest.mark.parametrize(
    ("kind", "keys"),
    [
        ("likert", "z"),
        pytest.param("likert", "atc", marks=pytest.mark.slow),
        ("choice", "sz"),
        pytest.param("choice", "at", marks=pytest.mark.slow),
        pytest.param("checklist", "", marks=pytest.mark.slow),
    ],
)
def test_viewer_is_accessible(page, live_server, kind, keys):
    begin(kind, characters=2)
    Frame.objects.filter(number=2).update(media=None)
    page.route(re.compile(r"/1/display"), lambda route: route.abort())
    open_story(page, live_server)
    for key in keys:
        page.keyboard.press(key)
    assert violations_of_both_themes(page) == []
