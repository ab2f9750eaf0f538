"""Scales with multi-digit values: typed on any keyboard, or with a slider."""

from io import BytesIO

import pytest
from django.urls import reverse
from PIL import Image
from playwright.sync_api import expect

from annotate.models import Rating
from tests.browser.accessibility import violations_of_both_themes
from tests.browser.hands import PHONE
from tests.browser.test_rate import enter, saved
from tests.browser.waiting import stop_time, wait_until
from tests.cases import named_cases, slow
from tests.factories import make_benchmark
from tests.working import join, make_planned

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

SHIFT, CTRL, ALT = 8, 2, 1  # modifier values of Chromium's protocol
STUDY = """
kind: likert
scale: SCALE
redundancy: 1
questions:
  - {key: beauty, title: Beauty, text: "How nice?", anchors: {0: ugly, 3: nice}}
  - {key: hats, title: Hats, text: "How many?"}
"""


@pytest.fixture
def begin(page, live_server):
    """Return a function that opens a story with a scale and frozen time."""

    def on(scale, page=page):
        text = STUDY.replace("SCALE", str(scale))
        if scale == [1, 10]:
            text = text.replace("0: ugly", "10: ugly")
        benchmark = make_benchmark(stories=1, shots=3, methods=["Alder"])
        person = join(make_planned(text, benchmark=benchmark, annotators=1), "A01")
        page.clock.install()
        link = reverse("rate-pause", args=[person.invitation.token])
        page.goto(live_server.url + link)
        enter(page)
        page.wait_for_selector("html.ready")
        page.wait_for_timeout(300)  # prefetched pages
        stop_time(page)

    return on


def press(page, *keys):
    for key in keys:
        page.keyboard.press(key)


def press_key(page, key, code, modifiers=0):
    """Press a key as on another keyboard."""
    devtools = page.context.new_cdp_session(page)
    told = {"key": key, "code": code, "modifiers": modifiers}
    devtools.send("Input.dispatchKeyEvent", {"type": "rawKeyDown", **told})
    devtools.send("Input.dispatchKeyEvent", {"type": "keyUp", **told})


def stored():
    """Return the current answers by question."""
    rows = Rating.objects.filter(is_current=True).order_by("question__ordinal")
    return list(rows.values_list("question__key", "value"))


# A scale, the keys typed, and the resulting value.
SCALES = {
    "1 to 10": ([1, 10], {("1",): 1, ("1", "0"): 10}),
    "-3 to 3": ([-3, 3], {("-", "3"): -3, ("3",): 3}),
    "0 to 100": ([0, 100], {("4", "2"): 42, ("4", "3", "Backspace", "7"): 47}),
}
OUTSIDE = {
    "1 to 10": ([1, 10], ["11", "0"]),
    "-3 to 3": ([-3, 3], ["-4", "-"]),
    "0 to 100": ([0, 100], ["101"]),
}


def take_back(page):
    """Undo the first answer, so that its question is current again."""
    press(page, "u")
    wait_until(page, stored, [])
    expect(page.locator(".question.current legend")).to_have_text("Beauty")


@pytest.mark.parametrize("ends", ["pause", *slow("Enter")])
@pytest.mark.parametrize(("scale", "answers"), named_cases(SCALES, {"-3 to 3"}))
def test_typed_number_ends_with_pause_or_enter(page, begin, scale, answers, ends):
    begin(scale)
    here = page.url
    for keys, value in answers.items():
        press(page, *keys)
        page.clock.run_for(400)
        assert stored() == []
        if ends == "Enter":
            press(page, "Enter")
        else:
            page.clock.run_for(600)
        wait_until(page, stored, [("beauty", value)])
        expect(page.locator(".question.current legend")).to_have_text("Hats")
        assert page.url == here
        take_back(page)


@pytest.mark.parametrize(("scale", "texts"), named_cases(OUTSIDE, {"-3 to 3"}))
def test_number_off_the_scale_is_refused(page, begin, scale, texts):
    begin(scale)
    low, high = scale
    for text in texts:
        press(page, *text, "Enter")
        told = f"Type a whole number from {low} to {high}."
        expect(page.locator("#problem")).to_have_text(told)
        page.clock.run_for(2000)
        press(page, "2", "Enter")
        wait_until(page, stored, [("beauty", 2)])
        expect(page.locator("#problem")).to_be_hidden()
        take_back(page)


# key, code, modifiers, and the resulting value on a scale from 0 to 4
KEYS = {
    "QWERTY": ("1", "Digit1", 0, 1),
    "AZERTY": ("&", "Digit1", 0, 1),
    "AZERTY with Shift": ("1", "Digit1", SHIFT, 1),
    "AZERTY, a dead or used sign": ("\u00e9", "Digit2", 0, 2),
    "Czech, where the sign enlarges": ("+", "Digit1", 0, 1),
    "full width": ("\uff13", "Digit3", 0, 3),
    "number pad": ("4", "Numpad4", 0, 4),
    "number pad that an input method takes": ("Process", "Numpad4", 0, 4),
    "number pad without NumLock": ("ArrowLeft", "Numpad4", 0, None),
    "QWERTY with Shift": ("!", "Digit1", SHIFT, None),
    "with Control": ("1", "Digit1", CTRL, None),
    "with Alt": ("&", "Digit1", ALT, None),
}


@pytest.mark.slow
def test_digits_work_on_every_keyboard(page, begin):
    begin([0, 4])
    for keyboard, (key, code, modifiers, value) in KEYS.items():
        press_key(page, key, code, modifiers)
        press(page, "ArrowDown", "0")
        answered = [] if value is None else [("beauty", value)]
        wait_until(page, lambda: ("hats", 0) in stored(), True)
        assert stored() == [*answered, ("hats", 0)], keyboard
        press(page, "ArrowDown", "u", "ArrowUp", "u")
        wait_until(page, stored, [])


# A slider

ACCENT = (0x1F, 0x6F, 0x5C)  # in the light theme


def has_thumb(line):
    """Return whether a slider's thumb is drawn."""
    drawn = Image.open(BytesIO(line.screenshot())).convert("RGB")
    return ACCENT in {colour for _count, colour in drawn.getcolors(10**6)}


@pytest.mark.slow
def test_slider_is_unanswered_until_it_is_touched(page, begin):
    begin([0, 100])
    slider = page.locator(".question.current .slider")
    line, field = slider.get_by_role("slider"), slider.get_by_role("spinbutton")
    expect(line).to_have_accessible_name("Beauty")
    expect(line).to_have_attribute("aria-valuetext", "Not answered")
    assert field.input_value() == ""
    assert not has_thumb(line)
    assert slider.locator("li").all_inner_texts() == ["0\nugly", "3\nnice", "100"]
    page.click("#submit")
    expect(page.locator("#problem")).to_have_text("Not answered yet: Beauty")
    assert stored() == []
    line.click()  # at its position in the middle
    wait_until(page, stored, [("beauty", 50)])
    expect(field).to_have_value("50")
    expect(line).to_have_attribute("aria-valuetext", "50")
    assert has_thumb(line)
    # Arrows change shots again.
    page.clock.run_for(50)
    press(page, "ArrowRight")
    expect(page.locator("#here")).to_have_text("Shot 2 of 3")
    assert stored() == [("beauty", 50)]
    press(page, "u")
    wait_until(page, stored, [])
    expect(line).to_have_attribute("aria-valuetext", "Not answered")


def test_slider_and_number_field_are_synchronised(page, begin):
    begin([0, 100])
    slider = page.locator(".question.current .slider")
    line, field = slider.get_by_role("slider"), slider.get_by_role("spinbutton")
    line.focus()
    press(page, "End", "ArrowLeft")
    expect(field).to_have_value("99")
    wait_until(page, stored, [("beauty", 99)])
    field.fill("3")
    expect(line).to_have_js_property("value", "3")
    expect(line).to_have_attribute("aria-valuetext", "3, nice")
    press(page, "Enter")
    wait_until(page, stored, [("beauty", 3)])
    expect(page.locator(".question.current legend")).to_have_text("Hats")
    field = page.locator("[name='q:beauty']")
    field.fill("101")
    expect(page.locator("#save-state")).not_to_have_class("badge good")
    press(page, "Enter")
    expect(page.locator("#problem")).to_have_text("Type a whole number from 0 to 100.")
    expect(page.locator("#save-state")).to_have_class("badge bad")
    expect(field).to_have_attribute("aria-invalid", "true")
    field.fill("")
    press(page, "Tab")
    wait_until(page, stored, [])
    saved(page)


@pytest.mark.slow
def test_slider_fits_a_phone(chromium, begin):
    sizes = PHONE | {"viewport": {"width": 360, "height": 740}}
    context = chromium.new_context(**sizes)
    page = context.new_page()
    begin([0, 100], page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    for control in page.locator(".question.current .slider input").all():
        box = control.bounding_box()
        assert min(box["width"], box["height"]) >= 44
    page.clock.resume()
    assert violations_of_both_themes(page) == []
    context.close()
