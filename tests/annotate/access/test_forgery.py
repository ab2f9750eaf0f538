"""Attacks on who somebody is: forged requests, methods, addresses, sessions, names."""

import pytest
from django.conf import settings as live
from django.test import Client
from django.urls import reverse

from annotate.models import JoinLink, User
from tests.annotate.address_table import (
    HIDDEN,
    NEVER,
    World,
    addresses,
    ask,
    documented,
)
from tests.factories import make_study
from tests.people import alice, log_in, program

pytestmark = pytest.mark.django_db

EVIL = "https://evil.example/"
ELSEWHERE = (
    EVIL,
    "//evil.example/",
    "///evil.example/",
    r"\\evil.example/",
    "/\\evil.example/",
    "https:evil.example",
    "javascript:alert(1)",
    "\tjavascript:alert(1)",
    "http://testserver@evil.example/",
    "https://evil.example\\@testserver/",
    "/%09/evil.example",
)


# What takes a name and password, or a link's own header, and no cookie.
def needs_no_session(address) -> bool:
    return address.name == "api-token" or address.route.startswith("api/v1/session/")


# Django's own views, which do the same whatever the method is called.
OF_DJANGO = {"login", "logout", "set_language"}


def url_of(world: World, address, link: str) -> str:
    return address.url(world.words(address, link))


def test_unsafe_requests_require_a_csrf_token(tmp_path):
    """Attack: another site's page posts, in the browser of somebody who may.

    No token guards a link to an address that only takes forms.
    """
    world = World(tmp_path)
    client = Client(enforce_csrf_checks=True)
    client.force_login(User.objects.get(username="sue"))
    shown = {address for _title, method, address in documented() if method == "GET"}
    refused = links = 0
    for address in addresses():
        if needs_no_session(address):
            continue
        url = url_of(world, address, world.ann.invitation.token)
        answer = client.post(url)
        assert answer.status_code in (403, 405), (address, answer.status_code)
        refused += answer.status_code == 403
        if address.shown not in shown:
            assert ask(client, "GET", url) in (NEVER, HIDDEN), address
            links += 1
    assert refused > 50
    assert links > 50


def test_requests_without_csrf_token_use_no_session(tmp_path):
    """Attack: another site's page asks for a token, or answers as an annotator."""
    world = World(tmp_path)
    client = Client(enforce_csrf_checks=True)
    client.force_login(User.objects.get(username="sue"))
    for address in addresses():
        if needs_no_session(address):
            url = url_of(world, address, world.ann.invitation.token)
            answer = client.post(url, {}, "application/json")
            # Of a browser with a session even the token is asked for.
            assert answer.status_code in (400, 401, 403), address
    url = reverse("api-scores", args=[world.trial.slug])
    assert program("sue").post(url, {}, format="json").status_code == 400


@pytest.mark.slow
def test_addresses_refuse_other_http_methods(tmp_path):
    """Attack: a guard that looks at GET and POST only."""
    world = World(tmp_path)
    client, link = log_in("sue"), world.ann.invitation.token
    for address in addresses():
        if address.name in OF_DJANGO or address.is_api:
            continue
        known = link if world.study(address) == world.trial else "x" * 24
        for method in ("PUT", "DELETE"):
            word = ask(client, method, url_of(world, address, known))
            assert word == NEVER, (address, method, word)


# Sessions and cookies -----------------------------------------------------------------


def test_session_key_changes_at_login_and_logout():
    """Attack: Eve gives Alice a session of hers, and copies that of the login."""
    User.objects.create_user("alice", password="not-a-secret")
    victim, thief = Client(), Client()
    victim.session["planted"] = True
    victim.session.save()
    planted = victim.cookies[live.SESSION_COOKIE_NAME].value
    victim.post(reverse("login"), {"username": "alice", "password": "not-a-secret"})
    own = victim.cookies[live.SESSION_COOKIE_NAME].value
    assert victim.get(reverse("study-list")).status_code == 200
    victim.post(reverse("logout"))
    for copied in (planted, own):
        thief.cookies[live.SESSION_COOKIE_NAME] = copied
        assert thief.get(reverse("study-list")).status_code == 302
    assert planted != own


def test_cookies_are_httponly_and_same_site():
    User.objects.create_user("alice", password="not-a-secret")
    client = Client()
    client.get(reverse("login"))
    given = {"username": "alice", "password": "not-a-secret"}
    client.post(reverse("login"), given)
    session = client.cookies[live.SESSION_COOKIE_NAME]
    assert session["httponly"]
    assert session["samesite"] == "Lax"
    assert not session["domain"]
    token = client.cookies[live.CSRF_COOKIE_NAME]
    assert token["samesite"] == "Lax"
    assert not token["domain"]


# Where one is led ---------------------------------------------------------------------


def test_links_do_not_redirect_to_another_site():
    """Attack: a link to this site that leads to one that looks like it."""
    study = make_study(consented=True)
    link = JoinLink.objects.create(study=study, most=3)
    User.objects.create_user("mallory", password="not-a-secret")
    manager = alice(study)
    for there in ELSEWHERE:
        given = {"username": "mallory", "password": "not-a-secret", "next": there}
        anybody = Client()
        answers = [
            anybody.post("/i18n/setlang/", {"language": "en", "next": there}),
            anybody.post(
                "/i18n/setlang/", {"language": "en"}, headers={"Referer": EVIL + there}
            ),
            anybody.get(reverse("join", args=[link.token]), {"next": there}),
            anybody.post(reverse("logout"), {"next": there}),
            Client().post(reverse("login"), given),
            Client().post(reverse("login") + "?next=" + there, given),
            manager.get(reverse("login"), {"next": there}),
        ]
        for answer in answers:
            place = answer.headers.get("Location", "/")
            assert place.startswith("/"), (there, answer)
            assert not place.startswith(("//", "/\\")), (there, answer)


# Names and addresses that a request claims --------------------------------------------


def test_page_is_refused_when_the_host_is_foreign(client):
    """Attack: a site of that name is led to this server, and reads what it answers."""
    for address in ("/", "/login/", "/rate/a-link/"):
        foreign = client.get(address, headers={"host": "evil.example"})
        assert foreign.status_code == 400, address
        assert client.get(address).status_code != 400


def test_proxy_headers_are_ignored_without_trusted_proxies():
    study = make_study()
    headers = {
        "X-Forwarded-Host": "evil.example",
        "X-Forwarded-Port": "1",
        "X-Forwarded-Proto": "https",
        "Forwarded": "host=evil.example;proto=https",
        "X-Original-URL": "/accounts/",
        "X-Rewrite-URL": "/accounts/",
        "X-HTTP-Method-Override": "DELETE",
    }
    page = alice(study).get(
        reverse("annotator-list", args=[study.slug]), headers=headers
    )
    text = page.content.decode()
    assert page.status_code == 200
    assert not page.wsgi_request.is_secure()
    assert "http://testserver/rate/" in text
    assert "evil.example" not in text
