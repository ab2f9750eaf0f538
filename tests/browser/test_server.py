"""The page of the server in Chromium: seen, by keyboard, and as it refreshes."""

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import expect

from annotate.models import Report, User
from evalcore.models import Worker
from evalcore.scoring import metric_runs
from tests.browser.accessibility import violations_of_both_themes
from tests.factories import make_study
from tests.people import answer_everything

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def server(page, live_server):
    """The page of a server on which something of everything is wrong."""
    study = make_study()
    answer_everything(study)
    study.slots.update(submitted_at=timezone.now() - timedelta(minutes=5))
    now = timezone.now()
    Report.objects.create(study=study, created_at=now - timedelta(minutes=20))
    Report.objects.create(
        study=study, state="failed", finished_at=now, error="Nobody has answered."
    )
    metric_runs.queue_run(study.benchmark, ["sharpness"])
    Worker.objects.create(kind="cpu", restart_at=now + timedelta(minutes=1))
    Worker.objects.create(kind="gpu", seen_at=now + timedelta(hours=1))
    User.objects.create_superuser("sue", password="not-a-secret")
    page.goto(live_server.url + reverse("login"))
    page.fill("input[name=username]", "sue")
    page.fill("input[name=password]", "not-a-secret")
    page.keyboard.press("Enter")
    page.get_by_role("link", name="Server").click()
    page.wait_for_url("**/server/")
    return page


def test_axe_finds_nothing_and_nothing_overflows(server):
    expect(server.locator(".alert")).to_have_count(3)
    for width in (1440, 360):
        server.set_viewport_size({"width": width, "height": 800})
        assert server.evaluate("document.documentElement.scrollWidth") <= width
    assert violations_of_both_themes(server) == []


def test_what_failed_is_built_again_by_keyboard_after_a_refresh(server):
    button = server.get_by_role("button", name="Build again")
    button.focus()
    before = server.input_value("#server-state")
    Worker.objects.filter(kind="cpu").update(seen_at=timezone.now(), restart_at=None)
    expect(server.locator("#server-state")).not_to_have_value(before)
    expect(button).to_be_focused()
    server.keyboard.press("Enter")
    server.wait_for_url("**/studies/trial/reports/")
    assert Report.objects.filter(state="queued").count() == 2
