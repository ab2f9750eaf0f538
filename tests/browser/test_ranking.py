"""A study of rankings: from its file to the leaderboard, in the browser."""

import pytest
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import expect

from annotate.models import Invitation, Ranking, Report, Study, User
from annotate.presentation import slot_view
from annotate.reports import building
from evalcore.models import MetricRun, MetricScore, Output
from tests.browser.accessibility import violations
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


@pytest.fixture
def manager(page, live_server):
    benchmark = make_benchmark(stories=2, methods=sorted(BEST))
    run = MetricRun.objects.create(
        benchmark=benchmark,
        source="imported",
        state="done",
        finished_at=timezone.now(),
    )
    for output in Output.objects.select_related("method", "story"):
        MetricScore.objects.create(
            run=run,
            benchmark=benchmark,
            story=output.story,
            method=output.method,
            metric="vtm",
            higher_is_better=True,
            value=len(output.method.name),
        )
    User.objects.create_user("alice", password="not-a-secret", is_superuser=True)
    page.goto(live_server.url + reverse("login"))
    page.fill("input[name=username]", "alice")
    page.fill("input[name=password]", "not-a-secret")
    page.keyboard.press("Enter")
    page.wait_for_url("**/studies/")
    return page


def set_up(page) -> Study:
    """Paste the file, name the study and launch it."""
    page.click("text=New study")
    page.click("text=Or begin with a study file")
    page.fill("[name=text]", FILE)
    page.click("form.setup-start button.primary")
    page.wait_for_selector("[name=slug]")
    page.fill("[name=slug]", "best")
    page.fill("[name=annotators]", "3")
    expect(page.locator("#summary")).to_contain_text("slots per annotator")
    expect(page.locator("[name='sets.kind'][value=ring]")).to_be_attached()
    page.click(".setup-buttons button:has-text('Create draft')")
    page.wait_for_url("**/studies/best/")
    page.click("button:has-text('Launch')")
    expect(page.locator(".badge").first).to_have_text("open")
    return Study.objects.get(slug="best")


def judge(page, hand, slot) -> None:
    page.wait_for_selector("html.ready")
    here = page.url
    sides = slot_view.sides(slot)
    order = sorted(sides, key=lambda place: BEST.index(sides[place].method.name))
    hand.rank(page, "quality", ">".join(order))
    hand.send(page)
    page.wait_for_url(lambda url: url != here)


def test_from_a_file_to_the_leaderboard(chromium, manager, live_server):
    study = set_up(manager)
    assert study.units.count() == 2
    for name, hand in (("A01", "mouse"), ("A02", "finger"), ("A03", "digits")):
        person = join(study, name)
        invitation, _made = Invitation.objects.get_or_create(annotator=person)
        with HANDS[hand].page(chromium) as page:
            link = reverse("rate-pause", args=[invitation.token])
            page.goto(live_server.url + link)
            HANDS[hand].go_on(page)
            for slot in person.slots.order_by("position"):
                page.wait_for_url(f"**/{slot.code}/")
                judge(page, HANDS[hand], slot)
    assert Ranking.objects.filter(is_current=True).count() == 6
    manager.goto(live_server.url + reverse("study-coverage", args=["best"]))
    expect(manager.locator("main")).to_contain_text("Sets by stories")
    assert violations(manager) == []
    slot = study.slots.filter(state="submitted").first()
    manager.goto(live_server.url + reverse("slot-detail", args=["best", slot.code]))
    expect(manager.locator("main")).to_contain_text(" > ".join(BEST))
    report = building.build_report(
        Report.objects.create(study=study, options={"resamples": 20}).pk
    )
    assert report.state == "done", report.error
    address = reverse("report-page", args=["best", report.pk])
    manager.goto(live_server.url + address)
    board = manager.locator("table:has-text('Cedar')").filter(has_text="log_worth")
    expect(board.first).to_contain_text("Birch")


def ranked() -> list[tuple[int, bool]]:
    return list(Ranking.objects.order_by("pk").values_list("revision", "is_current"))


@pytest.mark.parametrize("hand", ["digits", *slow("mouse", "finger")])
def test_whole_order_stays_until_it_is_cleared(chromium, live_server, hand):
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
        expect(page.locator("#problem")).to_contain_text("clear the order")
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
        # A story that was sent keeps its answer.
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
