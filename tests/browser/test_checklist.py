"""Checklists in Chromium: keyboard, phone, offline."""

import pytest
from playwright.sync_api import expect

from annotate.audit_log import verifying
from annotate.models import Annotator, Invitation, Rating, Slot, Study
from annotate.studies.planning import plan_study
from annotate.studies.study_file import load_definition
from tests.browser.test_rate import address, saved, start
from tests.browser.test_video import TWO_SECONDS, make_reel
from tests.browser.waiting import stop_time, wait_until
from tests.factories import make_benchmark, make_study

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def study() -> Study:
    """Create two stories of three shots with the protocol's 34 labels."""
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
    """Mark the visible shot as done as soon as possible."""
    button = page.locator("#shot-done")
    expect(button).to_be_visible()
    expect(button).to_be_enabled()
    press(page, "Enter")


def send(page):
    expect(page.locator("#submit")).to_be_visible()
    expect(page.locator("#submit")).to_be_enabled()
    press(page, "Enter")


def test_checklist_works_by_keyboard(page, live_server, study):
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


@pytest.mark.slow
def test_double_enter_completes_one_shot(page, live_server, study):
    """The second press comes before the second shot was seen."""
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
@pytest.mark.page_errors("ERR_FAILED .*/display/")
def test_broken_shot_cannot_be_completed(page, live_server, study):
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
    expect(page.locator("#sheet-3")).to_be_visible()  # Enter was handled


def unwatched(page, folder, live_server, **kw) -> Study:
    """Open a video of two shots without automatic playback."""
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
    expect(page.locator("#problem")).to_contain_text("Play or step through this part")


@pytest.mark.slow
@pytest.mark.page_errors("ERR_FAILED .*/video/")
def test_shot_of_broken_video_cannot_be_completed(page, live_server, tmp_path):
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
def test_shot_of_video_is_complete_once_played(page, live_server, tmp_path):
    unwatched(page, tmp_path, live_server)
    refuses(page)
    assert not Rating.objects.exists()
    press(page, *12 * ".")  # frame by frame
    expect(page.locator("#sheet-2")).to_be_visible()  # because of the earlier Enter
    refuses(page)
    saved(page)
    assert set(Rating.objects.values_list("shot", flat=True)) == {1}
    page.click("[data-press=' ']")  # plays
    send(page)
    page.wait_for_url("**/done/")
    assert Rating.objects.filter(is_current=True).count() == 2 * 6


@pytest.mark.slow
@pytest.mark.page_errors("ERR_FAILED .*/save/")
def test_offline_ticks_survive_a_reload(page, live_server, study):
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


def test_checklist_works_by_touch_on_a_phone(chromium, live_server, study):
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
        if shot < 3:  # the next shot and the top of its sheet are in sight
            for part in (f"#shot-{shot + 1} .pane", f"#sheet-{shot + 1} h2"):
                expect(page.locator(part)).to_be_in_viewport()
    page.tap("#submit")
    sent = study.slots.filter(state=Slot.State.SUBMITTED)
    wait_until(page, sent.exists, True)
    assert [shot for shot, _key in ticked(study)] == [1, 2, 3]
    context.close()
