"""Each page of the annotator has a title of its own, how far it is first."""

import html
import re

import pytest
from django.test import Client
from django.urls import reverse

from annotate.people import inviting, joining
from annotate.studies import lifecycle
from tests.annotate.studies.test_extending import planned_study
from tests.factories import METHODS, make_study
from tests.working import LIKERT, Browser, join, make_planned

pytestmark = pytest.mark.django_db


def title(page) -> str:
    text = page.content.decode()
    return html.unescape(re.search(r"<title>(.*?)</title>", text, re.S)[1])


def test_no_two_pages_on_the_way_have_the_same_title(client):
    study = make_study(session_size=3)
    browser = Browser(client, study.annotators.get(name="A01"))
    titles = [title(browser.get(browser.address("consent")))]
    client.post(browser.address("consent"))
    titles.append(title(browser.get(browser.address("instructions"))))
    browser.post(browser.address("instructions"))
    titles.append(title(browser.get(browser.address("pause"))))
    while "/story/" in browser.at:
        titles.append(title(browser.get()))
        browser.fill(character="3", aesthetics="3")
        if browser.at.endswith("/pause/"):
            titles.append(title(browser.get()))
            browser.post(browser.at)
    titles.append(title(browser.get()))
    own = [text.removesuffix(" · Story study") for text in titles]
    assert own == [
        "Consent",
        "How it works",
        "Session 1 of 2 · Ready?",
        "Story 1 of 3",
        "Story 2 of 3",
        "Story 3 of 3",
        "Session 2 of 2 · A break",
        "Story 1 of 3",
        "Story 2 of 3",
        "Story 3 of 3",
        "Thank you!",
    ]
    assert not any(name in " ".join(titles) for name in [*METHODS, study.title])


def test_the_training_says_how_far_it_is(client):
    text = LIKERT + (
        "training: {units: [{story: '03', method: Alder, expected: {character: 3}}]}\n"
    )
    study = make_planned(text, annotators=1, redundancy=1, stories=["01", "02"])
    browser = Browser(client, join(study, "A01"))
    browser.post(browser.address("pause"))
    assert title(browser.get(browser.address("pause"))).startswith("Training 1 of 1")
    assert title(browser.get()) == "Training 1 of 1 · Story study"
    browser.fill(character="3", beauty="1")
    assert title(browser.get()) == "Training 1 of 1 · Training passed · Story study"


def test_pages_that_end_the_way_say_why(client):
    study = planned_study()
    link = joining.make_link(study, most=1)
    address = reverse("join", args=[link.token])
    assert title(client.get(address)).startswith("Would you like")
    client.post(address)
    assert title(Client().get(address)).startswith("You cannot take part")
    (invitation,) = inviting.invite(study, count=1)
    entry = reverse("rate-entry", args=[invitation.token])
    lifecycle.pause(study)
    assert title(client.get(entry)).startswith("The study is having a break")
    lifecycle.close(study)
    assert title(client.get(entry)).startswith("The study is closed")
    inviting.revoke(invitation.annotator)
    assert title(client.get(entry)).startswith("This link is no longer valid")
