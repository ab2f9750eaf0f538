"""Guessing passwords, tokens and links: attacks, and people whom they must not stop."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from axes.models import AccessAttempt
from django.db import connection
from django.db.models import F
from django.test import Client, RequestFactory
from django.urls import reverse
from rest_framework.test import APIClient

from annotate.access import rate_limits
from annotate.models import Annotator, User
from annotate.people import joining
from tests.cases import slow
from tests.factories import make_study
from tests.people import program

pytestmark = pytest.mark.django_db

PASSWORD = "nobody-guesses-this"
CHINESE = {"Accept-Language": "zh-hans"}
DOORS = ["login", "api-token"]


@pytest.fixture
def manager():
    return User.objects.create_superuser("alice", password=PASSWORD)


def try_password(door="login", password=PASSWORD, name="alice", at="192.0.2.1", **kw):
    given = {"username": name, "password": password}
    return Client(REMOTE_ADDR=at, **kw).post(reverse(door), given)


def guess(times, door="login", name="alice", at="192.0.2.1", **kw):
    return [
        try_password(door, f"guess {i}", name, at, **kw).status_code
        for i in range(times)
    ]


def is_in(response) -> bool:
    """Say whether the answer to a password lets somebody in."""
    return response.status_code == 302 or b'"token"' in response.content


def later(minutes):
    moved = F("attempt_time") - timedelta(minutes=minutes)
    AccessAttempt.objects.update(attempt_time=moved)


@pytest.mark.parametrize("door", [DOORS[0], *slow(*DOORS[1:])])
def test_right_password_is_refused_after_too_many_wrong_ones(manager, door):
    """Attack: a list of passwords, at each of the doors."""
    statuses = guess(10, door)
    assert 429 not in statuses[:4]
    assert set(statuses[4:]) == {429}
    refused = try_password(door)
    assert refused.status_code == 429
    assert not is_in(refused)
    assert 0 < int(refused["Retry-After"]) <= 900
    later(16)
    assert is_in(try_password(door))


def test_wrong_passwords_are_counted_across_login_pages_and_browsers(manager):
    """Attack: door and name of the browser change with every password."""
    for i in range(6):
        guess(1, DOORS[i % 2], HTTP_USER_AGENT=f"browser {i}")
    refused = [try_password(door, HTTP_USER_AGENT="another") for door in DOORS]
    assert [answer.status_code for answer in refused] == [429, 429]


def test_forwarded_address_counts_only_where_a_proxy_is_trusted(manager, settings):
    """Attack: another address is written into the header for every password."""
    for i in range(8):
        guess(1, HTTP_X_FORWARDED_FOR=f"198.51.100.{i}")
    assert not is_in(try_password(HTTP_X_FORWARDED_FOR="198.51.100.99"))
    settings.TRUSTED_PROXIES = 1
    assert is_in(try_password(HTTP_X_FORWARDED_FOR="198.51.100.99"))
    for i in range(8):  # the last one is the proxy's own word
        guess(1, name="bob", HTTP_X_FORWARDED_FOR=f"198.51.100.{i}, 203.0.113.5")
    User.objects.create_user("bob", password=PASSWORD)
    assert not is_in(
        try_password(name="bob", HTTP_X_FORWARDED_FOR="198.51.100.99, 203.0.113.5")
    )


@pytest.mark.parametrize(
    ("proxies", "forwarded", "peer", "address"),
    [
        (0, "198.51.100.7", "192.0.2.1", "192.0.2.1"),
        (1, "", "192.0.2.1", "192.0.2.1"),
        (1, "203.0.113.1, 198.51.100.7", "127.0.0.1", "198.51.100.7"),
        (2, "203.0.113.1, 198.51.100.7", "127.0.0.1", "203.0.113.1"),
        (3, "203.0.113.1, 198.51.100.7", "127.0.0.1", "203.0.113.1"),
        (1, "unknown", "192.0.2.1", "192.0.2.1"),
        (0, "", "2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"),
        (0, "", "::ffff:192.0.2.1", "192.0.2.1"),
        (0, "", "", "0.0.0.0"),
    ],
)
def test_client_address_follows_trusted_proxies(
    settings, proxies, forwarded, peer, address
):
    settings.TRUSTED_PROXIES = proxies
    given = {"REMOTE_ADDR": peer}
    if forwarded:
        given["HTTP_X_FORWARDED_FOR"] = forwarded
    assert rate_limits.client_address(RequestFactory().get("/", **given)) == address


@pytest.mark.slow
def test_wrong_guesses_lock_out_only_their_address(manager):
    guess(20, at="203.0.113.66")
    assert is_in(try_password(at="192.0.2.1"))


@pytest.mark.slow
def test_guesses_from_many_addresses_are_locked_out(manager):
    """Attack: few passwords from each of many addresses."""
    for i in range(13):
        guess(4, "api-token", at=f"203.0.113.{i}")
    assert not is_in(try_password(at="203.0.113.200"))
    later(16)
    assert is_in(try_password(at="203.0.113.200"))


@pytest.mark.slow
@pytest.mark.parametrize("door", ["login", "api-token"])
def test_known_address_is_not_locked_out(manager, door):
    """Guesses from everywhere cannot keep a manager out."""
    assert is_in(try_password(door, at="192.0.2.1"))
    for i in range(13):
        guess(4, "api-token", at=f"203.0.113.{i}")
    assert not is_in(try_password(door, at="198.51.100.1"))
    assert is_in(try_password(door, at="192.0.2.1"))
    guess(5, door, at="192.0.2.1")
    assert not is_in(try_password(door, at="192.0.2.1"))


@pytest.mark.slow
def test_password_spraying_is_locked_out(manager):
    """Attack: a common password is tried with one name after the other."""
    for i in range(50):
        guess(1, "api-token", name=f"user{i}")
    assert not is_in(try_password())
    assert is_in(try_password(at="198.51.100.1"))


def test_counts_of_guesses_contain_no_credentials():
    """Attack: a reader of the database finds passwords and links."""
    sent = {
        "username": "alice",
        "password": "a password",
        "csrfmiddlewaretoken": "a token",
        "next": "/rate/a-link/",
    }
    address = reverse("login", query={"next": "/rate/a-link/"})
    Client(REMOTE_ADDR="192.0.2.1").post(address, sent)
    row = AccessAttempt.objects.get()
    kept = row.get_data + row.post_data + row.path_info
    assert "password=*" in kept
    assert not [text for text in sent.values() if text in kept]


@pytest.mark.parametrize("door", [DOORS[0], *slow(*DOORS[1:])])
def test_right_password_resets_the_count(manager, door):
    for _day in range(3):
        guess(4, door)
        assert is_in(try_password(door))
    assert not AccessAttempt.objects.exists()


def test_page_says_when_to_try_again_in_the_readers_language(manager):
    guess(5)
    later(5)
    given = {"username": "alice", "password": PASSWORD}
    client = Client(REMOTE_ADDR="192.0.2.1")
    text = client.post(reverse("login"), given).content.decode()
    assert "Too many wrong passwords. You can try again in 10 minutes." in text
    told = client.post(reverse("login"), given, headers=CHINESE)
    assert 'lang="zh-hans"' in told.content.decode()
    api = client.post(reverse("api-token"), given)
    assert api.status_code == 429
    assert int(api["Retry-After"]) <= 601
    assert "detail" in api.json()


def wrong(client, address="/rate/{}/", **headers):
    return client.get(
        address.format(f"wrong-{AccessAttempt.objects.count()}"), **headers
    )


@pytest.mark.parametrize(
    "address", ["/rate/{}/", *slow("/rate/{}/story/x/", "/join/{}/")]
)
def test_wrong_links_are_rate_limited(client, address):
    """Attack: links are guessed as fast as the server answers."""
    statuses = [wrong(client, address).status_code for _ in range(60)]
    assert statuses == [404] * 50 + [429] * 10
    refused = wrong(client, address)
    assert 0 < int(refused["Retry-After"]) <= 900
    assert "Many links that do not exist were opened" in refused.content.decode()
    told = wrong(client, address, headers={"Accept": "application/json"})
    assert told.status_code == 429
    assert "error" in told.json()
    later(16)
    assert wrong(client, address).status_code == 404


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["Token", "Invitation"])
def test_wrong_tokens_are_rate_limited(scheme):
    """Attack: tokens are guessed as fast as the server answers."""
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"{scheme} {'a1' * 20}")
    ask = client.get if scheme == "Token" else client.post
    address = reverse("api-studies" if scheme == "Token" else "api-slot")
    statuses = [ask(address).status_code for _ in range(60)]
    assert statuses == [401] * 50 + [429] * 10
    assert 0 < int(ask(address)["Retry-After"]) <= 900


@pytest.mark.slow
def test_right_link_or_token_works_during_a_block(client, manager):
    """Whole labs share an address, and one of them may be an attacker."""
    study = make_study(consented=True)
    for _ in range(60):
        wrong(client)
    assert wrong(client).status_code == 429
    person = Annotator.objects.first()
    token = person.invitation.token
    assert client.get(reverse("rate-entry", args=[token])).status_code == 302
    link = joining.make_link(study, most=1)
    assert client.get(reverse("join", args=[link.token])).status_code == 200
    api = program(manager.username)
    assert api.get(reverse("api-studies")).status_code == 200
    api.credentials(HTTP_AUTHORIZATION=f"Invitation {token}")
    assert api.post(reverse("api-slot")).status_code != 429
    assert is_in(try_password(at="127.0.0.1"))


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_concurrent_guesses_are_all_counted():
    """Attack: many at a time, in the hope that counts are lost between them."""

    def guess_three(_number):
        try:
            return [wrong(Client()).status_code for _ in range(3)]
        finally:
            connection.close()

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(guess_three, range(6)))
    assert AccessAttempt.objects.get().failures_since_start == 18


@pytest.mark.parametrize("door", [DOORS[0], *slow(*DOORS[1:])])
def test_demo_password_works_only_in_the_demo(manager, door, settings):
    """Attack: somebody serves the demo's data folder as an ordinary server."""
    manager.set_password("plumbline-demo")
    manager.save()
    assert not is_in(try_password(door, "plumbline-demo"))
    settings.DEMO = True
    assert is_in(try_password(door, "plumbline-demo"))
