"""Logging in, and what is told to those who may not."""

import pytest
from django.urls import reverse

from annotate.models import User
from tests.factories import make_study

pytestmark = pytest.mark.django_db


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
