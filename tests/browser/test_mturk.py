"""A worker of Mechanical Turk, whose site shows the study in a frame of another origin.

The test answers for Amazon's sites, so that the browser's own rules about frames,
cookies and forms of other origins are at work.
"""

from urllib.parse import parse_qs

import pytest
from playwright.sync_api import expect

from tests.annotate.people.mturk import MTURK, Worker
from tests.annotate.people.prolific import code_of, places_of, recruiting_study
from tests.cases import slow

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
TASK = "https://worker.mturk.com/projects/X/tasks/Y"


def show(page, address: str):
    """Show an address as Mechanical Turk does, and return its frame."""
    body = f'<h1>Task</h1><iframe width="1200" height="700" src="{address}"></iframe>'
    page.unroute(TASK)
    page.route(TASK, lambda route: route.fulfill(content_type="text/html", body=body))
    page.goto(TASK)
    return page.frame_locator("iframe")


# Without cookies, a story that was fetched ahead cannot be looked at before its turn.
@pytest.mark.page_errors("Blocked autofocusing", "404 .*ahead=", "frame-ancestors")
@pytest.mark.parametrize("keeps_cookies", [*slow(True), False])
def test_worker_goes_from_preview_to_submission_in_a_frame(
    page, live_server, settings, keeps_cookies
):
    """Without `Secure`, browsers keep no cookie of a page framed by another site."""
    settings.SESSION_COOKIE_SECURE = keeps_cookies
    page.set_default_timeout(6000)
    page.context.grant_permissions(["local-network-access"])  # its server is here
    study, link = recruiting_study(2, MTURK, redundancy=4)
    worker = Worker(link)
    taken = []

    def take(route) -> None:
        taken.append(parse_qs(route.request.post_data))
        route.fulfill(status=302, headers={"Location": TASK})

    page.route("https://workersandbox.mturk.com/mturk/externalSubmit", take)
    frame = show(page, live_server.url + worker.preview)
    expect(frame.get_by_text("This is a preview")).to_be_visible()
    assert places_of(link) == (0, 0)
    frame = show(page, live_server.url + worker.address)
    frame.get_by_role("button", name="Take part").click()
    frame.get_by_role("button", name="I agree and continue").click()
    expect(frame.get_by_role("button", name="Start")).to_be_visible()
    # The worker reloads Amazon's page, and is at the same place.
    frame = show(page, live_server.url + worker.address)
    frame.get_by_role("button", name="Start").click()
    for number in ("1", "2"):
        expect(frame.locator("header")).to_contain_text(f"Story {number} of 2")
        expect(frame.locator("html.ready")).to_be_attached()
        for key in ("3", "1", "Enter"):
            frame.locator("body").press(key)
    expect(
        frame.get_by_role("button", name="Submit on Mechanical Turk")
    ).to_be_visible()
    with page.expect_request_finished(lambda one: "externalSubmit" in one.url):
        frame.get_by_role("button", name="Submit on Mechanical Turk").click()
    (fields,) = taken
    assert fields == {
        "assignmentId": [worker.session],
        "outcome": ["completed"],
        "code": [code_of(study, "completed")],
    }
    cookies = [one["name"] for one in page.context.cookies()]
    assert bool([one for one in cookies if "annotator" in one]) == keeps_cookies
    assert places_of(link) == (1, 1)
    elsewhere = "https://evil.example/"
    inside = (
        f'<iframe src="{live_server.url}{worker.browser.address("done")}"></iframe>'
    )
    page.route(
        elsewhere, lambda route: route.fulfill(content_type="text/html", body=inside)
    )
    page.goto(elsewhere)
    assert page.frame_locator("iframe").locator(".completion-code").count() == 0
