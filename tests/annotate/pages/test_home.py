"""Logging in, and what is told to those who may not."""

import pytest
from django.test import Client
from django.urls import reverse

from annotate.models import User
from tests.factories import make_study
from tests.people import alice, rob

pytestmark = pytest.mark.django_db

CHINESE = {"Accept-Language": "zh-hans"}


def body(name: str) -> dict[str, str]:
    User.objects.create_user(name, password="not-a-secret")
    return {"username": name, "password": "not-a-secret"}


def test_logging_in(client):
    response = client.post(reverse("login"), body("carol"))
    assert response["Location"] == reverse("study-list")
    assert client.get(reverse("study-list")).context["user"].username == "carol"


def test_whoever_is_logged_in_is_sent_on(client):
    client.post(reverse("login"), body("carol"))
    assert client.get(reverse("login"))["Location"] == reverse("study-list")


def test_logging_in_as_somebody_else_changes_the_account(client):
    """The demo's doors stay open: a manager may become the researcher."""
    client.post(reverse("login"), body("carol"))
    client.post(reverse("login"), body("dave"))
    assert client.get(reverse("study-list")).context["user"].username == "dave"


def test_the_way_to_the_accounts_is_shown_to_those_who_may_make_them(client):
    User.objects.create_superuser("alice", password="not-a-secret")
    client.post(reverse("login"), {"username": "alice", "password": "not-a-secret"})
    way = f'href="{reverse("admin:index")}"'
    assert way in client.get(reverse("study-list")).content.decode()
    client.post(reverse("login"), body("carol"))
    assert way not in client.get(reverse("study-list")).content.decode()


def test_a_wrong_password_changes_nothing(client):
    given = body("carol")
    client.post(reverse("login"), given)
    refused = client.post(reverse("login"), given | {"password": "wrong"})
    assert "do not match" in refused.content.decode()
    assert client.get(reverse("study-list")).context["user"].username == "carol"


def test_a_page_that_lost_its_login_is_loaded_anew(client):
    study = make_study()
    url = reverse("study-coverage", args=[study.slug])
    answer = client.get(url, headers={"HX-Request": "true"}, follow=True)
    assert answer["HX-Refresh"] == "true"
    assert answer.content == b""


def test_a_page_that_is_out_of_date_says_what_to_do():
    client = Client(enforce_csrf_checks=True)
    refused = client.post(reverse("login"), {"username": "carol"})
    assert refused.status_code == 403
    assert "load the page again" in refused.content.decode()
    told = client.post(reverse("login"), {}, headers=CHINESE).content.decode()
    assert "此页面已过期" in told
    assert "DEBUG" not in told


def test_a_refusal_is_told_in_the_readers_language():
    study = make_study()
    url = reverse("annotator-links", args=[study.slug])
    refused = rob(study).get(url, headers=CHINESE)
    assert refused.status_code == 403
    assert "只有此研究的管理员可以这样做" in refused.content.decode()
    assert alice(study).get(url).status_code == 200


def test_a_fault_of_the_server_is_told_in_the_reader_s_language(client, monkeypatch):
    def broken(*_args):
        raise RuntimeError("of this test")

    monkeypatch.setattr("annotate.pages.account.render", broken)
    client.raise_request_exception = False
    response = client.get(reverse("home"), headers=CHINESE)
    assert response.status_code == 500
    text = response.content.decode()
    assert 'lang="zh-hans"' in text
    assert "出错了" in text
    assert "plumbline.css" in text
