"""The dashboard in Chromium: keyboard, touch, live updates."""

import re

import pytest
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import expect

from annotate.coverage import snapshots
from annotate.models import StudyMember, User
from annotate.quality import exclusion, follow_up
from annotate.responses import leasing
from evalcore.serving import workers
from tests.browser.accessibility import violations_of_both_themes
from tests.factories import make_benchmark, make_study
from tests.studies import flag, running_study, set_aside, study_with_vanished

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def log_in(page, live_server, *studies):
    user = User.objects.create_user("alice", password="not-a-secret")
    for study in studies:
        StudyMember.objects.create(study=study, user=user, role="manager")
    page.goto(live_server.url + reverse("login"))
    page.fill("input[name=username]", "alice")
    page.fill("input[name=password]", "not-a-secret")
    page.keyboard.press("Enter")
    page.wait_for_url("**/studies/")


def address(live_server, study, name="study-detail"):
    return live_server.url + reverse(name, args=[study.slug])


def has_no_faults(page):
    assert violations_of_both_themes(page) == [], page.url


def busy_study():
    """Create a running study with a warned and a paused annotator and a skip."""
    now = timezone.now()
    study = running_study(now)
    people = list(study.annotators.order_by("name"))
    flag(people[2], "warn", "gold: 40 % right of 20, at least 60 % are wanted")
    flag(people[3], "pause", "seconds per unit: 6 s, at least 10 s are wanted")
    follow_up.pause(people[3])
    set_aside(study, now)
    slot = people[0].slots.filter(state="open").order_by("position").first()
    leasing.take(slot, people[0])
    snapshots.refresh(study)
    return study


@pytest.mark.slow
def test_pages_are_accessible_and_do_not_overflow(page, live_server):
    busy = busy_study()
    stalled = running_study(timezone.now(), slug="stalled", quiet_days=4)
    empty = make_study(slug="empty", benchmark=make_benchmark(slug="bare", stories=45))
    pairs = make_study(
        slug="pairs", benchmark=make_benchmark(slug="two"), kind="choice"
    )
    studies = (busy, stalled, empty, pairs)
    log_in(page, live_server, *studies)
    pages = [address(live_server, study) for study in studies]
    for url in [*pages, address(live_server, busy, "event-list")]:
        page.set_viewport_size({"width": 1440, "height": 900})
        page.goto(url)
        for closed in page.locator("#coverage details").all():
            closed.evaluate("one => { one.open = true; }")
        has_no_faults(page)
        for width in (360, 390):
            page.set_viewport_size({"width": width, "height": 740})
            assert page.evaluate("document.documentElement.scrollWidth") <= width, url


def test_alerts_are_handled_by_keyboard(page, live_server):
    study = busy_study()
    log_in(page, live_server, study)
    page.goto(address(live_server, study))
    paused = study.annotators.get(state="paused")
    page.focus(f"#act-{paused.pk} summary")
    page.keyboard.press("Enter")
    page.focus(f"#annotator-action-{paused.study.slug}-{paused.pk}-resume")
    page.keyboard.press("Enter")
    page.wait_for_selector("text=can continue")
    paused.refresh_from_db()
    assert paused.state == "active"
    page.click("button:has-text('Mark as handled') >> nth=0")
    page.wait_for_selector(".notice:has-text('marked as handled')")


def test_refresh_keeps_focus_menus_and_scrolling(page, live_server):
    study = busy_study()
    log_in(page, live_server, study)
    page.set_viewport_size({"width": 390, "height": 740})
    page.goto(address(live_server, study))
    person = study.annotators.get(name="A01")
    page.locator("#time > summary").click()
    page.locator("#arrivals-table summary").click()
    page.locator(f"#act-{person.pk}").evaluate("one => { one.open = true; }")
    page.focus(f"#revoke-{person.pk} summary")
    scrolled = "document.querySelector('#agreement-scroll').scrollLeft"
    page.evaluate(f"{scrolled} = 120")
    before = page.evaluate("scrollY")
    old = page.locator(".figures").element_handle()
    exclusion.exclude(
        study.slots.filter(state="submitted").first(), reason="asleep", author=None
    )
    page.wait_for_function("old => !old.isConnected", arg=old)
    expect(page.locator(".parts")).to_contain_text("left out")
    focused = f"document.activeElement.parentElement.id === 'revoke-{person.pk}'"
    assert page.evaluate(focused)
    assert page.locator(f"#act-{person.pk}").get_attribute("open") is not None
    assert page.locator("#arrivals-table").get_attribute("open") is not None
    assert page.evaluate(scrolled) == 120
    assert abs(page.evaluate("scrollY") - before) < 120  # the top lines have changed


@pytest.mark.parametrize(
    ("width", "hand"),
    [(390, "finger"), pytest.param(1440, "mouse", marks=pytest.mark.slow)],
)
def test_alert_reassigns_work_by_one_press(chromium, live_server, width, hand):
    """Two annotators disappeared with 25 slots: one alert, one press."""
    study = study_with_vanished(timezone.now(), others_left=1)
    workers.sign(workers.KINDS)
    context = chromium.new_context(
        viewport={"width": width, "height": 900}, has_touch=hand == "finger"
    )
    page = context.new_page()
    log_in(page, live_server, study)
    page.goto(address(live_server, study))
    alert = page.locator(".alert:has-text('have been away')")
    expect(alert).to_contain_text("A01: 13 (last seen")
    expect(alert).to_contain_text("A02: 12 (last seen")
    give = alert.get_by_role("button", name="Give work to others")
    expect(give).to_be_in_viewport()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    alert.locator("summary:has-text('Copy a reminder')").click()
    link = study.annotators.get(name="A02").invitation.token
    expect(alert.locator("textarea")).to_have_value(re.compile(f"A02: http.*/{link}/"))
    has_no_faults(page)
    give.click() if hand == "mouse" else give.tap()
    expect(page.locator(".notice.success")).to_contain_text("Given to others.")
    expect(alert).to_have_count(0)
    context.close()


@pytest.mark.slow
def test_header_is_one_line_and_a_menu_on_phones(page, live_server):
    study = make_study(benchmark=make_benchmark(slug="two"))
    log_in(page, live_server, study)
    page.set_viewport_size({"width": 390, "height": 740})
    page.goto(address(live_server, study, "event-list"))
    assert page.locator(".topbar").bounding_box()["height"] < 60
    expect(page.get_by_role("link", name="Benchmarks")).to_be_hidden()
    page.focus(".topbar-more")
    page.keyboard.press("Enter")
    page.get_by_role("link", name="Benchmarks").focus()
    expect(page.get_by_role("link", name="Benchmarks")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("link", name="Benchmarks")).to_be_hidden()
    page.set_viewport_size({"width": 1280, "height": 720})
    expect(page.get_by_role("link", name="Benchmarks")).to_be_visible()
    expect(page.locator(".topbar-more")).to_be_hidden()
    tabs = page.locator(".tabs a[aria-current]").all_inner_texts()
    assert tabs == ["Settings", "Log"]
