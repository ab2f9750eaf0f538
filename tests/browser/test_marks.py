"""Marks are set, moved and deleted by mouse, finger and keys, and survive a reload."""

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from annotate.kinds.marks.kind import MarksAnswer
from annotate.kinds.marks.pins import read
from annotate.models import Invitation
from evalcore.models import Frame, Shot
from tests.browser.hands import HANDS, too_small
from tests.browser.waiting import wait_until
from tests.factories import make_benchmark, picture_bytes, store_picture
from tests.working import join, make_planned

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

FILE = """\
redundancy: 1
questions:
  - {key: beauty, kind: likert, scale: [0, 4], title: Beauty, text: "How nice?"}
  - key: where
    kind: marks
    title: Faults
    text: Where is something wrong?
    labels:
      character: Wrong character
      anatomy: Broken anatomy
      text: Does not fit the text
"""


def begin(page, live_server, more=""):
    """Open a story of four wide pictures and a tall one."""
    benchmark = make_benchmark(stories=1, shots=5, methods=["Alder"])
    tall = store_picture(picture_bytes("tall", (64, 96)))
    Frame.objects.filter(number=2).update(media=tall)
    Shot.objects.update(text={"en": {"plot": "The fox walks on. " * 8}})
    study = make_planned(FILE + more, benchmark=benchmark, annotators=1)
    token = Invitation.objects.get(annotator=join(study, "A01")).token
    page.goto(live_server.url + reverse("rate-pause", args=[token]))
    page.locator("main form button.primary").click()
    page.wait_for_selector("html.ready")


def stored():
    answer = MarksAnswer.objects.filter(is_current=True).first()
    if answer is None:
        return None
    # Positions are whole pixels, which are up to 1 % of these pictures.
    return [(p.shot, round(p.x, 2), round(p.y, 2), p.label) for p in read(answer.value)]


LOADED = "(image) => image.complete && image.naturalWidth > 0"


def at(page, x, y):
    """Return the position in the current pane of a share of its picture."""
    image = page.locator(".shot.current .pane img")
    wait_until(page, lambda: image.evaluate(LOADED), True)
    return image.evaluate(
        """(image, [x, y]) => {
          const pane = image.parentElement.getBoundingClientRect();
          const box = image.getBoundingClientRect();
          const { naturalWidth: wide, naturalHeight: high } = image;
          const scale = Math.min(box.width / wide, box.height / high);
          return {
            x: box.x + box.width / 2 + (x - 0.5) * wide * scale - pane.x,
            y: box.y + box.height / 2 + (y - 0.5) * high * scale - pane.y,
          };
        }""",
        [x, y],
    )


@pytest.mark.parametrize(
    ("hand", "size"),
    [
        ("mouse", (1280, 720)),
        pytest.param("finger", (390, 844), marks=pytest.mark.slow),
    ],
)
def test_faults_are_pointed_at(chromium, live_server, hand, size):
    hand, (width, height) = HANDS[hand], size
    with hand.page(chromium, viewport={"width": width, "height": height}) as page:
        begin(page, live_server, "presentation: {same_size: false}\n")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        pane = page.locator(".shot.current a.pane")
        # A place in the first picture, and its kind.
        hand.press(pane, position=at(page, 0.2, 0.6))
        expect(page.locator(".cross")).to_be_visible()
        hand.press(page.locator("[data-label=anatomy]"))
        wait_until(page, stored, [(1, 0.2, 0.6, "anatomy")])
        # In an enlarged picture the pin stays at its place, and another is exact.
        page.locator("[data-key=ArrowRight]").click()
        for _ in range(2):
            page.keyboard.press("+")
        hand.press(pane, position=at(page, 0.5, 0.4))
        hand.press(page.locator("[data-label=text]"))
        both = [(1, 0.2, 0.6, "anatomy"), (2, 0.5, 0.4, "text")]
        wait_until(page, stored, both)
        pin = page.locator("#shot-2 .pin").bounding_box()
        there, box = at(page, 0.5, 0.4), pane.bounding_box()
        assert pin["x"] + pin["width"] / 2 == pytest.approx(
            box["x"] + there["x"], abs=2
        )
        assert pin["y"] + pin["height"] / 2 == pytest.approx(
            box["y"] + there["y"], abs=2
        )
        page.keyboard.press("Escape")
        expect(page.locator("[data-do=nothing]")).to_be_disabled()
        # Marks survive a reload, and can be moved, renamed and deleted.
        page.reload()
        page.wait_for_selector("html.ready")
        expect(page.locator(".pin-list li")).to_have_count(2)
        if width < 500:  # one question at a time
            hand.press(page.locator("[data-turn='1']"))
            assert too_small(page) == []
        hand.press(page.locator(".pin-list li >> nth=0 >> [data-do=move]"))
        hand.press(pane, position=at(page, 0.9, 0.1))
        wait_until(page, stored, [(1, 0.9, 0.1, "anatomy"), both[1]])
        page.locator(".pin-list select >> nth=0").select_option("character")
        wait_until(page, stored, [(1, 0.9, 0.1, "character"), both[1]])
        hand.press(page.locator(".pin-list li >> nth=1 >> [data-do=delete]"))
        wait_until(page, stored, [(1, 0.9, 0.1, "character")])
        hand.press(page.locator(".pin-list li >> nth=0 >> [data-do=delete]"))
        wait_until(page, stored, None)
        # Without marks, the annotator has to say so.
        if width < 500:
            hand.press(page.locator("[data-turn='-1']"))
        hand.choose(page, "beauty", "3")
        hand.press(page.locator("#submit"))
        expect(page.locator("#problem")).to_contain_text("Not answered yet: Faults")
        hand.press(page.locator("[data-do=nothing]"))
        wait_until(page, stored, [])
        hand.press(page.locator("#submit"))
        page.wait_for_url("**/done/")


@pytest.mark.slow
def test_faults_are_marked_with_keys(page, live_server):
    begin(page, live_server)
    press = page.keyboard.press
    press("ArrowRight")
    press("m")
    expect(page.locator(".cross")).to_be_focused()
    for key in ("ArrowRight", "ArrowRight", "Shift+ArrowUp", "Shift+ArrowUp"):
        press(key)
    told = page.locator(".aimed")
    expect(told).to_have_text("Shot 2: 54 % from the left, 30 % from the top")
    press("2")
    # 54 % of a square with bars are 56 % of the picture of 2 by 3 in it.
    wait_until(page, stored, [(2, 0.56, 0.3, "anatomy")])
    # The digit named the fault; the next one answers the question.
    press("3")
    expect(page.locator("[name='q:beauty'][value='3']")).to_be_checked()
    press("ArrowRight")
    press("m")
    press("Escape")
    expect(page.locator(".cross")).to_have_count(0)
    page.locator("[data-do=move]").focus()
    press("Enter")
    expect(page.locator(".shot.current")).to_have_id("shot-2")
    press("Shift+ArrowDown")
    press("Enter")
    wait_until(page, stored, [(2, 0.56, 0.4, "anatomy")])
    page.locator("[data-do=delete]").focus()
    press("Enter")
    wait_until(page, stored, None)
    press("n")
    wait_until(page, stored, [])
    press("Enter")
    page.wait_for_url("**/done/")
