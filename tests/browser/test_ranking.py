"""Rankings of four outputs in the browser: set, cleared, undone, kept."""

import re

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from annotate.kinds.registry import KINDS
from annotate.models import Ranking
from tests.browser.hands import HANDS, version
from tests.browser.test_rate import saved
from tests.cases import slow
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


def rank_with_tie(page, name):
    """Rank versions 1 and 3 first, then 2, then 4."""
    hand, ranks = HANDS[name], ((1, 1), (2, 2), (3, 1), (4, 3))
    if name == "digits":
        for key in "3e124":
            page.keyboard.press(key)
    elif name == "finger":
        for place in (3, 0, 1, 2, 4):
            button = f"[data-place='{place}'] button" if place else ".tie"
            hand.press(page.locator(button))
    elif name == "mouse":
        for place, rank in ranks:
            onto = f"[data-place='{5 - place}'] label:nth-of-type({rank})"
            page.drag_and_drop(f"[data-place='{place}'] button", onto)
    elif name == "tab":
        for place, rank in ranks:
            hand.choose(page, f"quality:{place}", str(rank))
        page.keyboard.press("Tab")
    else:
        for place, rank in ranks:
            hand.press(version(page, "quality", place).locator("label").nth(rank - 1))


@pytest.mark.parametrize(
    "name", ["digits", *slow("mouse", "finger", "tab", "no script")]
)
def test_versions_share_a_rank(chromium, live_server, name):
    study = make_planned(
        FILE.replace("Quality,", "Quality, allow_tie: true,"),
        benchmark=make_benchmark(stories=2, methods=sorted(BEST)),
        annotators=3,
    )
    link = reverse("rate-pause", args=[join(study, "A01").invitation.token])
    with HANDS[name].page(chromium) as page:
        page.goto(live_server.url + link)
        HANDS[name].go_on(page)
        words = re.compile("equally good may share a rank")
        question = page.locator("[data-part=ranking]")
        expect(question).to_have_accessible_description(words)
        if name != "no script":
            page.wait_for_selector("html.ready")
        rank_with_tie(page, name)
        if name != "no script":
            saved(page)
            page.reload()
            page.wait_for_selector("html.ready")
            expect(page.locator(".ranks .tied")).to_have_count(2)
        HANDS[name].send(page)
        page.wait_for_url(re.compile("/story/"))
    row = Ranking.objects.get(is_current=True)
    assert KINDS["ranking"].as_displayed(row.slot, row.value) == "1=3>2>4"


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
