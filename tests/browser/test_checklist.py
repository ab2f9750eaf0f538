"""A checklist in Chromium: by keyboard alone, on a phone, without a script, axe."""

import pytest
from playwright.sync_api import expect

from annotate.history import verifying
from annotate.models import Annotator, Invitation, Rating, Slot, Study
from annotate.planning import plan_study
from annotate.study_files.study_file import load_definition
from tests.browser.accessibility import violations
from tests.browser.test_rate import address, enter, saved, start
from tests.factories import make_benchmark

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def study() -> Study:
    """Two stories of three shots, with the 34 labels of the template."""
    benchmark = make_benchmark(stories=2, shots=3, methods=("Alder",))
    study = plan_study(
        load_definition("storybench-diagnostics"), benchmark=benchmark, slug="signs",
        annotators=1, redundancy=1,
    )  # fmt: skip
    study.state = Study.State.OPEN
    study.save()
    study.annotators.update(state=Annotator.State.INVITED, name="A01")
    Invitation.objects.create(annotator=study.annotators.get())
    return study


def ticked(study: Study, **shown) -> list[tuple[int, str]]:
    rows = Rating.objects.filter(slot__study=study, is_current=True, value=1, **shown)
    return sorted(rows.values_list("shot", "question__key"))


def press(page, *keys):
    for key in keys:
        page.keyboard.press(key)


def test_a_checklist_by_keyboard_alone(page, live_server, study):
    start(page, live_server, study)
    first = study.slots.order_by("position").first()
    for _story in range(2):
        before = page.url
        expect(page.get_by_role("heading", name="Shot 1 of 3").last).to_be_visible()
        press(page, "1", "ArrowDown", "2", "ArrowDown", "ArrowUp", "1", "Enter")
        expect(page.get_by_role("heading", name="Shot 2 of 3").last).to_be_visible()
        assert page.is_visible("#shot-2")
        press(page, "Enter", "2", "Enter")
        page.wait_for_function("url => location.href !== url", arg=before)
    page.wait_for_url("**/done/")
    assert ticked(study, slot=first) == [
        (1, "pan|text"), (1, "pan|video"), (1, "static_shot|text"),
        (3, "static_shot|video"),
    ]  # fmt: skip
    assert Rating.objects.filter(slot=first, is_current=True).count() == 3 * 68
    assert study.slots.filter(state=Slot.State.SUBMITTED).count() == 2
    assert verifying.problems(study) == []


def test_a_shot_that_was_not_looked_at_is_opened(page, live_server, study):
    start(page, live_server, study)
    press(page, "Enter")  # the first is done
    page.click("#submit")
    expect(page.locator("#problem")).to_contain_text("Shot 2 of 3")
    assert page.is_visible("#sheet-2")
    assert page.is_visible("#shot-2")
    assert not study.slots.filter(state=Slot.State.SUBMITTED).exists()


def test_walking_through_shots_turns_the_sheets(page, live_server, study):
    start(page, live_server, study)
    press(page, "ArrowRight")
    assert page.is_visible("#sheet-2")
    assert not page.is_visible("#sheet-1")
    press(page, "2")
    saved(page)
    assert ticked(study) == [(2, "static_shot|video")]


def test_ticks_come_back_after_a_reload(page, live_server, study):
    start(page, live_server, study)
    press(page, "1", "Enter", "ArrowDown", "1")
    saved(page)
    page.reload()
    page.wait_for_selector("html.js")
    assert page.is_visible("#sheet-2")  # the first that is not done
    assert page.is_checked("[name='2:pan|text']")
    assert page.is_checked("[name='looked:1']")
    assert not page.is_checked("[name='looked:2']")


def test_ticks_without_network_are_shown_after_a_reload_and_sent(
    page, live_server, study
):
    start(page, live_server, study)
    page.route("**/save/", lambda route: route.abort())
    press(page, "1", "Enter")
    page.wait_for_selector("#save-state.warn")
    page.evaluate("window.onbeforeunload = null")
    page.on("dialog", lambda dialog: dialog.accept())
    page.reload()
    page.wait_for_selector("html.js")
    expect(page.locator("[name='1:static_shot|text']")).to_be_checked()
    expect(page.locator("[name='looked:1']")).to_be_checked()
    page.unroute("**/save/")
    page.evaluate("dispatchEvent(new Event('online'))")
    saved(page)
    assert ticked(study) == [(1, "static_shot|text")]
    assert Rating.objects.filter(shot=1, is_current=True).count() == 68


def test_by_touch_on_a_phone(chromium, live_server, study):
    context = chromium.new_context(
        viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True
    )
    page = context.new_page()
    page.goto(address(live_server, study))
    page.tap("main button")
    page.tap("main form button")
    page.wait_for_selector("html.js")
    for shot in (1, 2, 3):
        box = page.locator(f"label:has([name='{shot}:people|video'])")
        size = box.bounding_box()
        assert min(size["width"], size["height"]) >= 44
        box.tap()
        page.tap(".sheet-bar button")
        if shot < 3:  # the next sheet begins in sight
            heading = page.locator(f"#sheet-{shot + 1} h2")
            page.wait_for_timeout(100)
            assert 60 < heading.bounding_box()["y"] < 400
    first = study.slots.order_by("position").first()
    for _try in range(50):
        first.refresh_from_db()
        if first.state == Slot.State.SUBMITTED:
            break
        page.wait_for_timeout(100)
    assert [shot for shot, _key in ticked(study)] == [1, 2, 3]
    context.close()


def test_without_a_script(chromium, live_server, study):
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(address(live_server, study))
    page.click("main button")
    page.click("main form button")
    first = page.url
    page.check("[name='1:pan|text']")
    page.check("[name='looked:1']")
    page.check("[name='3:pan|text']")
    page.click("#submit")
    assert "Not yet looked at: shots 2, 3." in page.inner_text("#problem")
    assert page.is_checked("[name='3:pan|text']")  # no tick is lost
    page.check("[name='looked:2']")
    page.check("[name='looked:3']")
    page.click("#submit")
    assert page.url != first
    assert ticked(study) == [(1, "pan|text"), (3, "pan|text")]
    context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(page, live_server, study, scheme):
    page.emulate_media(color_scheme=scheme)
    page.goto(address(live_server, study))
    enter(page)
    page.wait_for_url("**/instructions/")
    for step in ("**/story/**", None):
        assert violations(page) == []
        if step:
            enter(page)
            page.wait_for_url(step)
            page.wait_for_selector("html.js")


def test_a_box_says_what_it_is_of(page, live_server, study):
    start(page, live_server, study)
    box = page.get_by_role("checkbox", name="Pan in the picture").first
    assert box.get_attribute("name") == "1:pan|video"
    group = page.get_by_role("group", name="Camera movements").first
    assert group.get_by_role("checkbox").count() == 14


def test_nothing_overflows_at_360_px(page, live_server, study):
    page.set_viewport_size({"width": 360, "height": 740})
    start(page, live_server, study)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
