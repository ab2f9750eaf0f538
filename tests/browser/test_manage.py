"""A manager's way through the pages, and the report, in Chromium."""

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from annotate.models import Invitation, Rating, Report, StudyMember, User
from annotate.quality import exclusion
from annotate.reports import building
from evalcore.scoring import metric_runs
from tests.browser import test_axe
from tests.browser.accessibility import violations_of_both_themes
from tests.cases import slow
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


def test_every_number_leads_to_its_slots(page, live_server, study):
    log_in(page, live_server)
    page.click(f"text={study.title}")
    page.click(".tabs >> text=Coverage")
    page.click("td.heat a >> nth=0")
    page.wait_for_url("**/slots/?**")
    expect(page.locator("tbody tr")).to_have_count(2)
    page.click("tbody a >> nth=0")
    expect(page.locator("tbody >> text=How good")).to_have_count(2)
    expect(page.locator("tbody tr")).to_have_count(2)


@pytest.mark.parametrize("size", [(390, 844), *slow((1440, 900), (640, 360))])
def test_a_slot_shows_the_pictures_it_was_about(page, live_server, study, size):
    log_in(page, live_server)
    width, height = size
    page.set_viewport_size({"width": width, "height": height})
    slot = study.slots.select_related("unit").first()
    page.goto(live_server.url + reverse("slot-detail", args=[study.slug, slot.code]))
    shown = page.locator(".strip .thumb")
    assert shown.count() == sum(output.frames.count() for output in slot.unit.outputs)
    for picture in shown.all():
        expect(picture).to_be_visible()


@pytest.mark.slow
def test_a_key_with_a_space_is_refused_by_the_page(page, live_server, study):
    log_in(page, live_server)
    page.goto(live_server.url + reverse("view-list", args=[study.slug]))
    page.fill("[name=title]", "Main analysis")
    for key, right in (("pre registered", False), ("pre-registered_2", True)):
        page.fill("[name=key]", key)
        valid = page.evaluate("document.querySelector('[name=key]').checkValidity()")
        assert valid is right


def test_pausing_inviting_and_revoking(page, live_server, study):
    log_in(page, live_server)
    page.goto(live_server.url + reverse("study-detail", args=[study.slug]))
    page.click("button:has-text('Pause')")
    study.refresh_from_db()
    assert study.state == "paused"
    page.click("button:has-text('Open again')")
    page.goto(live_server.url + reverse("annotator-list", args=[study.slug]))
    page.click("summary:has-text('Invite by link')")
    assert page.is_visible("text=no slot is free")
    exclusion.exclude(study.slots.first(), reason="asleep", author=None)
    page.reload()
    page.click("button:has-text('Add people')")
    page.wait_for_selector("text=link created")
    assert Invitation.objects.filter(annotator__name="A03").exists()
    link = page.locator(".link-field").last.input_value()
    guest = page.context.browser.new_page()
    guest.goto(link)
    assert "Consent" in guest.inner_text("main")
    guest.close()
    page.locator(".link-field").last.click()
    assert page.evaluate("getSelection().toString()") == link
    page.locator("summary:has-text('Change')").last.click()
    page.locator("summary:has-text('Revoke')").last.click()
    page.locator("button:has-text('Revoke A03')").click()
    page.wait_for_selector("text=was revoked")
    with page.expect_download() as table:
        page.click("text=All links and completion codes")
    assert table.value.suggested_filename == "trial-links.csv"


@pytest.mark.slow
def test_the_question_before_revoking_is_seen_whole(page, live_server, study):
    study.annotators.update(is_simulated=True, finished_at="2025-01-01T00:00Z")
    Invitation.objects.update(note="a visitor of the demo, from the laboratory")
    log_in(page, live_server)
    page.set_viewport_size({"width": 1440, "height": 900})
    page.goto(live_server.url + reverse("annotator-list", args=[study.slug]))
    page.locator("summary:has-text('Change')").last.click()
    page.locator("summary:has-text('Revoke')").last.click()
    button = page.locator("button:has-text('Revoke A02')")
    card, asked = page.locator("div.card").bounding_box(), button.bounding_box()
    assert asked["x"] + asked["width"] <= card["x"] + card["width"]


def test_closing_needs_a_second_click(page, live_server, study):
    log_in(page, live_server)
    page.goto(live_server.url + reverse("study-detail", args=[study.slug]))
    page.click("summary:has-text('Close')")
    study.refresh_from_db()
    assert study.state == "open"
    page.click("button:has-text('Close the study')")
    page.wait_for_selector("text=closed")
    study.refresh_from_db()
    assert study.state == "closed"


@pytest.mark.page_errors("(?s)Applying inline style.*/display/")
def test_from_a_list_through_its_slots_and_back(page, live_server, study):
    log_in(page, live_server)
    listed = reverse("slot-list", args=[study.slug]) + "?method=Alder"
    page.goto(live_server.url + listed)
    page.click("tbody a >> nth=0")
    expect(page.locator("a[rel=next]")).to_have_count(1)
    expect(page.locator("a[rel=prev]")).to_have_count(0)
    page.click("a[rel=next]")
    expect(page.locator("a[rel=prev]")).to_have_count(1)
    with page.context.expect_page() as opened:
        page.click(".strip a >> nth=0")
    opened.value.wait_for_load_state()
    assert opened.value.url.endswith("/display/")
    opened.value.close()
    page.click("text=Back to the list")
    page.wait_for_url(lambda url: url.endswith(listed))


@pytest.mark.slow
def test_coverage_refreshes_itself(page, live_server, study):
    log_in(page, live_server)
    page.goto(live_server.url + reverse("study-coverage", args=[study.slug]))
    assert "100 %" in page.inner_text(".figures")
    exclusion.exclude(study.slots.first(), reason="asleep", author=None)
    page.wait_for_function(
        "() => document.querySelector('.figures').innerText.includes('91 %')"
    )


@pytest.mark.slow
def test_a_refresh_moves_neither_the_focus_nor_the_table(page, live_server, study):
    log_in(page, live_server)
    page.set_viewport_size({"width": 220, "height": 740})
    page.goto(live_server.url + reverse("study-coverage", args=[study.slug]))
    cell = page.locator("td.heat a >> nth=1")
    cell.focus()
    page.evaluate("() => { document.querySelector('.heatmap').scrollLeft = 20; }")
    old = cell.element_handle()
    scrolled = page.evaluate("() => document.querySelector('.heatmap').scrollLeft")
    assert scrolled > 0
    exclusion.exclude(study.slots.last(), reason="asleep", author=None)
    page.wait_for_function("cell => !cell.isConnected", arg=old)
    assert cell.evaluate("cell => cell === document.activeElement")
    left = page.evaluate("() => document.querySelector('.heatmap').scrollLeft")
    assert left == scrolled


def test_a_lost_login_is_asked_for_on_a_page_of_its_own(page, live_server, study):
    log_in(page, live_server)
    page.goto(live_server.url + reverse("study-coverage", args=[study.slug]))
    page.context.clear_cookies()
    page.wait_for_url("**/login/?next=**")
    assert page.locator("h1").count() == 1


def test_the_report_draws_its_figures_and_asks_nobody(page, live_server, study):
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
    for i in range(plots.count()):  # drawn when they come into view
        plots.nth(i).scroll_into_view_if_needed()
        expect(plots.nth(i).locator(".main-svg").first).to_be_attached()
    # The browser itself looks for an icon; the page asks for nothing.
    own = [u for u in asked if not u.startswith(("data:", "blob:"))]
    assert [u for u in own if not u.endswith("icon.svg")] == [url]
    page.click("nav >> text=Reports")
    page.wait_for_url("**/reports/")
    assert page.is_visible("text=A new report")


PAGES = [
    "study-list",
    "study-detail",
    "study-coverage",
    "slot-list",
    "annotator-list",
    "study-scoring",
    "view-list",
    "report-list",
    "metric-list",
    "event-list",
    "study-extend",
    "study-redistribute",
]


def test_axe_finds_nothing_and_nothing_overflows(page, live_server, study):
    metric_runs.run(metric_runs.queue_run(study.benchmark, ["sharpness"]).pk)
    building.build_report(
        Report.objects.create(study=study, options={"resamples": 0}).pk
    )
    log_in(page, live_server)
    addresses = {
        name: reverse(
            name, args=[] if name in ("study-list", "metric-list") else [study.slug]
        )
        for name in PAGES
    }
    output = reverse("output-detail", args=[study.slug]) + "?story=01&method=Birch"
    addresses |= {
        "slot-detail": reverse(
            "slot-detail", args=[study.slug, study.slots.first().code]
        ),
        "output-detail": output,
    }
    for name, path in addresses.items():
        page.set_viewport_size({"width": 1440, "height": 900})
        page.goto(live_server.url + path)
        if name not in test_axe.PAGES:
            assert violations_of_both_themes(page) == [], path
        page.set_viewport_size({"width": 360, "height": 740})
        assert page.evaluate("document.documentElement.scrollWidth") <= 360, path
