"""The viewer in Chromium with several methods, and on phones."""

import pytest
from playwright.sync_api import expect

from annotate.kinds.registry import KINDS
from annotate.models import Question, Rating
from evalcore.models import Shot
from tests.browser.hands import PHONE, TARGETS, Finger, too_small
from tests.browser.test_viewer import begin, open_story, touch
from tests.browser.waiting import stop_time, wait_until
from tests.cases import slow

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

# True if nothing covers the centre of the current question or visible pictures.
UNCOVERED = """(selector) => [...document.querySelectorAll(selector)].some((one) => {
  const box = one.getBoundingClientRect();
  const hit = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
  return box.width > 0 && hit !== null && (one.contains(hit) || hit.contains(one));
})"""


@pytest.fixture
def phone(chromium):
    context = chromium.new_context(**PHONE)
    yield context.new_page()
    context.close()


def box(page, selector):
    return page.locator(selector).bounding_box()


def test_arrows_move_between_shots(page, live_server):
    begin("choice")
    open_story(page, live_server)
    page.keyboard.press("o")
    seen = []
    for key in ("", *["ArrowRight"] * 6, "ArrowLeft"):
        if key:
            page.keyboard.press(key)
        shown = page.locator("#shots figure:visible")
        expect(shown).to_have_count(1)
        seen.append(
            tuple(shown.get_attribute(f"data-{name}") for name in ("shot", "side"))
        )
    order = [(shot, side) for shot in "123" for side in ("left", "right")]
    assert seen == [*order, order[-1], order[-2]]


@pytest.mark.slow
def test_swipe_moves_between_shots(phone, live_server):
    begin("choice")
    open_story(phone, live_server)
    swipe_from = box(phone, ".shot.current .pane >> nth=0")
    x, y = swipe_from["x"] + 120, swipe_from["y"] + 60

    def swipe(by):
        touch(phone, [(x, y)], [(x + by / 2, y)], [(x + by, y)])

    swipe(-80)
    expect(phone.locator("#shot-2")).to_be_visible()
    swipe(80)
    expect(phone.locator("#shot-1")).to_be_visible()
    phone.tap("[data-key=o]")
    swipe(-80)
    shown = phone.locator("#shots figure:visible")
    expect(shown).to_have_attribute("data-side", "right")
    expect(shown).to_have_attribute("data-shot", "1")
    expect(phone.locator("#zoom")).to_have_text("1×")


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["likert", "choice", "ranking"])
@pytest.mark.parametrize(
    "size", [(360, 640), *slow((390, 844), (720, 450), (844, 390))]
)
def test_picture_stays_in_sight_at_every_question(chromium, live_server, kind, size):
    begin(kind, shots=16, characters=2)
    Shot.objects.update(text={"en": {"plot": "The fox walks on. " * 60}})
    width, height = size
    hand = Finger()
    with hand.page(chromium, viewport={"width": width, "height": height}) as page:
        open_story(page, live_server)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        for question in ("character", "aesthetics"):
            asked = page.locator(f"[data-question={question}]")
            expect(asked).to_be_visible()
            assert page.locator(".question:visible").count() == 1
            assert page.evaluate(UNCOVERED, ".shot.current .pane")
            assert box(page, ".shot.current .pane >> nth=0")["height"] > 80
            assert page.evaluate(UNCOVERED, "#submit")
            answer = hand.rank if kind == "ranking" else hand.choose
            value = {"likert": "3", "choice": "left", "ranking": "2>1>3"}[kind]
            answer(page, question, value)
        wait_until(page, lambda: page.locator(".question:has(:checked)").count(), 2)


HANDHELD = [(360, 640), *slow((390, 844), (844, 390), (768, 1024), (1024, 768))]


@pytest.mark.parametrize("size", HANDHELD)
@pytest.mark.parametrize("kind", ["likert", *slow(*KINDS.keys() - {"likert"})])
def test_touch_targets_are_large_enough(chromium, live_server, kind, size):
    begin(kind, shots=3, characters=1, presentation={"comments": True})
    Question.objects.update(help_texts={"en": "Look at the hat."})
    width, height = size
    with Finger().page(chromium, viewport={"width": width, "height": height}) as page:
        open_story(page, live_server)
        assert page.locator(TARGETS).count() > 10
        assert too_small(page) == []
        if kind == "choice":
            page.keyboard.press("s")
            expect(page.locator("#divider")).to_be_visible()
            assert too_small(page) == []
        if page.locator(".more").is_visible():
            page.tap(".more")
        for menu in (".skip", ".keys-help"):
            page.tap(f"{menu} > summary")
            assert too_small(page) == []


@pytest.mark.slow
def test_second_tap_answers_no_other_question(phone, live_server):
    begin()
    phone.clock.install()
    open_story(phone, live_server)
    place = box(phone, ".option:has([name='q:character'][value='3'])")
    x, y = place["x"] + 60, place["y"] + 20
    stop_time(phone)
    phone.touchscreen.tap(x, y)
    phone.clock.run_for(300)
    expect(phone.locator("[data-question=aesthetics]")).to_be_visible()
    phone.touchscreen.tap(x, y)
    phone.clock.run_for(300)
    expect(phone.locator("[data-question=aesthetics]")).to_be_focused()
    wait_until(phone, lambda: list(Rating.objects.values_list("value")), [(3,)])
    phone.touchscreen.tap(x, y)
    wait_until(phone, Rating.objects.count, 2)


def test_answers_before_the_scripts_are_kept(page, live_server):
    """A click counts as soon as the page is painted, even on a slow network."""
    begin()
    held = []
    page.route("**/question.js", lambda route: held.append(route))
    open_page = "() => document.querySelector('main form button').click()"
    open_story_page(page, live_server, open_page)
    page.click("[name='q:character'][value='3']")
    assert page.locator("html.js").count()
    assert not page.locator("html.ready").count()
    assert not Rating.objects.exists()
    for route in held:
        route.continue_()
    wait_until(page, lambda: list(Rating.objects.values_list("value")), [(3,)])


def open_story_page(page, live_server, press):
    """Open the first story without waiting for its scripts."""
    from django.urls import reverse

    from annotate.models import Invitation

    token = Invitation.objects.get().token
    page.goto(live_server.url + reverse("rate-entry", args=[token]))
    page.evaluate(press)
    page.wait_for_url("**/story/**", wait_until="commit")
    page.wait_for_selector("[name='q:character']", state="attached")


@pytest.mark.page_errors("no database")
def test_failing_modules_leave_a_plain_form(page, live_server):
    """As in a private window, the browser's database cannot be opened."""
    begin()
    page.add_init_script(
        "IDBFactory.prototype.open = () => { throw new Error('no database'); }"
    )
    press = "() => document.querySelector('main form button').click()"
    open_story_page(page, live_server, press)
    expect(page.locator("html.js")).to_have_count(0)
    expect(page.locator("#shot-3")).to_be_visible()
    here = page.url
    for question in ("character", "aesthetics"):
        page.click(f"[name='q:{question}'][value='3']")
    page.click("#submit")
    page.wait_for_url(lambda url: url != here)
    wait_until(page, Rating.objects.count, 2)


@pytest.mark.slow
def test_open_menu_blocks_answering_keys(page, live_server):
    begin()
    page.set_viewport_size({"width": 390, "height": 844})
    open_story(page, live_server)
    page.click(".more")
    page.keyboard.press("3")
    expect(page.locator(".question.current")).to_have_attribute(
        "data-question", "character"
    )
    page.keyboard.press("Escape")
    page.keyboard.press("3")
    wait_until(page, lambda: list(Rating.objects.values_list("value")), [(3,)])
