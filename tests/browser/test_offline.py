"""Reloads without a network: the story comes back from a copy on the device."""

import pytest
from django.urls import reverse
from playwright.sync_api import Error, expect

from annotate.models import Rating, Slot
from annotate.people import inviting
from tests.browser.hands import DESK
from tests.browser.test_flow import LONG, fetched, judge, sit_down
from tests.browser.test_rate import OFFLINE, saved
from tests.browser.waiting import wait_until
from tests.factories import make_benchmark
from tests.working import make_planned

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

NO_COPY = "ERR_FAILED"  # what the service worker answers then
CHOSEN = "[...document.querySelectorAll('.question :checked')].map((one) => one.value)"
PICTURES = """() => [...document.querySelectorAll("#shots img")]
  .every((one) => one.naturalWidth > 0)"""
COPIES = """async () => {
  const names = await caches.keys();
  const all = names.map(async (name) => (await caches.open(name)).keys());
  return (await Promise.all(all)).flat().map(({ url }) => new URL(url).pathname);
}"""
IN_CONTROL = "() => navigator.serviceWorker.controller !== null"


@pytest.fixture
def page(chromium):
    """A desktop page whose service worker runs."""
    context = chromium.new_context(**DESK)
    yield context.new_page()
    context.close()


@pytest.fixture
def study():
    benchmark = make_benchmark(stories=8, methods=["Birch"])
    return make_planned(
        f"{LONG}presentation: {{comments: true}}\n", benchmark=benchmark, annotators=2
    )


def copied(page, *paths):
    """Wait until these pages are on the device."""
    wait_until(page, lambda: set(paths) <= set(page.evaluate(COPIES)), True)


def path_of(page):
    return page.evaluate("location.pathname")


@pytest.mark.page_errors(OFFLINE, NO_COPY)
def test_reload_offline_brings_story_and_answers_back(page, live_server, study):
    ann = sit_down(page, live_server, study)
    page.wait_for_function(IN_CONTROL)
    fetched(page, 3)
    link = reverse("rate-entry", args=[ann.invitation.token])
    copied(page, path_of(page), link)
    judge(page, "3")
    saved(page)  # the copy is older than this answer
    page.context.set_offline(True)
    judge(page, "1")
    page.reload()
    notice = page.get_by_text("You are offline. Your answers are kept on this device")
    expect(notice).to_be_visible()
    page.wait_for_selector("html.ready")
    wait_until(page, lambda: page.evaluate(CHOSEN), ["3", "1"])
    page.wait_for_function(PICTURES)
    page.goto(live_server.url + link)  # the link from the invitation
    wait_until(page, lambda: page.evaluate(CHOSEN), ["3", "1"])
    fetched(page, 2)
    judge(page, "Enter")  # stories that were fetched ahead can be rated, too
    expect(page.locator("#place")).to_contain_text("Story 2 of 4")
    page.wait_for_function(PICTURES)
    judge(page, "2")
    page.reload()
    expect(page.locator("#place")).to_contain_text("Story 2 of 4")
    wait_until(page, lambda: page.evaluate(CHOSEN), ["2"])
    fetched(page, 1)
    judge(page, "ArrowDown", "4", "Enter")
    expect(page.locator("#place")).to_contain_text("Story 3 of 4")
    page.context.set_offline(False)
    saved(page)
    done = ann.slots.filter(state=Slot.State.SUBMITTED).order_by("position")
    stored = [list(slot.ratings.values_list("value", flat=True)) for slot in done]
    assert [sorted(values) for values in stored] == [[1, 3], [2, 4]]
    assert Rating.objects.count() == 4
    page.reload()
    expect(page.locator("#place")).to_contain_text("Story 3 of 4")
    expect(notice).to_be_hidden()


@pytest.mark.slow
@pytest.mark.page_errors(OFFLINE, NO_COPY, "status of 410")
def test_copies_end_with_the_visit(page, live_server, study):
    """A shared computer shows nothing of an earlier person, offline either."""
    ann = sit_down(page, live_server, study)
    link = reverse("rate-entry", args=[ann.invitation.token])
    copied(page, path_of(page), link)
    judge(page, "3")
    saved(page)
    bob = sit_down(page, live_server, study, "A02")
    copied(page, path_of(page))
    assert not [path for path in page.evaluate(COPIES) if path.startswith(link)]
    given = page.evaluate("localStorage.getItem('plumbline-given')")
    assert given in (None, "{}")
    page.context.set_offline(True)
    with pytest.raises(Error, match="ERR_"):
        page.goto(live_server.url + link)
    page.context.set_offline(False)
    inviting.revoke(bob)
    page.goto(live_server.url + reverse("rate-entry", args=[bob.invitation.token]))
    expect(page.locator("h1")).to_contain_text("no longer valid")
    wait_until(page, lambda: page.evaluate(COPIES), [])
