"""Screen readers on annotators' pages: names, descriptions, live regions."""

import re

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from annotate.models import Invitation
from annotate.people import inviting
from annotate.studies import lifecycle
from annotate.studies.planning import plan_study
from annotate.studies.study_file import load_definition
from tests.browser.hands import PHONE
from tests.browser.test_rate import start
from tests.cases import slow
from tests.factories import make_benchmark, make_study

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

# All announced texts of live regions, in order.
LISTEN = """(where) => {
  window.heard = [];
  const region = document.querySelector(where);
  new MutationObserver(() => {
    const live = region.ariaLive ?? "polite"; // a status
    if (live !== "off") heard.push(region.textContent.trim());
  }).observe(region, { childList: true, characterData: true, subtree: true });
}"""


def open_story(page, live_server, kind="likert"):
    methods = ("Alder", "Birch")
    study = make_study(
        kind=kind,
        benchmark=make_benchmark(methods=methods),
        annotators=1,
        consented=True,
    )
    token = Invitation.objects.get().token
    page.goto(live_server.url + reverse("rate-entry", args=[token]))
    page.click("main form button")
    page.wait_for_url("**/story/**")
    page.wait_for_selector("html.ready")
    return study


@pytest.mark.parametrize("kind", ["choice", *slow("likert")])
def test_screen_reader_announces_question_with_its_text(page, live_server, kind):
    open_story(page, live_server, kind)
    for key, title in (("character", "Character"), ("aesthetics", "Aesthetics")):
        group = page.get_by_role("group", name=title, exact=True)
        expect(group).to_have_accessible_description(f"How good is {key}?")
    expect(page.get_by_role("form", name="Questions")).to_be_visible()


@pytest.mark.slow
def test_screen_reader_announces_the_focused_story(page, live_server):
    open_story(page, live_server)
    main = page.locator("main")
    expect(main).to_have_accessible_name("Story 1 of 3")
    page.wait_for_function("() => document.body.dataset.ahead > 0")
    here = page.url
    for key in ("3", "2", "Enter"):
        page.keyboard.press(key)
    page.wait_for_url(lambda url: url != here)
    expect(main).to_be_focused()
    expect(main).to_have_accessible_name("Story 2 of 3")


@pytest.mark.parametrize("size", [{}, *slow(PHONE)], ids=["desk", "phone"])
def test_screen_reader_announces_the_next_shot(chromium, live_server, size):
    context = chromium.new_context(**size)
    page = context.new_page()
    open_story(page, live_server)
    page.evaluate(LISTEN, "#here")
    step = page.get_by_role("button", name="Next shot")
    for _press in range(3):
        step.click()
    assert page.evaluate("heard") == ["Shot 2 of 3", "Shot 3 of 3"]
    assert page.get_by_role("status").filter(has_text="Shot 3 of 3").count() == 1
    context.close()


@pytest.mark.slow
def test_screen_reader_announces_the_side_one_at_a_time(page, live_server):
    open_story(page, live_server, "choice")
    page.keyboard.press("o")
    page.evaluate(LISTEN, "#here")
    for _press in range(2):
        page.keyboard.press("ArrowRight")
    assert page.evaluate("heard") == ["Right: Shot 1 of 3", "Left: Shot 2 of 3"]


@pytest.mark.slow
@pytest.mark.page_errors("ERR_INTERNET_DISCONNECTED .*/save/")
def test_screen_reader_announces_saved_answers_once(page, live_server):
    open_story(page, live_server)
    page.evaluate(LISTEN, "#save-state")
    for key in "312":
        page.keyboard.press(key)
        expect(page.locator("#save-state")).to_have_text("Saved")
        page.wait_for_timeout(200)
    assert page.evaluate("heard") == ["Saved"]
    page.context.set_offline(True)
    page.keyboard.press("3")
    expect(page.locator("#save-state")).to_contain_text("Waiting")
    page.context.set_offline(False)
    page.wait_for_selector("#save-state.good")
    assert page.evaluate("heard") == ["Saved", "Waiting for the network", "Saved"]


@pytest.mark.slow
def test_screen_reader_announces_labels_only_with_their_boxes(page, live_server):
    benchmark = make_benchmark(stories=1, shots=1, methods=("Alder",))
    study = plan_study(
        load_definition("storybench-diagnostics"),
        benchmark=benchmark,
        slug="signs",
        annotators=1,
        redundancy=1,
    )
    lifecycle.launch(study)
    inviting.invite(study, count=1)
    start(page, live_server, study)
    page.wait_for_selector("html.ready")
    tree = page.locator(".sheet.current .labels").first.aria_snapshot()
    assert re.findall(r"\bPan\b.*", tree) == ['Pan in the text"', 'Pan in the picture"']
