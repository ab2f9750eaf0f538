"""Moving between stories: prefetched, offline, after crashes, in several tabs."""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from annotate.audit_log.verifying import problems
from annotate.models import Fault, Invitation, Rating, Slot
from tests import chromium_build
from tests.browser.hands import MOUSE_OR_FINGER, Finger
from tests.browser.test_rate import OFFLINE, saved
from tests.browser.waiting import SECONDS, stop_time, wait_until
from tests.cases import named_cases, slow
from tests.factories import make_benchmark, make_study
from tests.working import LIKERT, join, make_planned

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

LONG = f"{LIKERT}\nredundancy: 1\nsession_size: 8\n"
OPEN = f"{LONG}\nassignment: open\n"


@pytest.fixture
def study():
    return make_planned(
        LONG, benchmark=make_benchmark(stories=8, methods=["Birch"]), annotators=1
    )


def sit_down(page, live_server, study, name="A01"):
    """Open an annotator's first story."""
    person = join(study, "" if study.is_open else name)
    token = Invitation.objects.get(annotator=person).token
    page.goto(live_server.url + reverse("rate-pause", args=[token]))
    page.click("main button.primary")
    page.wait_for_selector("html.ready")
    return person


def fetched(page, number):
    """Wait until a number of stories are prefetched."""
    page.wait_for_function("n => Number(document.body.dataset.ahead) >= n", arg=number)


def judge(page, *keys):
    for key in keys or ("3", "1", "Enter"):
        page.keyboard.press(key)


@pytest.mark.page_errors(OFFLINE)
def test_next_story_appears_without_a_request(page, live_server, study):
    sit_down(page, live_server, study)
    fetched(page, 1)
    page.context.set_offline(True)
    judge(page)
    expect(page.locator("#place")).to_contain_text("Story 2 of 8")
    shown = page.evaluate(
        "[...document.querySelectorAll('.shot img')].every((i) => i.naturalWidth > 0)"
    )
    assert shown
    assert not Rating.objects.exists()
    page.context.set_offline(False)
    saved(page)
    assert Slot.objects.filter(state="submitted").count() == 1
    assert Slot.objects.get(state="leased").code in page.url


@pytest.mark.slow
@pytest.mark.page_errors(OFFLINE)
def test_reply_on_an_earlier_story_is_ignored(page, live_server, study):
    asked = []

    def hold_all_but_the_first(route):
        asked.append(route)
        if len(asked) == 1:
            route.continue_()

    page.route("**/ahead/", hold_all_but_the_first)
    sit_down(page, live_server, study)
    fetched(page, 7)
    judge(page)
    expect(page.locator("#place")).to_contain_text("Story 2 of 8")
    saved(page)
    wait_until(page, lambda: len(asked), 2)
    page.keyboard.press("Backspace")
    expect(page.locator("#place")).to_contain_text("Story 1 of 8")
    asked[1].continue_()
    wait_until(page, lambda: len(asked), 3)  # the earlier reply was read
    page.context.set_offline(True)  # otherwise the server would correct it
    judge(page, "Enter")
    expect(page.locator("#place")).to_contain_text("Story 2 of 8")


@pytest.mark.page_errors(OFFLINE, "ERR_FAILED .*/(thumb|display)/")
@pytest.mark.parametrize("text", [OPEN, *slow(LONG)], ids=["open", "planned"])
def test_five_offline_stories_survive_a_crash(
    chromium, page_errors, tmp_path, live_server, text
):
    """Every answer is stored once, with or without a crash."""
    planned = text == LONG
    study = make_planned(
        text,
        benchmark=make_benchmark(stories=8, methods=["Birch"]),
        **({"annotators": 1} if planned else {}),
    )

    def launch():
        context = chromium.browser_type.launch_persistent_context(
            tmp_path / "profile",
            executable_path=chromium_build.path(),
            args=chromium_build.ARGS,
        )
        page_errors.listen(context)
        return context

    context = launch()
    page = context.pages[0]
    person = sit_down(page, live_server, study)
    judge(page)
    expect(page.locator("#place")).to_contain_text("Story 2 of ")
    fetched(page, 5)
    context.set_offline(True)
    for number in range(2, 7):
        expect(page.locator("#place")).to_contain_text(f"Story {number} of ")
        judge(page, str(number % 5), "1", "Enter")
    expect(page.locator("#place")).to_contain_text("Story 7 of ")
    judge(page, "4")
    expect(page.locator("#save-state")).to_contain_text("6 stories on this device")
    assert Slot.objects.filter(state="submitted").count() == 1
    kill(tmp_path / "profile")

    context = launch()
    page = context.pages[0]
    token = Invitation.objects.get(annotator=person).token
    page.goto(live_server.url + reverse("rate-entry", args=[token]))
    saved(page)
    context.close()
    done = person.slots.filter(state="submitted")
    assert done.count() == 6
    for slot in done:
        assert slot.ratings.count() == 2
        assert slot.seconds is not None
    begun = Rating.objects.get(slot__state="leased", value=4)
    assert begun.slot.annotator == person
    assert Rating.objects.count() == 13
    assert problems(study) == []


def kill(profile):
    """Kill a browser like a crash; return when it has ended."""
    own = f"--user-data-dir={profile}"
    browser = [
        pid
        for pid, words in running()
        if own in words.split("\0") and "\0--type=" not in words
    ]
    assert browser
    for pid in browser:  # includes Debian's script, which waits for its child
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    patience = time.monotonic() + SECONDS
    while any(str(profile) in words for _pid, words in running()):
        assert time.monotonic() < patience, "processes of the browser are left"
        time.sleep(0.02)
    for name in ("SingletonLock", "SingletonCookie", "SingletonSocket"):
        (profile / name).unlink(missing_ok=True)


def running() -> Iterator[tuple[int, str]]:
    """Return all running processes with their command lines."""
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            with suppress(OSError):
                words = (folder / "cmdline").read_bytes().decode(errors="replace")
                yield int(folder.name), words


@pytest.mark.slow
@pytest.mark.page_errors(OFFLINE, "ERR_FAILED .*/ahead/")
def test_page_waits_visibly_without_prefetched_story(page, live_server, study):
    page.route("**/ahead/", lambda route: route.abort())
    sit_down(page, live_server, study)
    page.context.set_offline(True)
    judge(page)
    expect(page.locator("#waits")).to_be_visible()
    expect(page.locator("#waits")).to_contain_text("safe on this device")
    page.context.set_offline(False)
    expect(page.locator("#place")).to_contain_text("Story 2 of 8")
    assert Rating.objects.count() == 2


@pytest.mark.slow
def test_two_tabs_continue_at_the_same_story(page, live_server, study):
    sit_down(page, live_server, study)
    second = page.context.new_page()
    second.goto(page.url)
    second.wait_for_selector("html.ready")
    judge(page)
    saved(page)
    expect(second.locator("[name='q:beauty'][value='1']")).to_be_checked()
    judge(second, "4", "ArrowDown", "4", "Enter")
    expect(second.locator("#place")).to_contain_text("Story 2 of 8")
    # A page that was loaded has no badge.
    fours = Rating.objects.filter(value=4, slot__state="submitted", is_current=True)
    wait_until(second, fours.count, 2)
    first = Slot.objects.get(state="submitted")
    assert sorted(first.ratings.filter(is_current=True).values_list("value")) == [
        (4,),
        (4,),
    ]
    assert first.ratings.count() == 4, "the earlier answers are kept as revisions"
    assert Slot.objects.filter(state="leased").count() == 1


def test_browser_history_moves_between_stories(page, live_server, study):
    sit_down(page, live_server, study)
    first = page.url
    fetched(page, 1)
    judge(page)
    expect(page.locator("#place")).to_contain_text("Story 2 of 8")
    page.go_back()
    expect(page.locator("#place")).to_contain_text("Story 1 of 8")
    assert page.url == first
    assert page.is_checked("input[name='q:character'][value='3']")
    judge(page, "ArrowUp", "0", "Enter")
    expect(page.locator("#place")).to_contain_text("Story 2 of 8")
    saved(page)
    values = Rating.objects.filter(slot__state="submitted", is_current=True)
    assert sorted(values.values_list("value", flat=True)) == [0, 1]
    page.go_back()
    page.go_forward()
    expect(page.locator("#place")).to_contain_text("Story 2 of 8")


@pytest.mark.page_errors("403 .*/save/", "405 .*/story/")
def test_expired_cookies_lose_no_answer(page, live_server, study):
    sit_down(page, live_server, study)
    fetched(page, 1)
    judge(page, "3")
    saved(page)
    page.context.clear_cookies()
    judge(page, "1", "Enter")
    expect(page.locator("#place")).to_contain_text("Story 2 of 8")
    saved(page)
    assert Slot.objects.filter(state="submitted").count() == 1
    judge(page)
    saved(page)
    assert Slot.objects.filter(state="submitted").count() == 2


@pytest.mark.slow
def test_answer_is_undone_with_u(page, live_server, study):
    sit_down(page, live_server, study)
    judge(page, "3", "u")
    expect(page.locator("input[name='q:character']:checked")).to_have_count(0)
    saved(page)
    assert not Rating.objects.filter(is_current=True).exists()
    judge(page, "2", "4", "u", "u", "1")
    saved(page)
    current = Rating.objects.get(is_current=True)
    assert (current.question.key, current.value) == ("character", 1)


def test_double_key_press_does_not_answer_the_next_story(page, live_server, study):
    """With automatic continuation, the second press belongs to the first story."""
    page.clock.install()
    sit_down(page, live_server, study)
    judge(page, "?")
    page.check("[data-setting=auto]")
    page.evaluate("document.activeElement.blur()")
    fetched(page, 1)
    stop_time(page)
    for key in "3111":
        judge(page, key)
        page.clock.run_for(150)
    page.clock.run_for(400)
    expect(page.locator("#place")).to_contain_text("Story 2 of 8")
    saved(page)
    assert set(Rating.objects.values_list("slot__position", flat=True)) == {
        study.slots.order_by("position").first().position
    }


@pytest.mark.slow
def test_held_enter_skips_no_page(page, live_server):
    """The instructions' button has the same key as the consent's."""
    study = make_study(annotators=1)
    token = Invitation.objects.get(annotator__study=study).token
    page.goto(live_server.url + reverse("rate-consent", args=[token]))
    expect(page.locator("main button.primary")).to_be_focused()
    page.keyboard.down("Enter")
    here = page.url
    page.wait_for_url(lambda url: url != here)
    there = page.url
    for _repeat in range(10):
        page.keyboard.down("Enter")
        page.wait_for_timeout(50)
    assert page.url == there
    page.keyboard.up("Enter")


@pytest.mark.slow
@pytest.mark.page_errors(OFFLINE, "ERR_FAILED .*/display/")
def test_broken_picture_is_reported_offline(page, live_server, study):
    page.route("**/only/2/display/", lambda route: route.abort())
    sit_down(page, live_server, study)
    page.keyboard.press("ArrowRight")
    page.context.set_offline(True)
    page.click(".report-fault >> visible=true")
    expect(page.locator(".report-fault >> visible=true")).to_have_text("Reported")
    page.wait_for_selector("#save-state.warn")
    assert not Fault.objects.exists()
    page.context.set_offline(False)
    saved(page)
    fault = Fault.objects.get()
    assert (fault.side, fault.shot) == ("only", 2)
    assert fault.slot.code in page.url


# Rows in the page's format for the displayed story, with distinct ids and keys.
KEEP_ROWS = """
number => new Promise((resolve, reject) => {
  const opening = indexedDB.open("plumbline", 1);
  opening.onerror = () => reject(opening.error);
  opening.onsuccess = () => {
    const { code, saveUrl } = document.getElementById("annotator").dataset;
    const transaction = opening.result.transaction("waiting", "readwrite");
    const store = transaction.objectStore("waiting");
    for (let n = 0; n < number; n += 1) {
      const at = Date.now() - 10000 + n;
      store.put({ id: `${code} row ${n}`, key: `${at} tab`, at, kind: "answer", code,
                  url: saveUrl, question: "character", value: String(n % 5) });
    }
    transaction.oncomplete = resolve;
    transaction.onabort = () => reject(transaction.error);
  };
})
"""
WAITING = """
() => new Promise((resolve) => {
  const opening = indexedDB.open("plumbline", 1);
  opening.onsuccess = () => {
    const store = opening.result.transaction("waiting").objectStore("waiting");
    store.count().onsuccess = ({ target }) => resolve(target.result);
  };
})
"""


@pytest.mark.slow
def test_queue_sends_200_rows_per_request(page, live_server, study):
    sit_down(page, live_server, study)
    fetched(page, 1)
    sent = []
    page.on(
        "request",
        lambda one: (
            one.url.endswith("/save/")
            and sent.append([row["kind"] for row in one.post_data_json["rows"]])
        ),
    )
    page.evaluate(KEEP_ROWS, 450)
    judge(page)
    wait_until(page, lambda: page.evaluate(WAITING), 0)
    saved(page)
    assert max(map(len, sent)) == 200
    whole = [kinds for kinds in sent if "submit" in kinds]
    assert [kinds.index("submit") == len(kinds) - 1 for kinds in whole] == [True]
    assert Slot.objects.filter(state="submitted").count() == 1
    assert Rating.objects.filter(is_current=True, value=3).exists()


@pytest.mark.slow
@pytest.mark.page_errors("413 .*/save/")
def test_queue_keeps_answers_when_request_is_too_large(page, live_server, study):
    sit_down(page, live_server, study)
    fetched(page, 1)
    page.route("**/save/", lambda route: route.fulfill(status=413, body="too large"))
    page.keyboard.press("3")
    expect(page.locator("#problem")).to_be_visible()
    assert page.evaluate(WAITING) == 1
    page.unroute("**/save/")
    page.keyboard.press("1")
    saved(page)
    kept = Rating.objects.filter(is_current=True)
    assert sorted(kept.values_list("question__key", "value")) == [
        ("beauty", 1),
        ("character", 3),
    ]


@pytest.mark.slow
@pytest.mark.parametrize("hand", named_cases(MOUSE_OR_FINGER, {"finger"}))
def test_double_submit_shows_no_problem_on_the_next_story(
    chromium, live_server, study, hand
):
    with hand.page(chromium) as page:
        person = sit_down(page, live_server, study)
        fetched(page, 2)
        judge(page, "3", "1")
        saved(page)
        box = page.locator("#submit").bounding_box()
        place = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        if isinstance(hand, Finger):
            for _ in range(2):
                page.touchscreen.tap(*place)
        else:
            page.mouse.dblclick(*place)
        expect(page.locator("#place")).to_contain_text("Story 2 of")
        saved(page)
        expect(page.locator("#problem")).to_be_hidden()
        assert person.slots.filter(state="submitted").count() == 1
        judge(page, "2", "2")
        page.wait_for_timeout(600)
        hand.press(page.locator("#submit"))
        expect(page.locator("#place")).to_contain_text("Story 3 of")
