"""Answers on their way to the server: slow, lost, refused, retried."""

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from annotate.assignment import choosing
from annotate.models import Annotator, Invitation, Rating, Slot, Study, User
from annotate.quality import exclusion
from annotate.responses import giving_back
from tests.browser.accessibility import violations
from tests.browser.waiting import wait_until
from tests.cases import slow
from tests.factories import make_study
from tests.working import join

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

ANSWERS = "**/save/"
OFFLINE = "ERR_INTERNET_DISCONNECTED"  # the error of any request
# The queued rows in the browser's database.
WAITING = """() => new Promise((resolve) => {
  indexedDB.open("plumbline").onsuccess = ({ target }) => {
    const rows = target.result.transaction("waiting").objectStore("waiting").getAll();
    rows.onsuccess = () => resolve(rows.result);
  };
})"""
# An answer to an earlier story.
LEAVE_ONE_BEHIND = """() => new Promise((resolve) => {
  indexedDB.open("plumbline").onsuccess = ({ target }) => {
    const written = target.result.transaction("waiting", "readwrite");
    written.objectStore("waiting").put({
      id: "a", key: "a", at: 1, kind: "answer", code: "elsewhere", question: "beauty",
      value: "1", url: "/rate/nobody/story/elsewhere/save/",
    });
    written.oncomplete = resolve;
  };
})"""


def address(live_server, study, name="A01"):
    token = Invitation.objects.get(annotator__study=study, annotator__name=name).token
    return live_server.url + reverse("rate-entry", args=[token])


def enter(page):
    """Press Enter on the focused button of a page without questions."""
    page.wait_for_function("() => document.activeElement.tagName === 'BUTTON'")
    page.keyboard.press("Enter")


def start(page, live_server, study):
    """Open the first story of an annotator who is ready to rate."""
    person = join(study, "A01")
    words = [person.invitation.token, choosing.next_for(person).slot.code]
    page.goto(live_server.url + reverse("rate-slot", args=words))
    page.wait_for_selector("html.ready")


def start_from_link(page, live_server, study):
    """Go from the link to the first story with Enter only."""
    page.goto(address(live_server, study))
    enter(page)
    page.wait_for_url("**/instructions/")
    enter(page)
    page.wait_for_url("**/story/**")
    page.wait_for_selector("html.ready")


def answer_with(page, handler):
    """Let `handler` intercept answers; call it before `start`.

    On an open page, Chromium starts interception with a delay, and a request could
    slip through. After it ends, Playwright may miss a reply; no test waits for one.
    """
    page.route(ANSWERS, handler)


def saved(page):
    page.wait_for_function(
        "() => document.getElementById('save-state').classList.contains('good')"
    )


def finish_by_keyboard(page, keys):
    """Answer all stories up to the completion code; return their number."""
    for stories in range(1, 100):
        for key in keys:
            page.keyboard.press(key)
        before = page.url
        page.keyboard.press("Enter")
        page.wait_for_function("url => location.href !== url", arg=before)
        if page.url.endswith("/pause/"):
            enter(page)
            page.wait_for_url("**/story/**")
        if page.url.endswith("/done/"):
            return stories
        page.wait_for_selector("html.ready")
    pytest.fail("there is no end to the stories")


def test_likert_study_works_by_keyboard(page, live_server):
    study = make_study(annotators=1)
    start_from_link(page, live_server, study)
    assert finish_by_keyboard(page, ["3", "1"]) == 6
    ann = study.annotators.get()
    assert page.inner_text(".completion-code") == ann.completion_code
    assert ann.state == Annotator.State.FINISHED
    values = Rating.objects.filter(is_current=True).values_list(
        "question__key", "value"
    )
    assert sorted(values) == [("aesthetics", 1)] * 6 + [("character", 3)] * 6
    assert Slot.objects.exclude(seconds__gt=0, seconds__lt=60).count() == 0


@pytest.mark.slow
def test_time_before_a_reload_counts(page, live_server):
    study = make_study(annotators=1)
    start(page, live_server, study)
    page.wait_for_timeout(1500)
    page.reload()
    page.wait_for_selector("html.ready")
    first = page.url
    for key in ("3", "3", "Enter"):
        page.keyboard.press(key)
    page.wait_for_url(lambda url: url != first)
    wait_until(page, study.slots.filter(state="submitted").count, 1)
    done = study.slots.get(state="submitted")
    assert done.claimed_seconds >= 1.5
    assert done.seconds == done.claimed_seconds


def test_slow_old_answer_does_not_overtake_the_submitted_one(page, live_server):
    held = []

    def hold_the_first(route):
        if held:
            route.continue_()
        else:
            held.append(route)

    answer_with(page, hold_the_first)
    start(page, live_server, make_study(annotators=1))
    first = page.url
    with page.expect_request(ANSWERS):
        page.keyboard.press("1")  # in transit
    page.keyboard.press("ArrowUp")
    page.keyboard.press("4")  # changed
    page.keyboard.press("3")
    page.keyboard.press("Enter")
    page.wait_for_timeout(300)
    assert page.url == first
    held[0].continue_()
    page.wait_for_url(lambda url: url != first)
    wait_until(page, Slot.objects.filter(state="submitted").count, 1)
    assert Rating.objects.get(question__key="character", is_current=True).value == 4


@pytest.mark.page_errors(r"status of 4\d\d .*/save/", "405 .*/story/")
@pytest.mark.parametrize(
    ("status", "body", "told"),
    [
        (403, {"error": "The study is paused."}, "is paused"),
        pytest.param(403, None, "could not be saved", marks=pytest.mark.slow),
    ],
)
def test_refused_answer_is_shown_and_sent_again_by_enter(
    page, live_server, status, body, told
):
    asked = []

    def refuse(route):
        asked.append(route.request.url)
        if body:
            route.fulfill(status=status, json=body)
        else:
            route.fulfill(status=status, body="<h1>No</h1>", content_type="text/html")

    answer_with(page, refuse)
    start(page, live_server, make_study(annotators=1))
    page.keyboard.press("2")
    expect(page.locator("#problem")).to_contain_text(told)
    expect(page.locator("#problem")).to_be_in_viewport()
    expect(page.locator("#save-state")).to_have_text("Not saved")
    # An HTML reply may mean an old CSRF token, so a new one is tried once.
    times = 1 if body else 2
    wait_until(page, lambda: len(asked), times)
    page.wait_for_timeout(1500)
    assert len(asked) == times
    page.unroute(ANSWERS)
    first = page.url
    page.keyboard.press("3")
    saved(page)
    assert page.is_hidden("#problem")
    page.keyboard.press("Enter")
    page.wait_for_url(lambda url: url != first)
    saved(page)
    assert sorted(Rating.objects.values_list("question__key", "value")) == [
        ("aesthetics", 3),
        ("character", 2),
    ]


@pytest.mark.slow
@pytest.mark.page_errors("404 .*/story/")
def test_answer_to_a_lost_story_is_reported_once(page, live_server):
    start(page, live_server, make_study(annotators=2))
    page.wait_for_function("() => Number(document.body.dataset.ahead) >= 1")
    slot = Slot.objects.select_related("annotator__study").get(state="leased")
    giving_back.skip(slot, slot.annotator, reason="unclear")  # in another tab
    page.keyboard.press("2")
    expect(page.locator("#problem")).to_have_text(
        "This story is now assigned to somebody else."
    )
    page.keyboard.press("2")
    page.keyboard.press("Enter")
    expect(page.locator("#problem")).to_have_text(
        "Earlier story: This story is now assigned to somebody else."
    )
    wait_until(page, lambda: page.evaluate(WAITING), [])
    page.reload()
    expect(page.locator("#problem")).to_be_hidden()


@pytest.mark.slow
@pytest.mark.page_errors("404 .*/elsewhere/save/")
def test_refused_row_does_not_block_later_stories(page, live_server):
    start(page, live_server, make_study(annotators=1))
    page.evaluate(LEAVE_ONE_BEHIND)
    with page.expect_response("**/elsewhere/save/"):
        page.keyboard.press("3")
    saved(page)
    page.wait_for_timeout(500)
    saved(page)
    assert page.is_hidden("#problem")
    assert len(page.evaluate(WAITING)) == 1, "it is offered again later"


@pytest.mark.slow
@pytest.mark.page_errors("ERR_FAILED .*/save/", "403 .*/story/")
def test_answers_of_an_earlier_story_wait_while_study_is_paused(page, live_server):
    replies = []

    def refuse_when_paused(route):
        if not Study.objects.filter(state="paused").exists():
            return route.abort()
        reply = route.fetch()
        replies.append(reply.status)
        return route.fulfill(response=reply)

    answer_with(page, refuse_when_paused)
    start(page, live_server, make_study(annotators=1))
    page.wait_for_function("() => document.body.dataset.ahead > 0")
    first = page.url
    for key in ("3", "3", "Enter"):
        page.keyboard.press(key)
    page.wait_for_url(lambda url: url != first)
    Study.objects.update(state="paused")
    wait_until(page, lambda: replies[:1], [403])
    page.wait_for_timeout(300)  # the test waits for no absent message
    expect(page.locator("#save-state")).to_contain_text("Waiting")
    assert page.is_hidden("#problem"), "it is another story's"
    assert not Rating.objects.exists()
    page.unroute(ANSWERS)
    Study.objects.update(state="open")
    page.keyboard.press("2")
    saved(page)
    assert Rating.objects.count() == 3


@pytest.mark.slow
def test_page_reports_answers_that_cannot_be_queued(page, live_server):
    start(page, live_server, make_study(annotators=1))
    page.evaluate(
        """() => { IDBObjectStore.prototype.put = () => {
          throw new DOMException("The disk is full.", "QuotaExceededError"); }; }"""
    )
    page.keyboard.press("3")
    expect(page.locator("#save-state")).to_have_class("badge bad")
    expect(page.locator("#problem")).to_be_visible()
    page.reload()
    assert page.locator("input:checked").count() == 0, "as the page says"


@pytest.mark.slow
@pytest.mark.page_errors("403 .*/story/")
def test_paused_study_is_reported_without_endless_requests(page, live_server):
    study = make_study(annotators=1)
    start(page, live_server, study)
    Study.objects.update(state="paused")
    page.keyboard.press("2")
    page.keyboard.press("2")
    page.wait_for_selector("#problem:not([hidden])")
    first = page.url
    with page.expect_response(lambda r: '"submit"' in (r.request.post_data or "")):
        page.keyboard.press("Enter")
    told = "The study is not accepting answers at the moment."
    expect(page.locator("#problem:not([hidden])")).to_have_text(told)
    assert page.url == first
    assert not Rating.objects.exists()
    Study.objects.update(state="open")
    page.keyboard.press("Enter")
    page.wait_for_url(lambda url: url != first)
    wait_until(page, Rating.objects.count, 2)


@pytest.mark.page_errors("status of (503|429) .*/save/")
@pytest.mark.parametrize("reply", [(503, ""), *slow((200, '{"refu'), (429, ""))])
def test_temporary_server_error_is_retried(page, live_server, reply):
    status, body = reply
    failed = []

    def fail_once(route):
        if failed:
            route.continue_()
        else:
            failed.append(route)
            route.fulfill(status=status, body=body, content_type="application/json")

    answer_with(page, fail_once)
    start(page, live_server, make_study(annotators=1))
    page.keyboard.press("2")
    saved(page)
    assert failed
    assert Rating.objects.get().value == 2


@pytest.mark.page_errors("403 .*/save/", "405 .*/story/")
@pytest.mark.parametrize("before", ["2", *slow("", "23")])
def test_login_in_another_tab_refuses_no_answer(page, live_server, before):
    start(page, live_server, make_study(annotators=1))
    for key in before:
        page.keyboard.press(key)
        saved(page)
    User.objects.create_user("carol", password="not-a-secret")
    other = page.context.new_page()
    other.goto(live_server.url + reverse("login"))
    other.fill("input[name=username]", "carol")
    other.fill("input[name=password]", "not-a-secret")
    other.keyboard.press("Enter")
    other.wait_for_url("**/studies/")
    for key in "23"[len(before) :]:
        page.keyboard.press(key)
        saved(page)
    first = page.url
    page.keyboard.press("Enter")
    page.wait_for_url(lambda url: url != first)
    wait_until(page, Slot.objects.filter(state="submitted").count, 1)
    assert Slot.objects.get(state="submitted").ratings.count() == 2


@pytest.mark.slow
def test_held_key_answers_one_question(page, live_server):
    start(page, live_server, make_study(annotators=1))
    page.keyboard.down("3")
    page.keyboard.down("3")
    page.keyboard.down("3")
    page.keyboard.up("3")
    saved(page)
    assert Rating.objects.get().question.key == "character"
    page.keyboard.down("ArrowRight")
    page.keyboard.down("ArrowRight")
    page.keyboard.up("ArrowRight")
    assert page.is_visible("#shot-3")


@pytest.mark.page_errors("ERR_FAILED .*/save/")
def test_leaving_with_unsaved_answer_asks_for_confirmation(page, live_server):
    answer_with(page, lambda route: route.abort())
    start(page, live_server, make_study(annotators=1))
    page.keyboard.press("2")
    asked = []
    page.on("dialog", lambda dialog: (asked.append(dialog.type), dialog.accept()))
    page.wait_for_selector("#save-state.warn")
    page.goto(address(live_server, Study.objects.get()))
    assert asked == ["beforeunload"]


@pytest.mark.slow
@pytest.mark.page_errors("404 .*/story/")
def test_lost_story_continues_by_enter(page, live_server):
    study = make_study(annotators=1)
    start(page, live_server, study)
    first = page.url
    for key in ("3", "3", "Enter"):
        page.keyboard.press(key)
    page.wait_for_url(lambda url: url != first)
    wait_until(page, study.slots.filter(state="submitted").count, 1)
    exclusion.exclude(study.slots.get(position=1), reason="x", author=None)
    page.goto(first)
    expect(page.locator("h1")).to_have_text("This story is no longer assigned to you")
    assert violations(page) == []
    expect(page.locator("main a.button")).to_be_focused()
    page.keyboard.press("Enter")
    page.wait_for_url("**/pause/")


@pytest.mark.slow
@pytest.mark.parametrize(("width", "height"), [(1440, 500), (1440, 900), (390, 844)])
def test_missing_answers_are_shown_in_sight(page, live_server, width, height):
    page.set_viewport_size({"width": width, "height": height})
    start(page, live_server, make_study(annotators=1))
    page.keyboard.press("ArrowDown")
    page.keyboard.press("2")
    saved(page)
    page.focus("#submit")
    page.keyboard.press("Enter")
    problem = page.locator("#problem")
    expect(problem).to_contain_text("Character")
    expect(problem).to_be_in_viewport(ratio=1)
    expect(page.locator(".question.current .option").last).to_be_in_viewport(ratio=1)
    covered = page.evaluate(
        """() => document.querySelector("#problem").getBoundingClientRect().top <
          document.querySelector(".question.current").getBoundingClientRect().bottom"""
    )
    assert not covered


@pytest.mark.page_errors("403 .*/save/")
def test_refused_answer_does_not_replace_a_newer_one(page, live_server):
    held = []
    answer_with(page, lambda route: route.continue_() if held else held.append(route))
    start(page, live_server, make_study(annotators=1))
    with page.expect_request(ANSWERS):
        page.keyboard.press("3")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("4")
    wait_until(page, lambda: [row["value"] for row in page.evaluate(WAITING)], ["4"])
    held[0].fulfill(status=403, json={"error": "having a break"})
    saved(page)
    assert Rating.objects.get().value == 4


@pytest.mark.slow
@pytest.mark.page_errors("ERR_FAILED .*/save/")
def test_delayed_answer_does_not_replace_a_newer_one(page, live_server):
    """The browser gave the request up, but the network still delivers it."""
    held = []
    answer_with(page, lambda route: route.continue_() if held else hold(route))

    def hold(route):
        held.append(route.request)
        route.abort()

    start(page, live_server, make_study(annotators=1))
    with page.expect_request(ANSWERS):
        page.keyboard.press("3")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("4")
    saved(page)
    late = page.request.post(
        held[0].url, data=held[0].post_data, headers=held[0].headers
    )
    assert late.json()["refused"] == {}
    assert Rating.objects.get(is_current=True).value == 4
