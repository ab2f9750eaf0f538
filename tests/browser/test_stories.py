"""Stories of several methods in Chromium: by shot, by story, one by one; by phone."""

import re

import pytest
from playwright.sync_api import expect

from annotate.kinds.registry import KINDS
from annotate.models import Question, Rating
from evalcore.models import Character, Shot
from tests.browser.hands import PHONE, TARGETS, Finger, too_small
from tests.browser.test_viewer import begin, open_story, touch
from tests.browser.waiting import stop_time, wait_until
from tests.cases import slow

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

# Whether nothing covers the middle of what is marked, or of the pictures in sight.
UNCOVERED = """(selector) => [...document.querySelectorAll(selector)].some((one) => {
  const box = one.getBoundingClientRect();
  const hit = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
  return box.width > 0 && hit !== null && (one.contains(hit) || hit.contains(one));
})"""
# Whether each of them lies in the window, to half a pixel.
WHOLE = """(all) => all.map((one) => {
  const { left, top, right, bottom } = one.getBoundingClientRect();
  return left > -0.5 && top > -0.5 && right < innerWidth + 0.5 &&
    bottom < innerHeight + 0.5;
})"""


@pytest.fixture
def phone(chromium):
    context = chromium.new_context(**PHONE)
    yield context.new_page()
    context.close()


def box(page, selector):
    return page.locator(selector).bounding_box()


@pytest.mark.parametrize("kind", ["ranking", *slow("choice")])
def test_each_story_is_a_block_of_its_own(page, live_server, kind):
    begin(kind, shots=6)
    open_story(page, live_server)
    page.keyboard.press("b")
    for story in page.locator(".story").all():
        sides = story.locator("figure").evaluate_all(
            "(all) => all.map(({ dataset }) => [dataset.side, dataset.shot])"
        )
        side = story.get_attribute("data-side")
        assert sides == [[side, str(number)] for number in range(1, 7)]
    page.keyboard.press("b")
    shots = page.locator("#shot-2 figure").evaluate_all(
        "(all) => all.map(({ dataset }) => [dataset.side, dataset.shot])"
    )
    assert [shot for _side, shot in shots] == ["2"] * len(page.locator(".story").all())
    assert page.locator(".story figure").count() == 0


@pytest.mark.parametrize("size", [(160, 90), *slow((64, 64), (64, 96))])
def test_both_stories_of_sixteen_shots_are_seen_whole(page, live_server, size):
    begin("choice", shots=16, size=size)
    page.set_viewport_size({"width": 1440, "height": 900})
    open_story(page, live_server)
    for key in ("a", "b"):
        page.keyboard.press(key)
        panes = page.locator("#shots a.pane:visible")
        expect(panes).to_have_count(32)
        assert all(panes.evaluate_all(WHOLE))
        assert min(pane.bounding_box()["width"] for pane in panes.all()) >= 100


def test_what_is_chosen_holds_for_the_next_pair(page, live_server):
    begin("choice")
    open_story(page, live_server)
    page.keyboard.press("b")
    here = page.url
    for key in ("1", "1", "Enter"):
        page.keyboard.press(key)
    page.wait_for_url(lambda url: url != here)
    page.wait_for_selector("html.ready")
    expect(page.locator(".story[data-side=right] figure")).to_have_count(3)


@pytest.mark.slow
def test_stories_that_do_not_fit_scroll_together(page, live_server):
    begin("choice", shots=40)
    open_story(page, live_server)
    page.keyboard.press("b")
    left, right = page.locator(".story").all()
    left.hover()
    page.mouse.wheel(0, 300)
    page.wait_for_function("() => document.querySelector('.story').scrollTop > 100")
    top = "(one) => one.scrollTop"
    wait_until(page, lambda: right.evaluate(top) == left.evaluate(top), True)


@pytest.mark.parametrize("key", ["b", *slow("a")])
def test_a_shot_under_the_pointer_grows_in_both_stories(page, live_server, key):
    begin("choice", shots=16)
    open_story(page, live_server)
    page.keyboard.press(key)
    sides = [f"figure[data-shot='7'][data-side={side}]" for side in ("left", "right")]
    before = [box(page, side)["width"] for side in sides]
    page.hover(f"{sides[0]} .pane")
    wait_until(page, lambda: page.locator(".peek").count() > 0, True)
    for side, width in zip(sides, before, strict=True):
        assert box(page, side)["width"] > 1.5 * width
        expect(page.locator(side)).to_be_in_viewport(ratio=0.99)
    page.keyboard.press("Escape")
    assert [box(page, side)["width"] for side in sides] == before
    page.mouse.move(5, 5)
    page.locator(f"{sides[1]} a").focus()
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Tab")
    wait_until(page, lambda: page.locator(".peek").count() > 0, True)
    page.keyboard.press("Enter")  # opens it
    expect(page.locator("#here")).to_have_text("Shot 7 of 16")
    expect(page.locator("[data-look=all]")).to_have_attribute("aria-pressed", "false")
    assert not page.locator(".peek").count()
    expect(page.locator(f"{sides[1]} a")).to_be_focused()


def test_one_story_at_a_time_by_arrows(page, live_server):
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


def test_a_finger_swipes_from_shot_to_shot(phone, live_server):
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


@pytest.mark.parametrize("kind", ["likert", "choice", "ranking"])
@pytest.mark.parametrize(
    "size", [(360, 640), *slow((390, 844), (720, 450), (844, 390))]
)
def test_a_picture_is_in_sight_at_every_question(chromium, live_server, kind, size):
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
@pytest.mark.parametrize("kind", list(KINDS))
def test_targets_are_large_enough_for_a_finger(chromium, live_server, kind, size):
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


@pytest.mark.parametrize("locale", ["zh-CN", *slow("en")])
def test_the_bar_of_a_telephone_stays_one_line(chromium, live_server, locale):
    begin("ranking")
    hand = Finger()
    size = {"width": 360, "height": 640}
    with hand.page(chromium, viewport=size, locale=locale) as page:
        open_story(page, live_server)
        hand.rank(page, "character", "2>1>3")
        expect(page.locator("#save-state.good")).to_be_visible()
        assert box(page, ".seatbar")["height"] < 50


@pytest.mark.slow
def test_what_is_folded_away_in_a_narrow_window_has_its_key(page, live_server):
    begin()
    page.set_viewport_size({"width": 720, "height": 450})
    open_story(page, live_server)
    expect(page.locator("#break")).to_be_hidden()
    page.keyboard.press("?")
    expect(page.locator(".keys-help .keys")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#break")).to_be_hidden()
    page.keyboard.press("p")
    page.wait_for_url("**/pause/")


@pytest.mark.parametrize(
    "size", [(360, 640), *slow((390, 844), (768, 1024), (720, 450))]
)
def test_a_value_without_an_anchor_shows_its_number(chromium, live_server, size):
    begin()  # 0 none, 1, 2, 3, 4 perfect
    viewport = dict(zip(("width", "height"), size, strict=True))
    with Finger().page(chromium, viewport=viewport) as page:
        open_story(page, live_server)
        shown = page.locator(".question.current .option").all_inner_texts()
        assert [" ".join(text.split()) for text in shown] == [
            "0 none",
            "1",
            "2",
            "3",
            "4 perfect",
        ]


def test_a_second_tap_in_the_same_place_answers_nothing_more(phone, live_server):
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


def test_who_is_on_stage_is_told_of_each_shot(page, live_server):
    study = begin(characters=2)
    for shot in Shot.objects.filter(number=2):
        shot.characters.set(Character.objects.filter(story=shot.story, key="c1"))
    open_story(page, live_server)
    expect(page.locator("#shot-1 .person")).to_have_count(0)
    page.keyboard.press("ArrowRight")
    person = page.locator("#shot-2 .person")
    expect(person).to_have_text("Fox 1")
    source = person.locator("img").get_attribute("src")
    assert re.search("/character/1/1/thumb/$", source)
    page.keyboard.press("a")
    told = page.locator("#shot-2 .told")
    expect(told).to_contain_text("Fox walks 2")
    expect(told.locator("img:visible")).to_have_count(1)
    expect(page.locator("#shot-3 .told img")).to_have_count(0)
    assert study.annotators.count() == 1


def test_what_was_answered_before_the_scripts_came_is_kept(page, live_server):
    """A click counts as soon as the page is painted, however slow the network."""
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
    """Go to the first story without waiting for its scripts."""
    from django.urls import reverse

    from annotate.models import Invitation

    token = Invitation.objects.get().token
    page.goto(live_server.url + reverse("rate-entry", args=[token]))
    page.evaluate(press)
    page.wait_for_url("**/story/**", wait_until="commit")
    page.wait_for_selector("[name='q:character']", state="attached")


@pytest.mark.page_errors("no database")
def test_modules_that_fail_while_they_run_leave_a_plain_form(page, live_server):
    """As in a window that keeps nothing: the browser's database cannot be opened."""
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
def test_a_resize_leaves_the_overview_where_it_is(page, live_server):
    begin(shots=60)
    page.set_viewport_size({"width": 1000, "height": 700})
    open_story(page, live_server)
    page.keyboard.press("a")
    page.evaluate("document.querySelector('#shots').scrollTop = 400")
    page.set_viewport_size({"width": 1000, "height": 690})
    page.wait_for_timeout(300)
    assert page.evaluate("document.querySelector('#shots').scrollTop") == 400


@pytest.mark.slow
def test_a_swipe_on_the_divider_turns_no_shot(phone, live_server):
    begin("choice")
    open_story(phone, live_server)
    phone.tap(".tools summary")
    phone.tap("[data-key=s]")
    place = box(phone, ".shot.current .pane >> nth=0")
    x, y = place["x"] + 200, place["y"] + 60
    touch(phone, [(x, y)], [(x - 60, y)], [(x - 120, y)])
    assert int(phone.input_value("#divider")) < 40
    expect(phone.locator("#shot-1")).to_be_visible()


@pytest.mark.slow
@pytest.mark.page_errors("ERR_FAILED .*seat.js")
def test_without_its_modules_the_seat_is_a_plain_form(page, live_server):
    begin()
    page.route("**/seat.js", lambda route: route.abort())
    open_story_page(
        page, live_server, "() => document.querySelector('main form button').click()"
    )
    expect(page.locator("html.js")).to_have_count(0)
    expect(page.locator("#shot-3")).to_be_visible()


@pytest.mark.parametrize("size", [(390, 844), *slow((720, 450), (1440, 700))])
def test_the_next_shot_begins_with_its_picture(page, live_server, size):
    begin("choice", shots=16)
    Shot.objects.update(text={"en": {"plot": "The fox walks on. " * 90}})
    page.set_viewport_size({"width": size[0], "height": size[1]})
    open_story(page, live_server)
    pane = page.locator(".shot.current .pane").first
    for act in ("ArrowRight", "a"):
        page.evaluate("document.querySelector('#shots').scrollTop = 400")
        page.keyboard.press(act)
        if act == "a":
            page.evaluate("document.querySelector('#shots').scrollTop = 400")
            page.locator("#shots .pane").last.click()
        expect(pane).to_be_in_viewport(ratio=0.99)


@pytest.mark.slow
def test_a_phone_says_which_shot_it_shows(phone, live_server):
    begin(shots=16)
    open_story(phone, live_server)
    phone.tap(".viewer-bar [data-key=ArrowRight]")
    expect(phone.locator("#nth")).to_have_text("2/16")
    expect(phone.locator("#nth")).to_be_in_viewport(ratio=1)


def test_a_menu_that_is_open_keeps_keys_from_answering(page, live_server):
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


@pytest.mark.slow
@pytest.mark.page_errors("ERR_INTERNET_DISCONNECTED")
def test_without_network_a_break_is_told_of_past_the_menu(phone, live_server):
    begin()
    open_story(phone, live_server)
    phone.context.set_offline(True)
    phone.tap(".more")
    phone.tap("#break")
    expect(phone.locator("#problem")).to_contain_text("You may simply leave")
    expect(phone.locator("#more")).to_be_hidden()
    assert phone.evaluate(UNCOVERED, "#problem")


@pytest.mark.parametrize(
    "size", [(360, 640), *slow((390, 844), (720, 450), (844, 390))]
)
def test_the_last_button_shows_its_words(chromium, live_server, size):
    """Also of a checklist, where what a label means stands beside it."""
    begin("checklist", shots=1)
    width, height = size
    with Finger().page(chromium, viewport={"width": width, "height": height}) as page:
        open_story(page, live_server)
        expect(page.locator("#shot-done")).not_to_have_attribute(
            "aria-disabled", "true"
        )
        for button in ("#shot-done", "#submit"):
            fits = (
                "(one) => one.scrollWidth <= one.clientWidth && one.offsetHeight < 60"
            )
            assert page.locator(button).evaluate(fits)
            assert page.evaluate(UNCOVERED, button)
            page.tap(button)
