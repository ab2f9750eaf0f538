"""Front page, login and page titles."""

import html
import re

import pytest
from django.urls import reverse

from annotate.models import User
from tests.factories import METHODS, make_study
from tests.working import Browser

pytestmark = pytest.mark.django_db


def body(name: str) -> dict[str, str]:
    User.objects.create_user(name, password="not-a-secret")
    return {"username": name, "password": "not-a-secret"}


def test_login_redirects_to_next_page(client):
    response = client.post(reverse("login"), body("carol"))
    assert response["Location"] == reverse("study-list")
    assert client.get(reverse("study-list")).context["user"].username == "carol"


def test_logged_in_user_is_redirected(client):
    client.post(reverse("login"), body("carol"))
    assert client.get(reverse("login"))["Location"] == reverse("study-list")


def test_login_as_another_user_changes_account(client):
    """A manager of the demo can become the researcher."""
    client.post(reverse("login"), body("carol"))
    client.post(reverse("login"), body("dave"))
    assert client.get(reverse("study-list")).context["user"].username == "dave"


def test_wrong_password_changes_nothing(client):
    given = body("carol")
    client.post(reverse("login"), given)
    refused = client.post(reverse("login"), given | {"password": "wrong"})
    assert "do not match" in refused.content.decode()
    assert client.get(reverse("study-list")).context["user"].username == "carol"


def test_htmx_reloads_page_after_logout(client):
    study = make_study()
    url = reverse("study-detail", args=[study.slug])
    answer = client.get(url, headers={"HX-Request": "true"}, follow=True)
    assert answer["HX-Refresh"] == "true"
    assert answer.content == b""


def title(page) -> str:
    text = page.content.decode()
    return html.unescape(re.search(r"<title>(.*?)</title>", text, re.S)[1])


@pytest.mark.slow
def test_pages_have_distinct_titles(client):
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
        "Sitting 1 of 2 · Ready?",
        "Story 1 of 3",
        "Story 2 of 3",
        "Story 3 of 3",
        "Sitting 2 of 2 · Break",
        "Story 1 of 3",
        "Story 2 of 3",
        "Story 3 of 3",
        "Thank you!",
    ]
    assert not any(name in " ".join(titles) for name in [*METHODS, study.title])
