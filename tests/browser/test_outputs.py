"""From a point of a report to the page of its output, and on to other methods."""

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from annotate.models import Rating, Report, StudyMember, User
from annotate.reports import building
from evalcore.scoring import metric_runs
from tests.browser.hands import MOUSE_OR_FINGER, Mouse
from tests.browser.test_manage import log_in
from tests.browser.test_report import STANDING
from tests.browser.waiting import wait_until
from tests.cases import named_cases, slow
from tests.factories import make_benchmark, make_study
from tests.people import answer_everything

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

HOSTILE = 'B/<i>"b"</i> & 50%'


@pytest.fixture
def report():
    methods = ["Alder", HOSTILE, "Cedar"]
    study = make_study(benchmark=make_benchmark(methods=methods))
    answer_everything(study)
    for place, rating in enumerate(Rating.objects.order_by("pk")):
        Rating.objects.filter(pk=rating.pk).update(value=place * 7 % 5)
    names = ["sharpness", "colourfulness"]
    metric_runs.run(metric_runs.queue_run(study.benchmark, names).pk)
    user = User.objects.create_user("alice", password="not-a-secret")
    StudyMember.objects.create(study=study, user=user, role="researcher")
    row = Report.objects.create(study=study, options={"resamples": 0})
    return building.build_report(row.pk)


def open_figure(page, live_server, report):
    log_in(page, live_server)
    page.goto(
        live_server.url + reverse("report-page", args=[report.study.slug, report.pk])
    )
    page.get_by_role("button", name="Open all").click()
    page.locator("#figure-outputs").scroll_into_view_if_needed()
    expect(page.locator("#outputs-0 .main-svg").first).to_be_attached()


def point(page, method):
    """Return where the loneliest output of a method stands, and its story."""
    page.locator("#outputs-0").scroll_into_view_if_needed()
    wait_until(page, lambda: len(page.evaluate(STANDING)), 6)
    plain = {"&lt;": "<", "&gt;": ">", "&amp;": "&"}
    marks = page.evaluate(STANDING)
    for mark in marks:
        for drawn, meant in plain.items():
            mark["name"] = mark["name"].replace(drawn, meant)
    return max(
        (mark for mark in marks if mark["name"] == method),
        key=lambda mark: mark["alone"],
    )


def is_the_page_of(page, story, method):
    expect(page.locator("h1")).to_have_text(f"Story {int(story)} · {method}")
    expect(page.locator(".strip img")).to_have_count(3)
    expect(page.get_by_role("row", name="Sharpness")).to_be_visible()


@pytest.mark.parametrize("hand", named_cases(MOUSE_OR_FINGER, {"finger"}))
@pytest.mark.parametrize("method", [HOSTILE, *slow("Alder")])
def test_a_point_of_a_report_opens_the_page_of_its_output(
    chromium, live_server, report, hand, method
):
    with hand.page(chromium) as page:
        open_figure(page, live_server, report)
        mark = point(page, method)
        press = page.mouse.click if isinstance(hand, Mouse) else page.touchscreen.tap
        with page.context.expect_page() as opened:
            press(mark["x"], mark["y"])
        shown = opened.value
        is_the_page_of(shown, mark["story"], method)
        width = shown.evaluate("innerWidth")
        assert shown.evaluate("document.documentElement.scrollWidth") <= width
        hand.press(shown.locator("a[rel=next], a[rel=prev]").last)
        expect(shown.locator("h1")).not_to_contain_text(f"· {method}")


def test_by_keys_alone(page, live_server, report):
    open_figure(page, live_server, report)
    link = page.locator("#figure-outputs .stories a").first
    story, _dot, method = link.inner_text().partition(" · ")
    with page.context.expect_page() as opened:
        link.press("Enter")
    shown = opened.value
    is_the_page_of(shown, story, method)
    shown.locator(".choices a", has_text="Cedar").press("Enter")
    is_the_page_of(shown, story, "Cedar")
    shown.get_by_role("link", name="Slots of this output").press("Enter")
    expect(shown.locator("tbody tr")).to_have_count(2)
