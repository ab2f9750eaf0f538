"""A manager rehearses a study, reads the result, and deletes the rehearsal."""

import pytest
from playwright.sync_api import expect

from annotate.models import Rehearsal
from annotate.pages.manage import rehearsal as pages
from annotate.studies.planning import plan_study
from annotate.tasks import work_on_rehearsals
from tests.browser.accessibility import violations_of_both_themes
from tests.browser.test_dashboard import address, log_in
from tests.factories import make_benchmark
from tests.untrained import untrained

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.mark.slow
def test_rehearsal_is_started_read_and_deleted(page, live_server, monkeypatch):
    monkeypatch.setattr(pages, "wake_rehearsals", list)
    study = plan_study(
        untrained("vistorybench-user-study"),
        benchmark=make_benchmark(stories=3, shots=2),
        slug="pilot",
        annotators=3,
        redundancy=2,
    )
    log_in(page, live_server, study)
    page.goto(address(live_server, study, "study-detail"))
    page.get_by_role("link", name="Rehearse").click()
    page.get_by_label("Quick").fill("1")
    page.get_by_label("Careful").fill("2")
    page.get_by_role("button", name="Rehearse").click()
    expect(page.get_by_role("status")).to_contain_text("waits for a worker")
    assert violations_of_both_themes(page) == []
    work_on_rehearsals()
    row = Rehearsal.objects.get()
    assert row.state == "done", row.error
    expect(page.get_by_role("heading", name="of the plan was filled")).to_be_visible()
    expect(page.get_by_text("Rehearse again")).to_be_visible()
    for width in (1440, 390):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") == width
    assert violations_of_both_themes(page) == []
    with page.expect_popup() as opened:
        page.get_by_role("link", name="Open the report").click()
    report = opened.value
    expect(report.get_by_role("heading", level=1)).to_contain_text("Rehearsal: sim")
    mark = report.evaluate("getComputedStyle(document.body, '::after').content")
    assert mark == '"Rehearsal: simulated answers"'
    report.close()
    page.get_by_role("button", name="Delete the rehearsal").click()
    expect(page.get_by_text("The rehearsal was deleted.")).to_be_visible()
    assert not Rehearsal.objects.exists()
