"""Layout of the protocols' pages in windows of all sizes, with texts of real length."""

import pytest
import yaml
from django.urls import reverse
from playwright.sync_api import expect

from annotate.assignment import choosing
from annotate.models import Ranking
from annotate.studies.definition import TEMPLATES
from evalcore.models import Shot
from tests.browser.test_ranking import FILE
from tests.browser.test_rate import saved
from tests.factories import make_benchmark
from tests.working import join, make_planned

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

SIZES = {
    "phone": (360, 640),
    "phone on its side": (844, 390),
    "laptop": (1280, 720),
    "low laptop": (1366, 640),
    "200 %": (640, 400),
}
METHODS = ("Alder", "Birch", "Cedar", "Elm")
# The protocol or study file with its numbers of shots and methods.
STUDIES = {
    "vistorybench-user-study": (16, 1),
    "envision-expert": (4, 1),
    "vistar-pairwise": (1, 2),
    "ranking": (1, 4),
}
# What is wrong with the page, in words.
FAULTS = """() => {
  const shown = (selector) =>
    [...document.querySelectorAll(selector)].filter((one) => one.checkVisibility());
  const box = (one) => one.getBoundingClientRect();
  const text = (one) => one.textContent.trim();
  const [panel, end] = shown(".panel, .panel-end").map(box);
  const isCut = (one) => {
    const { top, bottom, left, right } = box(one);
    return top < panel.top - 1 || bottom > end.top + 1 || left < panel.left - 1
      || right > panel.right + 1 || one.scrollWidth > one.clientWidth + 1;
  };
  const size = (one) => parseFloat(getComputedStyle(one).fontSize);
  const anchors = shown(".current .option span, .heads li, .ends").filter(text);
  const arrows = shown("button").filter((one) => /^[←→]$/.test(text(one)));
  const isSingle = !document.querySelector("#strip");
  const panes = isSingle ? shown("#shots .pane") : [];
  const root = document.documentElement;
  return [
    root.scrollHeight > innerHeight && `the page is ${root.scrollHeight} px high`,
    root.scrollWidth > innerWidth && `the page is ${root.scrollWidth} px wide`,
    ...shown(".current .option, .current .ranks .button").filter(isCut)
      .map((one) => `cut off: ${text(one)}`),
    ...anchors.filter((one) => size(one) < 12).map((one) => `small: ${text(one)}`),
    arrows.length > (isSingle ? 0 : 2) && `${arrows.length} arrows`,
    ...panes.map((one) => box(one).width).filter((width) => width < 140)
      .map((width) => `a picture of ${width} px`),
  ].filter(Boolean);
}"""


def begin(name: str) -> str:
    """Plan a study without checks; return the address of its first story."""
    shots, methods = STUDIES[name]
    benchmark = make_benchmark(
        slug=name, stories=9, shots=shots, methods=METHODS[:methods]
    )
    Shot.objects.filter(story__benchmark=benchmark).update(
        text={"en": {"prompt": "A fox walks through the wood. " * 30}}
    )
    text = (
        FILE if name == "ranking" else (TEMPLATES / f"{name}.yaml").read_text("utf-8")
    )
    study = yaml.safe_load(text) | {"redundancy": 1, "rounds": 1, "session_size": 4}
    for check in ("training", "checks", "rules"):
        study.pop(check, None)
    study = make_planned(
        yaml.safe_dump(study), benchmark=benchmark, slug=name, annotators=1
    )
    person = join(study, "A01")
    code = choosing.next_for(person).slot.code
    return reverse("rate-slot", args=[person.invitation.token, code])


def test_no_answer_is_cut_off_in_any_window(page, live_server):
    for name in STUDIES:
        page.goto(live_server.url + begin(name))
        for size, (width, height) in SIZES.items():
            page.set_viewport_size({"width": width, "height": height})
            page.reload()
            page.wait_for_selector("html.ready")
            assert page.evaluate(FAULTS) == [], f"{name} on a {size}"
            if name == "envision-expert" and size == "low laptop":
                for question in page.locator(".question").all():
                    expect(question).to_be_in_viewport(ratio=1)


@pytest.mark.slow
def test_next_question_comes_into_view_after_a_click(page, live_server):
    page.set_viewport_size({"width": 1366, "height": 640})
    page.goto(live_server.url + begin("vistorybench-user-study"))
    page.wait_for_selector("html.ready")
    expect(page.locator("[data-look=all]")).to_have_attribute("aria-pressed", "true")
    for question in page.locator(".question").all():
        expect(question).to_have_class("question current")
        expect(question).to_be_in_viewport(ratio=1)
        question.locator(".option").nth(2).click()
    page.set_viewport_size({"width": 360, "height": 640})
    page.locator("[data-turn='-1']").click(click_count=2)
    chosen = page.locator(".question.current .option:has(:checked)")
    first = page.locator(".question.current legend").text_content()
    chosen.click()  # the same answer again
    expect(page.locator(".question.current legend")).not_to_have_text(first)


@pytest.mark.slow
def test_versions_are_dragged_to_their_ranks(page, live_server):
    page.set_viewport_size({"width": 1280, "height": 720})
    page.goto(live_server.url + begin("ranking"))
    page.wait_for_selector("html.ready")
    rows = page.locator(".ranks")

    def drag(version: int, target) -> None:
        rows.nth(version - 1).get_by_role("button").drag_to(target)

    drag(3, rows.nth(2).locator(".option").nth(0))
    drag(1, rows.nth(0).locator(".option").nth(0))  # version 3 moves on to rank 2
    drag(2, rows.nth(1).locator(".option").nth(3))  # and version 4 gets the last rank
    saved(page)
    drag(4, rows.nth(0).get_by_role("button"))
    saved(page)
    assert Ranking.objects.count() == 2
    shown = page.locator(".ranks :checked").evaluate_all(
        "(all) => all.map((one) => one.value)"
    )
    assert shown == ["2", "4", "3", "1"]
