"""Rankings of four outputs in the browser: set, cleared, undone, kept."""

import re

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from annotate.kinds.registry import kind_of
from annotate.models import Ranking
from tests.browser.hands import HANDS, version
from tests.browser.test_rate import saved
from tests.cases import named_cases, slow
from tests.factories import make_benchmark
from tests.working import join, make_planned

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

FILE = """\
title: Which is best
kind: ranking
outputs: 4
redundancy: 3
questions:
  - {key: quality, title: Quality, text: "Which version is the best?"}
"""
BEST = ("Cedar", "Alder", "Elm", "Birch")


# How each hand puts versions 1 and 3 before 2, and 2 before 4 by a shared first rank.
def tap_ties(page, hand):
    hand.rank(page, "quality", "3>")
    hand.press(page.locator(".tie"))
    hand.rank(page, "quality", "1>2>4>")


def press_keys(page, _hand):
    for key in "3e124":
        page.keyboard.press(key)


def choose_ranks(page, hand):
    for place, rank in ((1, 1), (2, 2), (3, 1), (4, 3)):
        hand.choose(page, f"quality:{place}", str(rank))


def mark_ranks(page, hand):
    for place, rank in ((1, 1), (2, 2), (3, 1), (4, 3)):
        hand.press(version(page, "quality", place).locator("label").nth(rank - 1))


def drag_to_ranks(page, _hand):
    for place, onto, rank in ((1, 2, 1), (2, 2, 2), (3, 4, 1), (4, 4, 3)):
        page.drag_and_drop(
            f"[data-place='{place}'] button",
            f"[data-place='{onto}'] label:nth-of-type({rank})",
        )


WAYS = {
    "digits": ("digits", press_keys),
    "buttons": ("mouse", tap_ties),
    "dragged": ("mouse", drag_to_ranks),
    "finger": ("finger", tap_ties),
    "tab": ("tab", choose_ranks),
    "no script": ("no script", mark_ranks),
}


@pytest.mark.parametrize(("name", "way"), named_cases(WAYS, ["digits"]))
def test_versions_share_a_rank(chromium, live_server, name, way):
    study = make_planned(
        FILE.replace("Quality,", "Quality, allow_tie: true,"),
        benchmark=make_benchmark(stories=2, methods=sorted(BEST)),
        annotators=3,
    )
    link = reverse("rate-pause", args=[join(study, "A01").invitation.token])
    hand = HANDS[name]
    with hand.page(chromium) as page:
        page.goto(live_server.url + link)
        hand.go_on(page)
        expect(page.locator("[data-part=ranking]")).to_have_accessible_description(
            re.compile("equally good may share a rank")
        )
        if name != "no script":
            page.wait_for_selector("html.ready")
        way(page, hand)
        if name != "no script":
            saved(page)
            page.reload()
            page.wait_for_selector("html.ready")
            checked = page.locator(".ranks :checked")
            assert [one.input_value() for one in checked.all()] == ["1", "2", "1", "3"]
            expect(page.locator(".ranks .tied")).to_have_count(2)
        hand.send(page)
        page.wait_for_url(re.compile("/story/"))
    row = Ranking.objects.get(is_current=True)
    assert kind_of(row.question).as_displayed(row.slot, row.value) == "1=3>2>4"


def ranked() -> list[tuple[int, bool]]:
    return list(Ranking.objects.order_by("pk").values_list("revision", "is_current"))


@pytest.mark.parametrize("hand", ["digits", *slow("mouse", "finger")])
def test_complete_ranking_stays_until_cleared(chromium, live_server, hand):
    study = make_planned(
        FILE, benchmark=make_benchmark(stories=2, methods=sorted(BEST)), annotators=3
    )
    person, hand = join(study, "A01"), HANDS[hand]
    link = reverse("rate-pause", args=[person.invitation.token])
    with hand.page(chromium) as page:
        page.goto(live_server.url + link)
        hand.go_on(page)
        page.wait_for_selector("html.ready")
        first = page.url
        hand.rank(page, "quality", "2>1>3>4")
        saved(page)
        hand.rank(page, "quality", "3>1")
        expect(page.locator("#problem")).to_contain_text("clear the ranking")
        assert ranked() == [(1, True)]
        hand.clear(page, "quality")
        hand.rank(page, "quality", "3>1")  # one version only
        saved(page)
        assert ranked() == [(1, False)]
        page.reload()
        page.wait_for_selector("html.ready")
        expect(page.locator(".ranks :checked")).to_have_count(0)
        hand.rank(page, "quality", "3>2>1>4")
        saved(page)
        hand.clear(page, "quality")
        hand.rank(page, "quality", "1>2")
        saved(page)
        page.keyboard.press("u")
        page.keyboard.press("u")
        saved(page)
        assert ranked() == [(1, False), (2, False), (3, True)]
        hand.send(page)
        page.wait_for_url(lambda url: url != first)
        # A submitted story keeps its answer.
        for come_back in (lambda: page.click("#back"), page.reload):
            come_back()
            page.wait_for_url(first)
            page.wait_for_selector("html.ready")
            expect(page.locator("#save-state")).to_have_class("badge good")
            hand.clear(page, "quality")
            hand.rank(page, "quality", "1>2")
            expect(page.locator(".ranks :checked")).to_have_count(1)
            expect(page.locator("#problem")).to_be_hidden()
        page.reload()
        expect(page.locator(".ranks :checked")).to_have_count(4)
        assert ranked() == [(1, False), (2, False), (3, True)]
