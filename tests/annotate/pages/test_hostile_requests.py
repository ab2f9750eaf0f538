"""Attacks by requests: every parameter, every field of every form, bodies, cookies.

No request may make a page fail.
"""

import io
import re
from html.parser import HTMLParser
from itertools import product
from pathlib import Path

import pytest
from django.conf import settings as live
from django.db import transaction
from django.test import Client
from django.urls import reverse

import annotate
from annotate.middleware import LARGEST_BODY
from tests.annotate.address_table import World, addresses, query_of
from tests.people import log_in

pytestmark = pytest.mark.django_db

HOSTILE = (
    "' OR 1=1 --",
    '"; DROP TABLE annotate_study; --',
    "9" * 30,
    "-1",
    "²",
    "٣",
    "NaN",
    "1e999",
    "%",
    "a" * 3000,
    "\ud800".encode("utf-8", "surrogatepass").decode("latin-1"),
    "{{ 7*7 }}{% debug %}%(x)s{0}",
    "../../etc/passwd",
    "a\r\nSet-Cookie: x=1",
)
XSS = "\"'><script>alert(1)</script>"
ASKED = re.compile(r"""(?:GET|query_params|asked)\.(?:get|getlist)\(\s*["'](\w+)["']""")


def parameters() -> set[str]:
    """Return the names of all parameters that any page asks for."""
    sources = Path(annotate.__file__).parent.rglob("*.py")
    found = {name for path in sources for name in ASKED.findall(path.read_text())}
    return found | {"limit", "offset", "format", "next"}


class Forms(HTMLParser):
    """The forms of a page: where they are sent, how, and their fields."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, str, dict[str, str]]] = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        if tag == "form":
            method = (given.get("method") or "get").upper()
            self.found.append((given.get("action") or "", method, {}))
        elif tag in ("input", "select", "textarea", "button") and given.get("name"):
            if not self.found:
                return
            fields = self.found[-1][2]
            fields[given["name"]] = given.get("value") or ""


def send(client: Client, method: str, url: str, fields: dict) -> None:
    """Send it, fail if the server does, and undo what it did."""
    with transaction.atomic():
        answer = client.generic(
            method,
            url if method == "POST" else f"{url}?{query(fields)}",
            query(fields) if method == "POST" else "",
            "application/x-www-form-urlencoded",
        )
        transaction.set_rollback(True)
    assert answer.status_code < 500, (method, url, fields)
    assert "Set-Cookie: x" not in str(answer.headers)


def query(fields: dict) -> str:
    from urllib.parse import urlencode

    return urlencode(fields)


@pytest.fixture
def world(tmp_path):
    return World(tmp_path)


def pages(world):
    """Yield who asks, the address, and what was answered, of all that can be read."""
    sue, anybody = log_in("sue"), Client()
    link = world.ann.invitation.token
    for address in addresses():
        client = anybody if address.is_link else sue
        url = address.url(world.words(address, link))
        with transaction.atomic():
            answer = client.get(url + query_of(address))
            transaction.set_rollback(True)
        yield client, url, answer


@pytest.mark.slow
def test_hostile_parameters_cause_no_server_error(world):
    """Attack: SQL, formats, numbers and broken letters in every parameter."""
    names = parameters()
    assert {"method", "session", "before", "as_of", "page", "proof"} <= names
    asked = 0
    for client, url, answer in pages(world):
        if answer.status_code == 200 and "schema" not in url:
            for value in (HOSTILE[asked % len(HOSTILE)], XSS):
                send(client, "GET", url, dict.fromkeys(names, value))
                asked += 1
    assert asked > 90


@pytest.mark.slow
def test_hostile_form_fields_cause_no_server_error(world):
    """Attack: every form of every page, each of its fields filled with what is odd."""
    sent = 0
    for client, url, answer in list(pages(world)):
        if not answer.get("Content-Type", "").startswith("text/html"):
            continue
        for action, method, fields in Forms(b"".join(answer).decode()).found:
            to = url if action in ("", ".") else action
            if not fields or to in ("/i18n/setlang/", "/logout/"):
                continue
            for value in (HOSTILE[sent % len(HOSTILE)], XSS):
                send(client, method, to, dict.fromkeys(fields, value))
                # All is well but one.
                one = sorted(fields)[sent % len(fields)]
                send(client, method, to, fields | {one: value})
                sent += 1
    assert sent > 60


# Bodies and cookies -------------------------------------------------------------------

DEEP = ("[" * 100_000, '{"a":' * 100_000, '{"username": ' + "[" * 100_000)


@pytest.mark.slow
def test_deeply_nested_json_is_refused(world):
    sent = "application/json"
    slot = world.ann.slots.first()
    link = world.ann.invitation.token
    save = reverse("rate-save", args=[link, slot.code])
    program = Client(headers={"Authorization": f"Invitation {link}"})
    asked = (
        (Client(), reverse("api-token")),
        (log_in("sue"), reverse("api-scores", args=[world.trial.slug])),
        (program, reverse("api-submit", args=[slot.code])),
    )
    for body in DEEP:
        assert Client().generic("POST", save, body, sent).status_code == 400
    for (client, url), body in product(asked, DEEP):
        answer = client.generic("POST", url, body, sent)
        assert answer.status_code == 400, url
        assert "nested too deep" in answer.json()["detail"]


@pytest.mark.parametrize("url", ["/login/", "/api/v1/token/", "/nothing/"])
def test_huge_file_is_refused_unread(url):
    """Attack: files that nobody asked for fill the disk; no account is needed."""

    class NeverRead(io.RawIOBase):
        def read(self, *_size):
            raise AssertionError("the body is read")

    client = Client()
    answer = client.post(
        url,
        **{
            "CONTENT_TYPE": "multipart/form-data; boundary=x",
            "CONTENT_LENGTH": str(LARGEST_BODY + 1),
            "wsgi.input": NeverRead(),
        },
    )
    assert answer.status_code == 413
    assert b"send at most 20 MB." in answer.content


@pytest.mark.parametrize(
    "name", [live.SESSION_COOKIE_NAME, live.CSRF_COOKIE_NAME, "messages", "annotator-1"]
)
@pytest.mark.parametrize(
    "value", ['"\\000aaaaaaaaaaaaaa"', '"\\355\\240\\200aaaaaaaa"']
)
def test_invalid_cookies_cause_no_error(name, value):
    """Attack: a NUL that is written as an escape, which PostgreSQL cannot look up."""
    answer = Client().get(reverse("study-list"), headers={"Cookie": f"{name}={value}"})
    assert answer.status_code in (302, 400)
