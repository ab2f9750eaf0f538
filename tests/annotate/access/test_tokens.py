"""API tokens and sessions end with the password that they were made for."""

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse
from rest_framework.authtoken.models import Token

from annotate.access import accounts
from annotate.models import User

pytestmark = pytest.mark.django_db
OLD, NEW = "an old password of Alice", "a new password of Alice"


@pytest.fixture
def alice():
    return User.objects.create_user("alice", password=OLD, is_staff=True)


def token_of(password: str) -> str:
    given = {"username": "alice", "password": password}
    answer = Client().post(reverse("api-token"), given)
    assert answer.status_code == 200, answer.content
    return answer.json()["token"]


def opens(token: str) -> bool:
    headers = {"Authorization": f"Token {token}"}
    answer = Client(headers=headers).get(reverse("api-studies"))
    assert answer.status_code in (200, 401)
    return answer.status_code == 200


def logged_in() -> Client:
    client = Client()
    given = {"username": "alice", "password": OLD}
    assert client.post(reverse("login"), given).status_code == 302
    return client


def is_logged_in(client: Client) -> bool:
    return client.get(reverse("account")).status_code == 200


def on_the_page():
    client = logged_in()
    fields = {"old_password": OLD, "new_password1": NEW, "new_password2": NEW}
    answer = client.post(reverse("account"), fields)
    assert answer.url == reverse("account")
    page = client.get(reverse("account")).content.decode()
    assert "Your password was changed" in page
    assert is_logged_in(client)


def by_a_link():
    sue = User.objects.create_superuser("sue", password=OLD)
    token = accounts.issue_link(User.objects.get(username="alice"), by=sue)
    fields = {"new_password1": NEW, "new_password2": NEW}
    answer = Client().post(reverse("password-link", args=[token]), fields)
    assert answer.status_code == 302
    assert User.objects.get(username="alice").check_password(NEW)


def deactivated():
    sue = User.objects.create_superuser("sue", password=OLD)
    accounts.deactivate(User.objects.get(username="alice"), by=sue)


def logged_out_everywhere():
    accounts.end_sessions(User.objects.get(username="alice"))


def by_the_command(monkeypatch):
    monkeypatch.setattr("getpass.getpass", lambda *_prompt, **_how: NEW)
    call_command("changepassword", "alice")


@pytest.mark.parametrize(
    "change", [on_the_page, by_a_link, deactivated, logged_out_everywhere]
)
def test_end_of_access_revokes_the_token_and_ends_other_sessions(alice, change):
    token, elsewhere = token_of(OLD), logged_in()
    assert opens(token)
    change()
    assert not opens(token)
    assert not is_logged_in(elsewhere)


def test_changepassword_revokes_the_token_and_ends_sessions(alice, monkeypatch):
    token, elsewhere = token_of(OLD), logged_in()
    by_the_command(monkeypatch)
    assert not opens(token)
    assert not is_logged_in(elsewhere)
    assert token_of(NEW) != token


def test_account_page_shows_and_revokes_the_token(alice):
    client = logged_in()
    assert reverse("token-create") in client.get(reverse("account")).content.decode()
    made = client.post(reverse("token-create")).content.decode()
    token = Token.objects.get(user=alice).key
    assert token in made
    assert opens(token)
    page = client.get(reverse("account")).content.decode()
    created = Token.objects.get(user=alice).created
    assert f"{created:%Y-%m-%d}" in page
    assert token not in page
    assert reverse("token-revoke") in page
    client.post(reverse("token-revoke"))
    assert not opens(token)
    assert is_logged_in(client)


def test_account_page_belongs_to_accounts():
    for name in ("account", "token-create", "token-revoke"):
        answer = Client().post(reverse(name))
        assert answer.url.startswith(reverse("login"))
