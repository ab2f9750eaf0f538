"""A checklist in Chromium: by keyboard alone, on a phone, without a script, axe."""

import re

import pytest
from playwright.sync_api import expect

from annotate.audit_log import verifying
from annotate.models import Annotator, Invitation, Rating, Slot, Study
from annotate.studies.planning import plan_study
from annotate.studies.study_file import load_definition
from tests.browser.accessibility import violations_of_both_themes
from tests.browser.test_rate import address, enter, saved, start
from tests.browser.test_video import TWO_SECONDS, make_reel
from tests.browser.waiting import stop_time, wait_until
from tests.factories import make_benchmark, make_study

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
# How often the video goes back, and the earliest time that it shows.
NOTE_TIMES = """() => {
  const video = document.querySelector("video");
  [window.backs, window.least] = [0, Infinity];
  let before = video.currentTime;
  setInterval(() => {
    if (video.currentTime < before - 0.1) window.backs += 1;
    before = video.currentTime;
    window.least = Math.min(window.least, before);
  }, 20);
}"""


@pytest.fixture
def study() -> Study:
    """Two stories of three shots, with the 34 labels of the template."""
    benchmark = make_benchmark(stories=2, shots=3, methods=("Alder",))
    study = plan_study(
        load_definition("storybench-diagnostics"),
        benchmark=benchmark,
        slug="signs",
        annotators=1,
        redundancy=1,
    )
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


def confirm(page):
    """Say that the shot in sight is done, as soon as that can be said."""
    button = page.locator("#shot-done")
    expect(button).to_be_visible()
    expect(button).to_be_enabled()
    press(page, "Enter")


def send(page):
    expect(page.locator("#submit")).to_be_visible()
    expect(page.locator("#submit")).to_be_enabled()
    press(page, "Enter")


def test_a_checklist_by_keyboard_alone(page, live_server, study):
    start(page, live_server, study)
    first = study.slots.order_by("position").first()
    for _story in range(2):
        before = page.url
        expect(page.get_by_role("heading", name="Shot 1 of 3").last).to_be_visible()
        press(page, "1", "ArrowDown", "2", "ArrowDown", "ArrowUp", "1")
        confirm(page)
        expect(page.get_by_role("heading", name="Shot 2 of 3").last).to_be_visible()
        assert page.is_visible("#shot-2")
        confirm(page)
        press(page, "2")
        confirm(page)
        send(page)
        page.wait_for_function("url => location.href !== url", arg=before)
    page.wait_for_url("**/done/")
    assert ticked(study, slot=first) == [
        (1, "pan|text"),
        (1, "pan|video"),
        (1, "static_shot|text"),
        (3, "static_shot|video"),
    ]
    assert Rating.objects.filter(slot=first, is_current=True).count() == 3 * 68
    assert study.slots.filter(state=Slot.State.SUBMITTED).count() == 2
    assert verifying.problems(study) == []


def test_two_presses_of_enter_are_the_word_on_one_shot(page, live_server, study):
    """Nobody has seen the second shot when the second press comes."""
    study.benchmark.stories.first().shots.filter(number=3).delete()
    page.clock.install()
    start(page, live_server, study)
    expect(page.locator("#shot-done")).to_be_enabled()
    stop_time(page)
    for _press in range(3):
        press(page, "Enter")
        page.clock.run_for(200)
    saved(page)
    assert not study.slots.filter(state=Slot.State.SUBMITTED).exists()
    assert set(Rating.objects.values_list("shot", flat=True)) == {1}
    assert page.is_visible("#sheet-2")


@pytest.mark.slow
def test_two_presses_of_space_tick_nothing_of_the_next_shot(page, live_server, study):
    start(page, live_server, study)
    button = page.locator("#shot-done")
    expect(button).to_be_enabled()
    button.focus()
    press(page, " ", " ")
    saved(page)
    assert page.is_visible("#sheet-2")
    assert ticked(study) == []
    press(page, "Tab", "Tab", " ")  # past the text, to the first box
    saved(page)
    assert ticked(study) == [(2, "static_shot|text")]


def test_sending_is_offered_when_each_shot_is_done(page, live_server, study):
    page.clock.install()
    start(page, live_server, study)
    stop_time(page)
    for _shot in range(3):
        expect(page.locator("#submit")).to_be_hidden()
        page.clock.run_for(600)
        confirm(page)
    page.clock.run_for(400)
    press(page, "Enter")  # a second press: too soon to send
    expect(page.locator("#shot-done")).to_be_hidden()
    saved(page)
    assert Rating.objects.count() == 3 * 68
    assert not study.slots.filter(state=Slot.State.SUBMITTED).exists()
    first = page.url
    page.clock.run_for(600)
    send(page)
    page.wait_for_url(lambda url: url != first)


@pytest.mark.slow
def test_a_click_counts_once_the_picture_is_there(page, live_server, study):
    start(page, live_server, study)
    page.route("**/display/", lambda route: None)  # no picture ever comes
    page.reload(wait_until="domcontentloaded")
    page.wait_for_selector("html.ready")
    page.wait_for_timeout(800)
    page.click("#shot-done", force=True)
    expect(page.locator("#problem")).to_contain_text(
        "This shot is done as soon as it was in sight."
    )
    assert not Rating.objects.exists()


@pytest.mark.page_errors("ERR_FAILED .*/display/")
def test_a_shot_that_cannot_be_shown_cannot_be_done(page, live_server, study):
    start(page, live_server, study)
    page.route("**/2/display/", lambda route: route.abort())
    page.reload()
    page.wait_for_selector("html.ready")
    confirm(page)
    expect(page.locator("#shot-2 .fault")).to_be_visible()
    page.wait_for_timeout(800)
    press(page, "Enter")
    expect(page.locator("#problem")).to_contain_text("skip the story")
    assert set(Rating.objects.values_list("shot", flat=True)) == {1}
    page.unroute("**/2/display/")
    page.click("#shot-2 .retry")
    expect(page.locator("#sheet-3")).to_be_visible()  # Enter was heard


def unwatched(page, folder, live_server, **kw) -> Study:
    """Open a video of two shots of which nothing plays by itself."""
    page.emulate_media(reduced_motion="reduce")
    study = make_study(
        kind="checklist",
        benchmark=make_reel(folder, [TWO_SECONDS], **kw),
        annotators=1,
        presentation={"must_watch": False},
    )
    start(page, live_server, study)
    return study


def refuses(page) -> None:
    page.wait_for_timeout(800)
    press(page, "Enter")
    expect(page.locator("#problem")).to_contain_text(
        "This shot is done as soon as its part"
    )


@pytest.mark.page_errors("ERR_FAILED .*/video/")
def test_no_shot_of_a_video_that_cannot_be_played_counts(page, live_server, tmp_path):
    unwatched(page, tmp_path, live_server)
    press(page, *12 * ".")
    confirm(page)
    saved(page)
    page.route("**/video/", lambda route: route.abort())
    page.reload()
    page.wait_for_selector("html.ready")
    page.wait_for_selector("text=This video cannot be played here. >> visible=true")
    expect(page.locator("#sheet-2")).to_be_visible()
    refuses(page)
    assert set(Rating.objects.values_list("shot", flat=True)) == {1}


@pytest.mark.slow
def test_a_shot_shorter_than_what_is_counted_by_is_to_be_watched(
    page, live_server, tmp_path
):
    unwatched(page, tmp_path, live_server, times=[(0, 1), (1.991, 1.999)])
    press(page, *12 * ".")
    confirm(page)
    expect(page.locator("#sheet-2")).to_be_visible()
    refuses(page)
    page.click("[data-press=' ']")  # plays
    expect(page.locator("#submit")).to_be_visible()


def test_a_shot_of_a_video_counts_when_its_part_was_shown(page, live_server, tmp_path):
    unwatched(page, tmp_path, live_server)
    refuses(page)
    assert not Rating.objects.exists()
    press(page, *12 * ".")  # frame by frame
    expect(page.locator("#sheet-2")).to_be_visible()  # by the Enter from before
    refuses(page)
    saved(page)
    assert set(Rating.objects.values_list("shot", flat=True)) == {1}
    page.click("[data-press=' ']")  # plays
    send(page)
    page.wait_for_url("**/done/")
    assert Rating.objects.filter(is_current=True).count() == 2 * 6


@pytest.mark.slow
def test_a_box_that_is_ticked_meanwhile_waits_for_another_enter(
    page, live_server, tmp_path
):
    unwatched(page, tmp_path, live_server)
    refuses(page)
    press(page, "1", *12 * ".")
    expect(page.locator("#shot-done")).not_to_have_attribute("aria-disabled", "true")
    page.wait_for_timeout(300)
    assert page.is_visible("#sheet-1")
    press(page, "Enter")
    expect(page.locator("#sheet-2")).to_be_visible()


@pytest.mark.slow
def test_one_enter_outlasts_a_video_that_is_to_be_watched_whole(
    page, live_server, tmp_path
):
    page.emulate_media(reduced_motion="reduce")
    benchmark = make_reel(tmp_path, [TWO_SECONDS])
    start(
        page,
        live_server,
        make_study(kind="checklist", benchmark=benchmark, annotators=1),
    )
    press(page, *12 * ".")  # the first shot's part, not the whole
    page.wait_for_timeout(800)
    press(page, "Enter")
    problem = page.locator("#problem")
    expect(problem).to_contain_text("Watch to the end")
    assert page.is_visible("#sheet-1")
    press(page, *12 * ".")
    expect(page.locator("#sheet-2")).to_be_visible()
    expect(problem).to_be_hidden()


@pytest.mark.slow
def test_the_part_of_a_shot_is_played_again_and_again(page, live_server, tmp_path):
    study = unwatched(page, tmp_path, live_server)
    page.emulate_media(reduced_motion="no-preference")
    page.reload()
    page.wait_for_selector("html.ready")
    confirm(page)
    expect(page.locator("#sheet-2")).to_be_visible()
    page.evaluate(NOTE_TIMES)
    page.wait_for_function("() => window.backs > 1", timeout=20_000)
    assert 0.9 <= page.evaluate("window.least") < 1.2
    assert study.annotators.count() == 1


def test_none_of_a_category_takes_its_ticks_back(page, live_server, study):
    start(page, live_server, study)
    press(page, "ArrowDown", "1", "ArrowDown", "1", "ArrowUp")
    both = [(1, "pan|text"), (1, "tilt|text")]
    wait_until(page, lambda: ticked(study, shot=1), both)
    press(page, "n")
    wait_until(page, lambda: ticked(study, shot=1), [])
    mark = page.locator("#sheet-1 .none").first
    expect(mark).to_have_class(re.compile("given"))
    here = page.locator("#sheet-1 .labels .current input").first
    expect(here).to_have_attribute("name", "1:people|text")
    press(page, "ArrowUp", "2")
    expect(mark).not_to_have_class(re.compile("given"))
    page.locator("#sheet-1 .none").nth(1).click()
    expect(here).to_have_attribute("name", "1:humans_moving|text")


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
    press(page, "1")
    confirm(page)
    press(page, "ArrowDown", "1")
    saved(page)
    page.reload()
    page.wait_for_selector("html.ready")
    assert page.is_visible("#sheet-2")  # the first that is not done
    assert page.is_checked("[name='2:pan|text']")
    assert page.is_checked("[name='looked:1']")
    assert not page.is_checked("[name='looked:2']")


@pytest.mark.page_errors("ERR_FAILED .*/save/")
def test_ticks_without_network_are_shown_after_a_reload_and_sent(
    page, live_server, study
):
    page.route("**/save/", lambda route: route.abort())
    start(page, live_server, study)
    press(page, "1")
    confirm(page)
    page.wait_for_selector("#save-state.warn")
    page.on("dialog", lambda dialog: dialog.accept())
    page.reload()
    page.wait_for_selector("html.ready")
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
    page.wait_for_selector("html.ready")
    for shot in (1, 2, 3):
        box = page.locator(f"label:has([name='{shot}:people|video'])")
        size = box.bounding_box()
        assert min(size["width"], size["height"]) >= 44
        box.tap()
        page.evaluate("scrollTo(0, 0)")
        page.tap("#shot-done")
        if shot < 3:  # the next shot and the begin of its sheet are in sight
            for part in (f"#shot-{shot + 1} .pane", f"#sheet-{shot + 1} h2"):
                expect(page.locator(part)).to_be_in_viewport()
    page.tap("#submit")
    sent = study.slots.filter(state=Slot.State.SUBMITTED)
    wait_until(page, sent.exists, True)
    assert [shot for shot, _key in ticked(study)] == [1, 2, 3]
    context.close()


@pytest.mark.page_errors("422 .*/submit/")
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


def test_axe_finds_nothing(page, live_server, study):
    page.goto(address(live_server, study))
    enter(page)
    page.wait_for_url("**/instructions/")
    for step in ("**/story/**", None):
        assert violations_of_both_themes(page) == []
        if step:
            enter(page)
            page.wait_for_url(step)
            page.wait_for_selector("html.ready")


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
