"""Drafts reach the server when a page is left."""

from itertools import product

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from annotate.models import Rating, ShotComment, Slot, StoryComment
from tests.browser.test_rate import enter, saved
from tests.browser.waiting import stop_time, wait_until
from tests.cases import named_cases
from tests.factories import make_benchmark
from tests.working import join, make_planned

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

STUDY = """
kind: likert
scale: [0, 100]
redundancy: 1
presentation: {comments: true, shot_comments: true}
questions:
  - {key: beauty, title: Beauty, text: "How nice?"}
"""


def write_story_comment(page):
    page.click("details:has(textarea[name=comment]) > summary")
    page.click("textarea[name=comment]")
    page.keyboard.type("37 hats")


def write_shot_comment(page):
    page.click(".shot-comments > summary")
    page.click(".shot-comments .current textarea")
    page.keyboard.type("37 hats")


def write_number(page):
    page.click("[type=number]")
    page.keyboard.type("37")


def type_number(page):
    for key in "37":
        page.keyboard.press(key)


def texts_of(model):
    return lambda slot: list(model.objects.filter(slot=slot).values_list("text"))


def values(slot):
    return list(Rating.objects.filter(slot=slot, is_current=True).values_list("value"))


# For each draft: typing, reading from the database, expected value. The reason of a
# skip has a separate form, with its button.
FIELDS = {
    "comment on the story": (write_story_comment, texts_of(StoryComment), "37 hats"),
    "comment on a shot": (write_shot_comment, texts_of(ShotComment), "37 hats"),
    "number field": (write_number, values, 37),
    "number by keys": (type_number, values, 37),
}


def go_back(page):
    here = page.url
    page.go_back()
    page.wait_for_url(lambda url: url != here)


def leave(page):
    page.goto("about:blank")


def close_tab(page):
    page.close()


def go_back_and_forward_and_submit(page):
    here = page.url
    go_back(page)
    page.go_forward()
    page.wait_for_url(here)
    if not page.locator("[type=number]").input_value():
        type_number(page)
        page.keyboard.press("Enter")
    page.click("#submit")
    page.wait_for_url(lambda url: url != here)


WAYS = {
    "back": go_back,
    "reload": lambda page: page.reload(),
    "another page": leave,
    "close": close_tab,
    "back, forward, submit": go_back_and_forward_and_submit,
}


@pytest.fixture
def second_story(page, live_server):
    """Return the page of a second story with frozen time, and its slot."""
    benchmark = make_benchmark(stories=3, shots=2, methods=["Alder"])
    person = join(make_planned(STUDY, benchmark=benchmark, annotators=1), "A01")
    page.clock.install()
    page.goto(live_server.url + reverse("rate-pause", args=[person.invitation.token]))
    enter(page)
    page.wait_for_selector("html.ready")
    page.wait_for_function("() => Number(document.body.dataset.ahead) >= 2")
    here = page.url
    for key in ("5", "0", "Enter", "Enter"):
        page.keyboard.press(key)
    page.wait_for_url(lambda url: url != here)
    saved(page)
    page.wait_for_function("() => Number(document.body.dataset.ahead) >= 1")
    stop_time(page)
    return Slot.objects.get(code=page.url.rstrip("/").rsplit("/", 1)[-1])


@pytest.mark.parametrize(
    ("field", "way"),
    named_cases(
        {
            f"{field}, {way}": (FIELDS[field], WAYS[way])
            for field, way in product(FIELDS, WAYS)
        },
        quick={
            "comment on the story, back",
            "number by keys, back, forward, submit",
        },
    ),
)
def test_text_is_stored_when_the_page_is_left(page, second_story, field, way):
    write, stored, expected = field
    other = page.context.new_page()
    page.bring_to_front()
    write(page)
    expect(page.locator("#save-state")).not_to_have_class("badge good")
    assert stored(second_story) == []
    way(page)
    wait_until(other, lambda: stored(second_story), [(expected,)])
    if way is go_back_and_forward_and_submit:
        sent = Slot.objects.filter(pk=second_story.pk, state="submitted")
        wait_until(other, sent.exists, True)


@pytest.mark.page_errors("ERR_INTERNET_DISCONNECTED")
@pytest.mark.parametrize(
    "field",
    named_cases(
        {name: (field,) for name, field in FIELDS.items()},
        {"comment on a shot"},
    ),
)
def test_text_is_stored_later_when_tab_is_closed_offline(page, second_story, field):
    write, stored, expected = field
    here, other = page.url, page.context.new_page()
    page.bring_to_front()
    page.context.set_offline(True)
    write(page)
    page.close()
    page.context.set_offline(False)
    assert stored(second_story) == []
    other.goto(here)
    wait_until(other, lambda: stored(second_story), [(expected,)])
