"""The form of reports by mouse and by finger: what is covered."""

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from annotate.models import Report, StudyMember, User
from annotate.reports import building
from evalcore.models import Method
from evalcore.scoring import metric_runs
from tests.browser.accessibility import violations
from tests.browser.hands import MOUSE_OR_FINGER
from tests.cases import named_cases
from tests.factories import make_study
from tests.people import answer_everything

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

METRICS = [
    "colourfulness",
    "palette_consistency",
    "sharpness",
    "shots_present",
]


@pytest.fixture
def study():
    """A study whose form has so many metrics that they are found by letters."""
    row = make_study()
    answer_everything(row)
    run = metric_runs.run(metric_runs.queue_run(row.benchmark, METRICS).pk)
    for score in run.scores.filter(metric="sharpness"):
        for number in range(4):
            score.pk, score.metric = None, f"other_{number}"
            score.save()
    question = row.questions.get(key="character")
    question.metric = "sharpness"
    question.save()
    return row


def log_in(page, live_server, study):
    user = User.objects.create_user("rob", password="not-a-secret")
    StudyMember.objects.create(study=study, user=user, role="researcher")
    page.goto(live_server.url + reverse("login"))
    page.fill("input[name=username]", "rob")
    page.fill("input[name=password]", "not-a-secret")
    page.keyboard.press("Enter")
    page.wait_for_url("**/studies/")
    page.goto(live_server.url + reverse("report-list", args=[study.slug]))


@pytest.mark.parametrize("hand", named_cases(MOUSE_OR_FINGER, {"finger"}))
def test_a_long_name_stands_beside_its_box(chromium, live_server, study, hand):
    long = "Cedar with a name of more than forty letters"
    Method.objects.filter(name="Cedar").update(name=long)
    with hand.page(chromium) as page:
        log_in(page, live_server, study)
        label = page.locator("label", has_text=long)
        box, name = (label.locator(part).bounding_box() for part in ("input", "span"))
        assert name["x"] >= box["x"] + box["width"]
        assert name["y"] <= box["y"] + box["height"]
        hand.press(label)
        expect(label.locator("input")).to_be_checked()


@pytest.mark.page_errors("422 .*/reports/new/")
@pytest.mark.parametrize("hand", named_cases(MOUSE_OR_FINGER, {"mouse"}))
def test_report_covers_what_is_ticked(chromium, live_server, study, hand):
    with hand.page(chromium) as page:
        log_in(page, live_server, study)
        form = page.locator("form.card")
        hand.press(form.locator("summary", has_text="Questions (2) and metrics (8)"))
        metrics = form.locator("fieldset", has_text="palette_consistency")
        hand.press(metrics.get_by_role("button", name="Untick all shown"))
        metrics.get_by_label("Find").fill("SHAR")
        page.keyboard.press("Enter")  # finds, and builds nothing
        expect(metrics.locator("label:visible input[type=checkbox]")).to_have_count(1)
        metrics.get_by_label("Find").fill("shots")
        hand.press(metrics.get_by_role("button", name="Tick all shown", exact=True))
        form.locator("input[name=resamples]").evaluate("one => one.max = 99999")
        form.get_by_label("Resamples").fill("99999")
        hand.press(form.get_by_role("button", name="Build"))
        problem = form.get_by_role("alert")
        expect(problem).to_be_in_viewport()
        hand.press(problem.get_by_role("link", name="Resamples"))
        expect(form.locator(".field .error")).to_be_in_viewport()
        form.get_by_label("Resamples").fill("10")
        hand.press(form.locator("summary", has_text="Questions (2) and metrics (8)"))
        hand.press(form.get_by_role("checkbox", name="sharpness"))
        assert (
            page.evaluate("document.documentElement.scrollWidth")
            <= page.viewport_size["width"]
        )
        assert violations(page) == []
        hand.press(form.get_by_role("button", name="Build"))
        page.wait_for_url("**/reports/")
    report = building.build_report(Report.objects.get().pk)
    assert report.state == "done", report.error
    assert report.options["metrics"] == ["sharpness", "shots_present"]
