"""Rating by keyboard alone in Chromium; reload, second tab, going back, axe."""

import pytest
from axe_core_python.sync_playwright import Axe
from django.urls import reverse

from annotate.models import Annotator, Choice, Invitation, Rating, Slot
from tests.factories import make_study

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def address(live_server, study, name="A01"):
    token = Invitation.objects.get(annotator__study=study, annotator__name=name).token
    return live_server.url + reverse("rate-entry", args=[token])


def enter(page):
    """Press Enter on the button that a page without questions puts the focus on."""
    page.wait_for_function("() => document.activeElement.tagName === 'BUTTON'")
    page.keyboard.press("Enter")


def start(page, live_server, study):
    """Go from the link to the first story by Enter alone."""
    page.goto(address(live_server, study))
    enter(page)
    page.wait_for_url("**/instructions/")
    enter(page)
    page.wait_for_url("**/story/**")
    page.wait_for_selector("html.js")


def saved(page):
    page.wait_for_function(
        "() => document.getElementById('save-state').classList.contains('good')"
    )


def finish_by_keyboard(page, keys):
    """Answer every story until the completion code shows; return their number."""
    stories = 0
    while True:
        for key in keys:
            page.keyboard.press(key)
        before = page.url
        page.keyboard.press("Enter")
        page.wait_for_function("url => location.href !== url", arg=before)
        stories += 1
        if page.url.endswith("/pause/"):
            enter(page)
            page.wait_for_url("**/story/**")
        if page.url.endswith("/done/"):
            return stories
        page.wait_for_selector("html.js")


def test_a_likert_study_by_keyboard_alone(page, live_server):
    study = make_study(annotators=1)
    start(page, live_server, study)
    assert finish_by_keyboard(page, ["3", "1"]) == 6
    ann = study.annotators.get()
    assert page.inner_text(".completion-code") == ann.completion_code
    assert ann.state == Annotator.State.FINISHED
    values = Rating.objects.filter(is_current=True).values_list(
        "question__key", "value"
    )
    assert sorted(values) == [("aesthetics", 1)] * 6 + [("character", 3)] * 6
    assert Slot.objects.exclude(seconds__gt=0).count() == 0


def test_a_pairwise_study_by_keyboard_alone(page, live_server):
    study = make_study(protocol="pairwise", annotators=1)
    start(page, live_server, study)
    assert finish_by_keyboard(page, ["1", "2"]) == 6
    assert Choice.objects.filter(question__key="aesthetics", value="tie").count() == 6
    for choice in Choice.objects.filter(question__key="character"):
        assert (choice.value == "a") == choice.slot.a_is_left


def test_arrows_walk_through_shots_and_questions(page, live_server):
    start(page, live_server, make_study(annotators=1))
    assert page.is_visible("#shot-1")
    page.keyboard.press("ArrowRight")
    assert page.is_visible("#shot-2")
    assert not page.is_visible("#shot-1")
    page.keyboard.press("ArrowLeft")
    assert page.is_visible("#shot-1")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("4")
    saved(page)
    assert Rating.objects.get().question.key == "aesthetics"
    page.keyboard.press("a")
    assert page.is_visible("#shot-1")
    assert page.is_visible("#shot-3")


def test_reload_and_second_tab_lose_and_double_nothing(page, live_server):
    study = make_study(annotators=1)
    start(page, live_server, study)
    page.keyboard.press("2")
    saved(page)
    page.reload()
    page.wait_for_selector("html.js")
    assert page.is_checked("input[name=character][value='2']")
    shared = page.url
    second = page.context.new_page()
    second.goto(page.url)
    second.wait_for_selector("html.js")
    second.keyboard.press("4")
    second.keyboard.press("Enter")
    second.wait_for_url(lambda url: url != shared)
    page.keyboard.press("4")
    page.keyboard.press("Enter")
    page.wait_for_url(lambda url: url != shared)
    first = study.annotators.get().slots.get(position=1)
    assert first.ratings.count() == 2
    assert study.slots.filter(state="submitted").count() == 1


def test_going_back_changes_an_answer(page, live_server):
    study = make_study(annotators=1)
    start(page, live_server, study)
    first = page.url
    for key in ("3", "3", "Enter"):
        page.keyboard.press(key)
    page.wait_for_function("url => location.href !== url", arg=first)
    page.wait_for_selector("html.js")
    page.keyboard.press("Backspace")
    page.wait_for_url(first)
    page.wait_for_selector("html.js")
    page.keyboard.press("0")
    saved(page)
    rows = Rating.objects.filter(question__key="character").order_by("revision")
    assert list(rows.values_list("value", "is_current")) == [(3, False), (0, True)]


def test_a_lost_network_is_told_and_the_answer_arrives_later(page, live_server):
    start(page, live_server, make_study(annotators=1))
    page.context.set_offline(True)
    page.keyboard.press("2")
    page.wait_for_function(
        "() => document.getElementById('save-state').classList.contains('warn')"
    )
    assert not Rating.objects.exists()
    page.context.set_offline(False)
    saved(page)
    assert Rating.objects.get().value == 2


def test_a_slow_old_answer_does_not_overtake_the_submitted_one(page, live_server):
    study = make_study(annotators=1)
    start(page, live_server, study)
    first = page.url
    held = []

    def hold_the_first(route):
        if held:
            route.continue_()
        else:
            held.append(route)

    page.route("**/answer/", hold_the_first)
    page.keyboard.press("1")  # on its way
    page.keyboard.press("ArrowUp")
    page.keyboard.press("4")  # changed
    page.keyboard.press("3")
    page.keyboard.press("Enter")
    page.wait_for_timeout(300)
    assert page.url == first
    held[0].continue_()
    page.wait_for_url(lambda url: url != first)
    assert Rating.objects.get(question__key="character", is_current=True).value == 4


def test_enter_with_a_gap_says_what_is_missing(page, live_server):
    start(page, live_server, make_study(annotators=1))
    page.keyboard.press("2")
    page.keyboard.press("ArrowUp")
    url = page.url
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("Enter")
    page.wait_for_selector("#problem:not([hidden])")
    assert "Aesthetics" in page.inner_text("#problem")
    assert page.url == url


def test_without_javascript_the_page_is_one_complete_form(chromium, live_server):
    study = make_study(annotators=1)
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(address(live_server, study))
    page.click("main button")
    page.click("main form button")
    first = page.url
    assert page.is_visible("#shot-1")
    assert page.is_visible("#shot-3")
    page.check("input[name=character][value='1']")
    page.check("input[name=aesthetics][value='2']")
    page.click("#submit")
    assert page.url != first
    assert Rating.objects.count() == 2
    context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("protocol", ["likert", "pairwise"])
def test_axe_finds_nothing(page, live_server, protocol, scheme):
    page.emulate_media(color_scheme=scheme)
    study = make_study(protocol=protocol, annotators=1)
    page.goto(address(live_server, study))
    steps = ["**/instructions/", "**/story/**", None]
    for step in steps:
        found = Axe().run(page)["violations"]
        assert not found, [(v["id"], v["nodes"][0]["html"]) for v in found]
        if step:
            enter(page)
            page.wait_for_url(step)


@pytest.mark.parametrize("protocol", ["likert", "pairwise"])
def test_nothing_overflows_at_360_px(page, live_server, protocol):
    page.set_viewport_size({"width": 360, "height": 740})
    start(page, live_server, make_study(protocol=protocol, annotators=1))
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
