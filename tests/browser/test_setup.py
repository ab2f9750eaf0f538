"""Setting studies up in Chromium, by keyboard."""

import time

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from annotate.models import Event, Rating, Study, User
from annotate.people import joining
from annotate.studies import planning
from tests.browser.accessibility import violations_of_both_themes
from tests.factories import make_benchmark
from tests.working import LIKERT, make_planned

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def begun(page, live_server):
    make_benchmark(stories=4)
    User.objects.create_user("alice", password="not-a-secret", is_superuser=True)
    page.goto(live_server.url + reverse("login"))
    page.fill("input[name=username]", "alice")
    page.fill("input[name=password]", "not-a-secret")
    page.keyboard.press("Enter")
    page.wait_for_url("**/studies/")
    return page


def start(page, template: str) -> None:
    """Go from the list of studies to the form of a template, by keyboard."""
    page.focus("text=New study")
    page.keyboard.press("Enter")
    page.wait_for_url("**/setup/")
    page.focus(f"input[value={template}]")
    page.keyboard.press("Space")
    page.focus("button:has-text('Go on')")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**template={template}")


def type_into(page, name: str, text: str) -> None:
    page.focus(f"[name='{name}']")
    page.keyboard.press("Control+a")
    page.keyboard.type(text)


@pytest.mark.slow
def test_what_is_typed_before_the_scripts_are_there_is_checked(begun):
    page = begun
    start(page, "vistorybench-user-study")
    held = []
    page.route("**/htmx-2.min.js", lambda route: held.append(route))
    page.reload(wait_until="commit")
    page.fill("[name=annotators]", "3")
    assert held, "the script was not held back"
    held[0].continue_()
    expect(page.locator("#summary")).to_contain_text("Nearest possible: redundancy 3")


@pytest.mark.parametrize(
    ("template", "units"),
    [
        ("storybench-side-by-side", 12),
        pytest.param("vistorybench-user-study", 12, marks=pytest.mark.slow),
    ],
)
def test_a_study_is_set_up_and_launched_by_keyboard(begun, template, units):
    page = begun
    start(page, template)
    type_into(page, "slug", "pilot")
    type_into(page, "annotators", "4")
    type_into(page, "redundancy", "9")
    summary = page.locator("#summary")
    expect(summary).to_contain_text("Nearest possible")
    expect(page.locator("#id_annotators-error")).to_contain_text("Nearest possible")
    type_into(page, "redundancy", "2")
    expect(summary).to_contain_text("slots per annotator")
    expect(page.locator("#id_annotators-error")).to_be_empty()
    assert violations_of_both_themes(page) == []
    page.focus(".setup-buttons button:has-text('Create draft')")
    page.keyboard.press("Enter")
    page.wait_for_url("**/studies/pilot/")
    real = Study.objects.get().units.filter(purpose="real")
    assert real.count() == units
    page.focus("button:has-text('Launch')")
    page.keyboard.press("Enter")
    expect(page.locator(".badge").first).to_have_text("open")
    assert page.locator("a:has-text('Edit')").count() == 0


def test_the_preview_works_like_the_page_and_stores_nothing(begun):
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
    expect(preview.locator("#seat")).to_be_visible()
    preview.click("button:has-text('中文')")
    expect(preview.locator("legend").first).to_have_text("角色识别一致性")
    preview.close()
    for model in (Study, Rating, Event):
        assert not model.objects.exists()
    assert page.input_value("[name=title]") == "ViStoryBench user study"


@pytest.mark.page_errors("422 .*/setup/")
def test_lists_fold_out_and_file_and_form_hold_the_same(begun):
    page = begun
    start(page, "storybench-side-by-side")
    expect(page.locator("input[name=method]").first).to_be_hidden()
    page.uncheck("[name=all_method]")
    page.check("input[name=method][value=Birch]")
    page.check("input[name=method][value=Cedar]")
    page.check("[name='pairs.kind'][value=chosen]")
    page.fill("[name='pairs.chosen']", "Birch | Cedar")
    page.click("button:has-text('Edit as a file')")
    page.wait_for_selector("[name=file]")
    text = page.input_value("[name=file]")
    assert "- - Birch\n  - Cedar" in text
    page.fill("[name=file]", text.replace("StoryBench side by side", "Renamed"))
    page.click("button:has-text('Edit as a form')")
    page.wait_for_selector("[name=title]")
    assert page.input_value("[name=title]") == "Renamed"
    assert page.is_checked("input[name=method][value=Birch]")
    assert not page.is_checked("input[name=method][value=Alder]")
    page.click("button:has-text('Add a question')")
    page.wait_for_selector("[name='questions.5.key']", state="attached")
    page.click(".setup-buttons button:has-text('Create draft')")
    page.click("#problems a >> text=Short name")
    assert page.evaluate("document.activeElement.name") == "slug"


@pytest.mark.page_errors("422 .*/setup/")
def test_what_is_put_right_leaves_the_list_of_problems(begun):
    page = begun
    start(page, "vistorybench-user-study")
    page.click(".setup-buttons button:has-text('Create draft')")
    problems = page.locator("#problems")
    expect(problems).to_contain_text("Short name")
    type_into(page, "slug", "pilot")
    expect(problems.locator("li:visible")).to_have_count(1)
    type_into(page, "annotators", "4")
    type_into(page, "redundancy", "2")
    expect(problems).to_be_hidden(timeout=20000)


@pytest.mark.page_errors("422 .*/setup/")
def test_the_pages_fit_a_phone_and_pass_axe(begun):
    page = begun
    page.set_viewport_size({"width": 360, "height": 740})
    page.goto(page.url.replace("/studies/", "/setup/"))
    assert violations_of_both_themes(page) == []
    page.click("button:has-text('Go on')")
    page.wait_for_selector("#setup")
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert violations_of_both_themes(page) == []
    page.click(".setup-buttons button:has-text('Create draft')")
    page.wait_for_selector("#problems")
    assert violations_of_both_themes(page) == []


def test_it_works_without_a_script(begun, live_server):
    cookies = begun.context.cookies()
    context = begun.context.browser.new_context(java_script_enabled=False)
    context.add_cookies(cookies)
    page = context.new_page()
    page.goto(live_server.url + "/setup/")
    page.click("button:has-text('Go on')")
    page.fill("[name=annotators]", "4")
    page.fill("[name=redundancy]", "2")
    page.click(".setup-buttons button:has-text('Check')")
    expect(page.locator("#summary")).to_contain_text("annotator hours")
    page.fill("[name=slug]", "plain")
    page.click(".setup-buttons button:has-text('Create draft')")
    page.wait_for_url("**/studies/plain/")
    context.close()


@pytest.mark.page_errors("422 .*/setup/")
def test_pressing_twice_makes_one_study(begun, monkeypatch):
    """Drawing twins takes long, and whoever waits presses again."""
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
    expect(page.locator(".notice.success")).to_contain_text("The draft is stored")
    page.go_back()
    create.click()
    expect(page.locator("#problems")).to_be_focused()


@pytest.mark.page_errors("403 .*/join/")
def test_whoever_joins_finds_back_in_the_same_browser_only(page, live_server):
    study = make_planned(LIKERT, annotators=2, redundancy=1, slug="pilot")
    study.annotators.update(state="planned")
    study.annotators.first().invitation.delete()
    study.annotators.last().invitation.delete()
    link = joining.make_link(study, most=2)
    address = live_server.url + reverse("join", args=[link.token]) + "?rater=ann"
    page.goto(address)
    page.dblclick("button:has-text('Take part')")
    page.wait_for_url("**/consent/")
    page.goto(address)
    page.wait_for_url("**/consent/")
    elsewhere = page.context.browser.new_context(viewport={"width": 360, "height": 740})
    other = elsewhere.new_page()
    assert other.goto(address).status == 403
    expect(other.locator("h1")).to_contain_text("on another device")
    assert other.evaluate("document.documentElement.scrollWidth") <= 360
    assert violations_of_both_themes(other) == []
    elsewhere.close()
