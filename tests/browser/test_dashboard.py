"""The dashboard in Chromium: what one sees, keyboard, phone, and how it stays live."""

import pytest
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import expect

from annotate.coverage import snapshots
from annotate.models import StudyMember, User
from annotate.quality import exclusion, follow_up
from annotate.responses import leasing
from tests.browser.accessibility import violations_of_both_themes
from tests.cases import slow
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


def address(live_server, study, name="study-coverage"):
    return live_server.url + reverse(name, args=[study.slug])


def has_no_faults(page):
    assert violations_of_both_themes(page) == [], page.url


def busy_study():
    """A study at work, with somebody warned, somebody paused, and a skipped story."""
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


def test_axe_finds_nothing_and_nothing_overflows(page, live_server):
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


def test_the_first_sight_tells_how_far_until_when_and_what_is_wrong(page, live_server):
    study = busy_study()
    log_in(page, live_server, study)
    page.goto(address(live_server, study))
    shown = page.inner_text(".figures").lower()
    assert "expected end" in shown
    assert "more sessions needed" in shown
    alerts = page.locator(".alert")
    expect(alerts).to_have_count(4)
    expect(alerts.first).to_contain_text("several people skipped it")
    for place in (page.locator(".alert").first, page.locator(".figures")):
        assert place.bounding_box()["y"] < 900
    expect(page.locator("tr:has-text('A03') .badge.warn")).to_have_text("warning")


def test_settling_and_resuming_by_keyboard(page, live_server):
    study = busy_study()
    log_in(page, live_server, study)
    page.goto(address(live_server, study))
    paused = study.annotators.get(state="paused")
    page.focus(f"#act-{paused.pk} summary")
    page.keyboard.press("Enter")
    page.focus(f"#resume-{paused.pk}")
    page.keyboard.press("Enter")
    page.wait_for_selector("text=may go on")
    paused.refresh_from_db()
    assert paused.state == "active"
    page.click("button:has-text('Settle') >> nth=0")
    page.wait_for_selector("text=is settled")


def test_news_appear_and_leave_focus_menus_and_scrolling_alone(page, live_server):
    study = busy_study()
    log_in(page, live_server, study)
    page.set_viewport_size({"width": 390, "height": 740})
    page.goto(address(live_server, study))
    person = study.annotators.get(name="A01")
    page.locator("#arrivals-table summary").click()
    page.locator(f"#act-{person.pk}").evaluate("one => { one.open = true; }")
    page.focus(f"#revoke-{person.pk} summary")
    page.evaluate("document.querySelector('.people').scrollLeft = 120")
    before = page.evaluate("scrollY")
    old = page.locator(".figures").element_handle()
    exclusion.exclude(
        study.slots.filter(state="submitted").first(), reason="asleep", author=None
    )
    page.wait_for_function("old => !old.isConnected", arg=old)
    expect(page.locator(".figures")).to_contain_text("excluded")
    focused = f"document.activeElement.parentElement.id === 'revoke-{person.pk}'"
    assert page.evaluate(focused)
    assert page.locator(f"#act-{person.pk}").get_attribute("open") is not None
    assert page.locator("#arrivals-table").get_attribute("open") is not None
    assert page.evaluate("document.querySelector('.people').scrollLeft") == 120
    assert abs(page.evaluate("scrollY") - before) < 60


@pytest.mark.parametrize("width", [390, *slow(1440)])
def test_the_menu_lies_above_the_table_and_closes(page, live_server, width):
    study = busy_study()
    log_in(page, live_server, study)
    page.set_viewport_size({"width": width, "height": 800})
    page.goto(address(live_server, study))
    first, last = study.annotators.get(name="A01"), study.annotators.get(name="A06")
    table = page.locator(".people table")
    before = table.bounding_box()
    for person in (first, last):
        page.click(f"#act-{person.pk} > summary")
        panel = page.locator(f"#act-{person.pk} > .stack")
        expect(panel).to_be_visible()
        assert table.bounding_box()["height"] == before["height"]
        page.click(f"#revoke-{person.pk} summary")
        # It is placed anew after it has grown.
        page.wait_for_function(
            """([panel, width, height]) => {
              const { right, bottom } = panel.getBoundingClientRect();
              return right <= width && bottom <= height;
            }""",
            arg=[panel.element_handle(), width, 800],
        )
        box = panel.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
        assert box["y"] >= 0
        assert box["y"] + box["height"] <= 800
    expect(page.locator(".menu[open]")).to_have_count(1)
    page.keyboard.press("Escape")
    expect(page.locator(".menu[open]")).to_have_count(0)
    focused = f"document.activeElement.parentElement.id === 'act-{last.pk}'"
    assert page.evaluate(focused)
    page.keyboard.press("Enter")
    expect(page.locator(".menu[open]")).to_have_count(1)
    page.click("h1")
    expect(page.locator(".menu[open]")).to_have_count(0)


def test_on_a_phone_nothing_that_matters_is_out_of_sight(page, live_server):
    study = busy_study()
    log_in(page, live_server, study)
    page.set_viewport_size({"width": 390, "height": 800})

    def ends_in_sight(place):
        box = page.locator(place).first.bounding_box()
        assert box["x"] + box["width"] <= 390, place

    page.goto(live_server.url + reverse("study-list"))
    ends_in_sight("td:has(a[href$='/coverage/'])")
    page.goto(address(live_server, study))
    for place in (".axis span >> nth=0", ".axis span >> nth=2"):
        ends_in_sight(place)
        assert page.locator(place).bounding_box()["height"] < 30
    tops = [page.locator(f".axis span >> nth={n}").bounding_box()["y"] for n in (0, 2)]
    assert tops[0] == tops[1]
    slot = study.slots.filter(state="submitted").first()
    own = reverse("slot-detail", args=[study.slug, slot.code])
    page.goto(live_server.url + own)
    for nth in (1, 2, 3):
        ends_in_sight(f".answers tr:first-child td:nth-child({nth})")
    page.goto(address(live_server, study, "event-list"))
    ends_in_sight(".log td.words")
    for name in ("event-list", "slot-list", "view-list", "study-detail"):
        page.goto(address(live_server, study, name))
        has_no_faults(page)
    page.goto(live_server.url + own)
    has_no_faults(page)
    page.goto(address(live_server, study))
    page.locator(".menu summary").first.click()
    has_no_faults(page)


@pytest.mark.slow
def test_a_page_without_news_is_left_as_it_is(page, live_server):
    study = running_study(timezone.now())
    log_in(page, live_server, study)
    page.goto(address(live_server, study))
    old = page.locator(".figures").element_handle()
    with page.expect_response(lambda answer: "since=" in answer.url) as asked:
        pass
    assert asked.value.status == 204
    assert old.evaluate("one => one.isConnected")


def test_from_a_folded_map_down_to_a_slot(page, live_server):
    study = make_study(
        annotators=1, benchmark=make_benchmark(stories=45, pictures=False)
    )
    log_in(page, live_server, study)
    page.goto(address(live_server, study))
    page.click("td.heat a >> nth=1")
    expect(page.locator(".heatmap thead th >> text=07")).to_be_visible()
    page.click("td.heat a >> nth=1")
    page.wait_for_url("**/slots/?**")
    expect(page.locator("tbody tr")).to_have_count(1)


@pytest.mark.parametrize(
    ("width", "hand"),
    [(390, "finger"), pytest.param(1440, "mouse", marks=pytest.mark.slow)],
)
def test_from_the_alert_to_giving_the_work_away(chromium, live_server, width, hand):
    """Two people vanished with all that is left: no date, one alert, one click."""
    study = study_with_vanished(timezone.now())
    context = chromium.new_context(
        viewport={"width": width, "height": 900}, has_touch=hand == "finger"
    )
    page = context.new_page()
    log_in(page, live_server, study)
    page.goto(address(live_server, study))
    assert "expected end" not in page.inner_text("#coverage").lower()
    expect(page.locator(".outlook")).to_contain_text(
        "all 25 slots that are left wait for people who are not at work (A01, A02)"
    )
    alert = page.locator(".alert")
    expect(alert).to_have_count(1)
    expect(alert).to_contain_text("A01: 13 (last seen")
    expect(alert).to_contain_text("A02: 12 (last seen")
    link = alert.locator("a:has-text('Give open work to others')")
    expect(link).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    link.click() if hand == "mouse" else link.tap()
    page.wait_for_url("**/redistribute/**")
    chosen = page.locator("input[name=annotator]:checked")
    assert [box.input_value() for box in chosen.all()] == ["A01", "A02"]
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    has_no_faults(page)
    context.close()
