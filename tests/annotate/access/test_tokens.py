"""API tokens and sessions end with the password that they were made for."""

import re
from importlib import import_module
from types import SimpleNamespace

import pytest
from django.apps import apps
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotate.access import accounts
from annotate.models import ApiToken, User
from tests.factories import make_benchmark, make_study
from tests.people import log_in, program

pytestmark = pytest.mark.django_db
OLD, NEW = "an old password of Alice", "a new password of Alice"


@pytest.fixture
def alice():
    return User.objects.create_user("alice", password=OLD, is_staff=True)


def token_of(password: str) -> str:
    given = {"username": "alice", "password": password}
    answer = Client().post(reverse("api-token"), given)
    assert answer.status_code == 201, answer.content
    return answer.json()["token"]


def opens(token: str) -> bool:
    headers = {"Authorization": f"Bearer {token}"}
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


def made_on_the_page(client: Client, **fields: object) -> str:
    """Return the secret of a token that the page makes."""
    form = {"name": "notebook", "scope": "read", "study": "", "days": 90, **fields}
    page = client.post(reverse("token-create"), form).content.decode()
    return re.search("plumbline_[-\\w]{43}", page).group()


def test_account_page_lists_makes_and_revokes_tokens(alice):
    client = logged_in()
    secret = made_on_the_page(client)
    other = made_on_the_page(client, name="CI")
    assert opens(secret)
    page = client.get(reverse("account")).content.decode()
    assert secret not in page
    token = ApiToken.objects.get(name="notebook")
    assert secret not in token.secret_hash
    assert (token.expires_at - token.created_at).days in (89, 90)
    assert token.last_used_on == timezone.now().date()
    page = client.post(reverse("token-revoke", args=[token.pk]), follow=True)
    assert "The API token “notebook” is revoked." in page.content.decode()
    assert not opens(secret)
    assert opens(other)
    assert is_logged_in(client)


def test_account_page_refuses_studies_of_others(alice):
    study = make_study()
    form = {"name": "notebook", "scope": "read", "study": study.pk, "days": 90}
    assert logged_in().post(reverse("token-create"), form).status_code == 422
    assert not ApiToken.objects.exists()


def test_account_page_belongs_to_accounts():
    for name, args in (("account", []), ("token-create", []), ("token-revoke", [1])):
        answer = Client().post(reverse(name, args=args))
        assert answer.url.startswith(reverse("login"))


def problem(answer) -> tuple[int, str]:
    """Return status and kind of a problem document."""
    assert answer["Content-Type"] == "application/problem+json"
    body = answer.json()
    assert body["status"] == answer.status_code
    return answer.status_code, body["type"].rpartition("#")[2]


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        ({"expires_at": timezone.now()}, "token-expired"),
        ({"revoked_at": timezone.now()}, "token-revoked"),
        ({"secret_hash": "0" * 64}, "token-unknown"),
    ],
)
def test_token_that_has_ended_is_refused_with_the_reason(alice, change, kind):
    client = program("alice")
    ApiToken.objects.update(**change)
    answer = client.get(reverse("api-studies"))
    assert problem(answer) == (401, kind)
    assert answer["WWW-Authenticate"] == "Bearer"


def test_token_of_a_study_opens_no_other():
    study, other = (
        make_study(),
        make_study(slug="other", benchmark=make_benchmark(slug="hills")),
    )
    for one in (study, other):
        log_in("alice", one, "manager")
    client = program("alice", study=study)
    assert client.get(reverse("api-study", args=[study.slug])).status_code == 200
    refused = client.get(reverse("api-study", args=[other.slug]))
    assert problem(refused) == (403, "token-of-another-study")
    listed = client.get(reverse("api-studies")).json()["results"]
    assert [row["slug"] for row in listed] == [study.slug]
    assert problem(client.get(reverse("api-tokens"))) == (403, "token-of-another-study")


def test_token_does_no_more_than_its_scope_and_its_account():
    study = make_study()
    log_in("alice", study, "manager")
    log_in("rob", study, "researcher")
    scores = reverse("api-scores", args=[study.slug])
    reading = program("alice", scope="read")
    assert problem(reading.post(scores, {}, format="json")) == (403, "scope-too-small")
    assert (
        program("alice", scope="write").post(scores, {}, format="json").status_code
        == 400
    )
    assert problem(program("rob").post(scores, {}, format="json")) == (
        403,
        "permission-denied",
    )


@pytest.mark.postgresql
def test_tokens_of_the_former_app_stay_valid(alice):
    with connection.cursor() as cursor:
        cursor.execute(
            "CREATE TABLE authtoken_token "
            "(key varchar(40), user_id bigint, created timestamp)"
        )
        cursor.execute(
            "INSERT INTO authtoken_token VALUES (%s, %s, CURRENT_TIMESTAMP)",
            ["a1" * 20, alice.pk],
        )
    module = import_module("annotate.migrations.0017_move_api_tokens")
    module.move_tokens(apps, SimpleNamespace(connection=connection))
    client = Client(headers={"Authorization": f"Token {'a1' * 20}"})
    assert client.get(reverse("api-studies")).status_code == 200
    token = ApiToken.objects.get()
    assert (token.scope, token.expires_at, token.study) == ("manage", None, None)
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM authtoken_token")
        assert cursor.fetchone() == (0,)
