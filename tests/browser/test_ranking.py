"""Rankings of four outputs in the browser: set, cleared, undone, kept."""

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from annotate.models import Ranking
from tests.browser.hands import HANDS
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
