"""Browser tests of setting up studies by keyboard."""

import time

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from annotate.models import Event, Rating, Study, User
from annotate.studies import planning
from tests.browser.accessibility import violations_of_both_themes
from tests.factories import make_benchmark

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def begun(page, live_server):
    make_benchmark(stories=4)
    User.objects.create_user("alice", password="not-a-secret", is_superuser=True)
    page.goto(live_server.url + reverse("login"))
    page.fill("input[name=username]", "alice")
    page.fill("input[name=password]", "not-a-secret")
    page.keyboard.press("Enter")
    page.wait_for_url(lambda url: "/login/" not in url)
    return page


def start(page, template: str) -> None:
    """Open the form of a template from the front page, by keyboard."""
    page.focus("a.button:has-text('Set up a study')")
    page.keyboard.press("Enter")
    page.wait_for_url("**/setup/")
    page.focus(f"input[value={template}]")
    page.keyboard.press("Space")
    page.focus("button:has-text('Continue')")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**template={template}")


def type_into(page, name: str, text: str) -> None:
    page.focus(f"[name='{name}']")
    page.keyboard.press("Control+a")
    page.keyboard.type(text)


@pytest.mark.slow
def test_buttons_stay_under_a_finger_when_the_plan_changes(begun):
    page = begun
    page.set_viewport_size({"width": 390, "height": 844})
    start(page, "vistorybench-user-study")
    create = page.locator(".setup-buttons button:has-text('Create draft')")
    for number, seen in (("4", "Nearest possible"), ("12", "Balance")):
        page.fill("[name='annotators']", number)
        create.scroll_into_view_if_needed()
        before = create.bounding_box()["y"]
        expect(page.locator("#summary")).to_contain_text(seen)
        assert create.bounding_box()["y"] == pytest.approx(before, abs=1)


@pytest.mark.parametrize(
    ("template", "units"),
    [
        ("storybench-side-by-side", 12),
        pytest.param("vistorybench-user-study", 12, marks=pytest.mark.slow),
    ],
)
def test_study_can_be_set_up_and_launched_by_keyboard(begun, template, units):
    page = begun
    start(page, template)
    type_into(page, "slug", "pilot")
    type_into(page, "annotators", "4")
    type_into(page, "redundancy", "9")
    summary = page.locator("#summary")
    expect(summary).to_contain_text("Nearest possible")
    expect(page.locator("#id_annotators-error")).to_contain_text("Nearest possible")
    type_into(page, "redundancy", "2")
    expect(summary).to_contain_text("ratings per annotator")
    expect(page.locator("#id_annotators-error")).to_be_empty()
    assert violations_of_both_themes(page) == []
    page.focus(".setup-buttons button:has-text('Create draft')")
    page.keyboard.press("Enter")
    page.wait_for_url("**/studies/pilot/")
    real = Study.objects.get().units.filter(purpose="real")
    assert real.count() == units
    page.focus("button:has-text('Launch')")
    page.keyboard.press("Enter")
    expect(page.locator(".badge").first).to_have_text("running")
    assert page.locator("a.button:text-is('Edit')").count() == 0


def test_preview_works_like_annotator_page_without_storing(begun):
    page = begun
    start(page, "vistorybench-user-study")
    with page.context.expect_page() as opened:
        page.click("button:has-text('Preview the annotator')")
    preview = opened.value
    preview.wait_for_selector("html.ready")
    for _question in range(3):
        preview.keyboard.press("3")
    expect(preview.locator("input:checked")).to_have_count(3)
    preview.keyboard.press("ArrowRight")
    expect(preview.locator(".shot.current")).to_have_id("shot-2")
    expect(preview.locator("#save-state")).to_contain_text("nothing is stored")
    preview.keyboard.press("Enter")
    preview.wait_for_timeout(300)
    expect(preview.locator("#annotator")).to_be_visible()
    preview.click("button:has-text('中文')")
    expect(preview.locator("legend").first).to_have_text("角色识别一致性")
    preview.close()
    for model in (Study, Rating, Event):
        assert not model.objects.exists()
    assert page.input_value("[name=title]") == "ViStoryBench user study"


@pytest.mark.slow
@pytest.mark.page_errors("422 .*/setup/")
def test_pages_fit_phone_and_pass_axe(begun, live_server):
    page = begun
    page.set_viewport_size({"width": 360, "height": 740})
    page.goto(live_server.url + reverse("setup-start"))
    assert violations_of_both_themes(page) == []
    page.click("button:has-text('Continue')")
    page.wait_for_selector("#setup")
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert violations_of_both_themes(page) == []
    page.click(".setup-buttons button:has-text('Create draft')")
    page.wait_for_selector("#problems")
    assert violations_of_both_themes(page) == []


@pytest.mark.slow
@pytest.mark.page_errors("422 .*/setup/")
def test_double_press_makes_one_study(begun, monkeypatch):
    """Drawing degraded copies is slow, so managers may press again."""
    page, draw = begun, planning.with_twins

    def slowly(draft):
        time.sleep(2)
        return draw(draft)

    monkeypatch.setattr(planning, "with_twins", slowly)
    start(page, "vistorybench-user-study")
    type_into(page, "slug", "pilot")
    type_into(page, "annotators", "4")
    type_into(page, "redundancy", "2")
    create = page.locator(".setup-buttons button:has-text('Create draft')")
    create.evaluate("one => { one.click(); setTimeout(() => one.click(), 400); }")
    page.wait_for_url("**/studies/pilot/")
    expect(page.locator(".notice.success")).to_contain_text("The draft is saved")
    page.go_back()
    create.click()
    expect(page.locator("#problems")).to_be_focused()
