"""Each page of the annotator has a title of its own, how far it is first."""

import html
import re

import pytest

from tests.factories import METHODS, make_study
from tests.working import Browser

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
