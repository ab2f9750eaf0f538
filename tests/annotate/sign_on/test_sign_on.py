"""Login by an institution, against a provider that speaks OpenID Connect."""

import time
from http.client import HTTPConnection
from importlib import import_module
from urllib.parse import urlsplit

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from django.test import Client

from annotate.access import accounts
from annotate.models import ApiToken, Event, Identity, StudyMember, User
from annotate.personal_data.accounts import erase
from annotate.sign_on import provider as sign_on
from tests.factories import make_study
from tests.oidc_provider import CLIENT, SECRET, Provider

pytestmark = pytest.mark.django_db


@pytest.fixture
def provider(settings):
    sign_on._documents.clear()
    import_module("annotate.urls")  # as on a server without a provider
    made = Provider()
    settings.OIDC_ISSUER = made.issuer
    settings.OIDC_CLIENT_ID, settings.OIDC_CLIENT_SECRET = CLIENT, SECRET
    settings.OIDC_ADMIN_GROUP, settings.OIDC_STAFF_GROUP = "plumbline-admins", "staff"
    settings.ROOT_URLCONF = "tests.annotate.sign_on.urls"
    settings.OIDC_NAME = "Lab University"
    settings.AUTHENTICATION_BACKENDS = [
        "annotate.sign_on.provider.Backend",
        *settings.AUTHENTICATION_BACKENDS,
    ]
    yield made
    made.close()


def at_provider(address: str) -> str:
    """Log in at the provider; return where it sends the browser."""
    url = urlsplit(address)
    connection = HTTPConnection(url.hostname, url.port, timeout=10)
    connection.request("GET", f"{url.path}?{url.query}")
    return connection.getresponse().headers["Location"]


def come_back(client: Client, query: str = ""):
    """Log in, and return the answer to the browser's return."""
    return client.get(at_provider(client.get(f"/oidc/start/{query}")["Location"]))


def who(client: Client) -> User | None:
    return User.objects.filter(pk=client.session.get("_auth_user_id")).first()


def test_person_of_a_group_logs_in_with_its_rights(client, provider):
    provider.person |= {"groups": ["staff"], "email": "ann@example.org"}
    page = client.get("/login/?next=/glossary/").content.decode()
    assert "Log in with Lab University" in page
    assert "/oidc/start/?next=%2Fglossary%2F" in page
    answer = come_back(client, "?next=/glossary/")
    assert answer["Location"] == "/glossary/"
    user = who(client)
    assert (user.username, user.is_staff, user.is_superuser) == ("ann", True, False)
    assert not user.has_usable_password()
    assert not user.email
    assert client.get("/setup/").status_code == 200
    client.post("/logout/")
    assert who(client) is None


@pytest.mark.parametrize(
    ("address", "end"),
    [
        ("https://evil.example/", "/studies/"),
        ("//evil.example/x", "/studies/"),
        ("/account/", "/account/"),
    ],
)
def test_foreign_address_is_not_gone_to_after_the_login(client, provider, address, end):
    provider.person["groups"] = ["staff"]
    assert come_back(client, f"?next={address}")["Location"] == end


def test_token_with_a_wrong_claim_is_refused(provider, subtests):
    provider.person["groups"] = ["plumbline-admins"]
    wrong = [
        {"nonce": "of another login"},
        {"aud": "another client"},
        {"aud": [CLIENT, "another client"], "azp": "another client"},
        {"iss": "http://127.0.0.1:9/realm"},
        {"exp": int(time.time()) - 3600},
        {"iat": int(time.time()) + 3600},
        {"sub": "somebody else"},
        {"sub": None},
        {"exp": None},
    ]
    for number, change in enumerate(wrong):
        # Refused logins from one address are counted.
        client = Client(REMOTE_ADDR=f"192.0.2.{number}")
        with subtests.test(str(change)):
            provider.spoil = lambda claims, change=change: {
                name: value
                for name, value in (claims | change).items()
                if value is not None
            }
            answer = come_back(client)
            assert answer.status_code == 403
            assert "was not completed" in answer.content.decode()
            assert who(client) is None
            assert not User.objects.exists()


def test_token_of_another_key_is_refused(client, provider):
    provider.person["groups"] = ["plumbline-admins"]
    provider.signing_key = rsa.generate_private_key(65537, 2048)
    assert come_back(client).status_code == 403
    assert who(client) is None


def test_unsigned_token_is_refused(client, provider, monkeypatch):
    provider.person["groups"] = ["plumbline-admins"]
    encode = jwt.encode
    monkeypatch.setattr(
        jwt, "encode", lambda claims, *_key, **_how: encode(claims, None, "none")
    )
    assert come_back(client).status_code == 403
    assert who(client) is None


def test_code_is_used_once_and_by_one_browser(client, provider):
    provider.person["groups"] = ["staff"]
    back = at_provider(client.get("/oidc/start/")["Location"])
    other = Client()
    other.get("/oidc/start/")
    assert other.get(back).status_code == 403  # its state is of another browser
    assert client.get(back).status_code == 302
    client.post("/logout/")
    assert client.get(back).status_code == 403
    assert who(client) is None


def test_replayed_code_is_refused_by_its_state_and_by_the_provider(client, provider):
    provider.person["groups"] = ["staff"]
    first = at_provider(client.get("/oidc/start/")["Location"])
    client.get(first)
    client.post("/logout/")
    second = at_provider(client.get("/oidc/start/")["Location"])
    code = dict(part.split("=") for part in urlsplit(first).query.split("&"))["code"]
    state = dict(part.split("=") for part in urlsplit(second).query.split("&"))["state"]
    answer = client.get("/oidc/return/", {"code": code, "state": state})
    assert answer.status_code == 403
    assert who(client) is None


def test_error_of_the_provider_logs_nobody_out(client, provider):
    provider.person["groups"] = ["staff"]
    come_back(client)
    assert client.get("/oidc/return/?error=access_denied").status_code == 403
    assert who(client) is not None


def test_name_and_unverified_email_of_an_account_do_not_give_it(client, provider):
    admin = User.objects.create_superuser("ann", "ann@example.org", "a password")
    provider.person |= {
        **{"groups": ["staff"], "preferred_username": "Ann"},
        **{"email": "ann@example.org", "email_verified": False},
    }
    come_back(client)
    user = who(client)
    assert user != admin
    assert (user.username, user.is_superuser) == ("Ann-2", False)
    assert come_back(Client()).status_code == 302  # again: the same account
    assert User.objects.count() == 2


def test_groups_give_roles_in_studies_and_take_them_away(client, provider):
    study = make_study()
    other = make_study(slug="second", benchmark=study.benchmark)
    provider.person["groups"] = [
        "/plumbline/trial/manager",
        "plumbline/trial/researcher",
        "plumbline/no-such-study/manager",
    ]
    come_back(client)
    user = who(client)
    assert [(m.study, m.role) for m in user.memberships.all()] == [(study, "manager")]
    assert Event.objects.filter(kind=Event.Kind.MEMBER_ADDED, study=study).count() == 1
    StudyMember.objects.create(study=other, user=user, role="researcher")  # by hand
    provider.person["groups"] = ["plumbline/second/manager"]
    come_back(Client())
    assert [(m.study, m.role) for m in user.memberships.all()] == [
        (other, "researcher")
    ]
    assert client.get("/studies/trial/").status_code == 404  # in the older session
    come_back(Client())  # what was given by hand stays at every login
    provider.person["groups"] = []
    assert come_back(Client()).status_code == 302
    assert user.memberships.count() == 1
    user.memberships.all().delete()
    answer = come_back(Client())
    assert answer.status_code == 403
    assert "none of your groups" in answer.content.decode()


def test_administrator_without_the_group_is_none_any_more(client, provider):
    provider.person["groups"] = ["/plumbline-admins"]
    come_back(client)
    assert who(client).is_superuser
    provider.person["groups"] = ["staff"]
    come_back(Client())
    user = who(client)
    assert (user.is_superuser, user.is_staff) == (False, True)


def test_person_without_a_group_gets_no_account(client, provider, settings, subtests):
    settings.OIDC_ADMIN_GROUP = ""
    for groups in [None, [], "", ["other"], [{"name": "staff"}], [""]]:
        with subtests.test(str(groups)):
            provider.person["groups"] = groups
            answer = come_back(client)
            assert answer.status_code == 403
            assert "Ask the manager of your study" in answer.content.decode()
            assert not User.objects.exists()


def test_owner_links_a_password_account_which_keeps_its_rights(client, provider):
    alice = User.objects.create_superuser("alice", password="a password")
    client.force_login(alice, "django.contrib.auth.backends.ModelBackend")
    assert "Link Lab University" in client.get("/account/").content.decode()
    assert come_back(client, "?next=/account/")["Location"] == "/account/"
    assert (
        "You can log in by Lab University" in client.get("/account/").content.decode()
    )
    other = Client()
    come_back(other)
    assert who(other) == alice
    assert who(other).is_superuser
    bob = User.objects.create_user("bob", is_staff=True)
    client.force_login(bob, "django.contrib.auth.backends.ModelBackend")
    answer = come_back(client)
    assert "belongs to another account" in answer.content.decode()
    assert Identity.objects.get().user == alice


def test_deactivated_account_does_not_log_in_and_its_token_ends(client, provider):
    provider.person["groups"] = ["staff"]
    come_back(client)
    user = who(client)
    ApiToken.issue(user=user, name="script", scope="read")
    accounts.deactivate(user, by=user)
    assert who(client) is None
    assert ApiToken.objects.get().revoked_at
    answer = come_back(client)
    assert answer.status_code == 403
    assert "is deactivated" in answer.content.decode()


def test_erased_account_is_not_found_by_its_identity(client, provider):
    provider.person["groups"] = ["staff"]
    come_back(client)
    user = who(client)
    erase(user)
    assert not Identity.objects.exists()
    come_back(client)
    assert who(client) != user


def test_provider_that_is_away_is_named(client, provider):
    provider.answers = False
    answer = client.get("/oidc/start/")
    assert answer.status_code == 503
    assert "Lab University cannot be reached" in answer.content.decode()
    assert client.get("/login/").status_code == 200


def test_wrong_passwords_from_an_address_do_not_stop_logins_here(client, provider):
    User.objects.create_user("alice", password="a password")
    for _attempt in range(6):
        client.post("/login/", {"username": "alice", "password": "wrong"})
    provider.person["groups"] = ["staff"]
    assert come_back(client).status_code == 302


def test_passwords_can_be_switched_off(client, provider, settings):
    settings.PASSWORD_LOGIN = False
    settings.AUTHENTICATION_BACKENDS = [
        one for one in settings.AUTHENTICATION_BACKENDS if "ModelBackend" not in one
    ]
    alice = User.objects.create_superuser("alice", password="a password")
    assert 'type="password"' not in client.get("/login/").content.decode()
    client.post("/login/", {"username": "alice", "password": "a password"})
    assert who(client) is None
    token = client.post(
        "/api/v1/token/", {"username": "alice", "password": "a password"}
    )
    assert token.status_code >= 400
    with pytest.raises(accounts.AccountError, match="Lab University"):
        accounts.issue_link(alice, by=alice)


def test_addresses_are_hidden_without_a_provider(client):
    for stage in ("start", "return"):
        assert client.get(f"/oidc/{stage}/").status_code == 404
    assert "Log in with" not in client.get("/login/").content.decode()
