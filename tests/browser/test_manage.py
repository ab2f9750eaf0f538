"""Managers' pages and the report in Chromium."""

from urllib.parse import urlencode

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from annotate.models import Invitation, Rating, Report, StudyMember, User
from annotate.quality import exclusion
from annotate.reports import building
from evalcore.scoring import metric_runs
from evalcore.scoring.identities import Identities
from tests.browser import test_axe
from tests.browser.accessibility import violations_of_both_themes
from tests.factories import make_study
from tests.people import answer_everything

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def study():
    row = make_study()
    answer_everything(row)
    user = User.objects.create_user("alice", password="not-a-secret")
    StudyMember.objects.create(study=row, user=user, role="manager")
    return row


def log_in(page, live_server):
    page.goto(live_server.url + reverse("login"))
    page.fill("input[name=username]", "alice")
    page.fill("input[name=password]", "not-a-secret")
    page.keyboard.press("Enter")
    page.wait_for_url("**/studies/")


def test_manager_pauses_invites_and_revokes(page, live_server, study):
    log_in(page, live_server)
    page.goto(live_server.url + reverse("study-settings", args=[study.slug]))
    page.click("button:has-text('Pause')")
    study.refresh_from_db()
    assert study.state == "paused"
    page.click("button:has-text('Reopen')")
    page.goto(live_server.url + reverse("annotator-list", args=[study.slug]))
    page.click("summary:has-text('Personal links')")
    assert page.is_visible("text=no ratings are available")
    exclusion.exclude(study.slots.first(), reason="asleep", author=None)
    page.reload()
    page.click("button:has-text('Add people')")
    page.wait_for_selector("text=link created")
    assert Invitation.objects.filter(annotator__name="A03").exists()
    row = page.locator(".people-table tr:has-text('A03')")
    link = row.locator("[data-copy]").first.get_attribute("data-copy")
    guest = page.context.browser.new_page()
    guest.goto(link)
    assert "Consent" in guest.inner_text("main")
    guest.close()
    row.locator(".menu > summary").click()
    row.locator("summary:has-text('Remove from the study')").click()
    row.locator("button:has-text('Remove A03 from the study')").click()
    page.wait_for_selector("text=was removed")
    with page.expect_download() as table:
        page.click("text=Table of people (CSV)")
    assert table.value.suggested_filename == "trial-people.csv"


def test_report_draws_figures_without_requests(page, live_server, study):
    for place, rating in enumerate(Rating.objects.order_by("pk")):
        Rating.objects.filter(pk=rating.pk).update(value=place * 7 % 5)
    names = ["sharpness", "colourfulness", "palette_consistency"]
    metric_runs.run(metric_runs.queue_run(study.benchmark, names).pk)
    report = building.build_report(
        Report.objects.create(study=study, options={"resamples": 20}).pk
    )
    assert report.state == "done", report.error
    log_in(page, live_server)
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    url = live_server.url + reverse("report-page", args=[study.slug, report.pk])
    page.goto(url)
    page.get_by_role("button", name="Open all").click()
    plots = page.locator(".plot")
    assert plots.count() >= 4
    for i in range(plots.count()):  # figures are drawn when scrolled into view
        plots.nth(i).scroll_into_view_if_needed()
        expect(plots.nth(i).locator(".main-svg").first).to_be_attached()
    # The browser requests an icon by itself; the page requests nothing.
    own = [u for u in asked if not u.startswith(("data:", "blob:"))]
    assert [u for u in own if not u.endswith("icon.svg")] == [url]
    page.click("nav >> text=Reports")
    page.wait_for_url("**/reports/")
    assert page.is_visible("text=New report")


PAGES = [
    "study-list",
    "study-detail",
    "study-settings",
    "slot-list",
    "annotator-list",
    "study-member-list",
    "account-list",
    "server-address",
    "account",
    "study-scoring",
    "view-list",
    "report-list",
    "metric-list",
    "event-list",
    "study-extend",
    "study-redistribute",
]
OF_THE_SERVER = (
    "study-list",
    "metric-list",
    "account-list",
    "server-address",
    "account",
)


@pytest.mark.slow
def test_pages_are_accessible_and_do_not_overflow(page, live_server, study):
    User.objects.update(is_superuser=True)
    run = metric_runs.run(metric_runs.queue_run(study.benchmark, ["sharpness"]).pk)
    score = run.scores.first()
    values = {"metric": score.metric, "identity": Identities().of_row(score).key}
    building.build_report(
        Report.objects.create(study=study, options={"resamples": 0}).pk
    )
    log_in(page, live_server)
    addresses = {
        name: reverse(name, args=[study.slug] if name not in OF_THE_SERVER else [])
        for name in PAGES
    }
    output = reverse("output-detail", args=[study.slug]) + "?story=01&method=Birch"
    addresses |= {
        "slot-detail": reverse(
            "slot-detail", args=[study.slug, study.slots.first().code]
        ),
        "output-detail": output,
        "metric-values": f"{reverse('metric-values', args=[study.slug])}?"
        f"{urlencode(values)}",
        "run-detail": reverse("run-detail", args=[study.slug, run.pk]),
    }
    for name, path in addresses.items():
        page.set_viewport_size({"width": 1440, "height": 900})
        page.goto(live_server.url + path)
        if name not in test_axe.PAGES:
            assert violations_of_both_themes(page) == [], path
        page.set_viewport_size({"width": 360, "height": 740})
        assert page.evaluate("document.documentElement.scrollWidth") <= 360, path
