"""Request ids in log lines and pages."""

import json
import logging
import re

import pytest

from annotate.models import User
from evalcore.serving import request_log
from evalcore.serving.log import JsonLine, RedactedLine
from tests.factories import make_study
from tests.people import alice

pytestmark = pytest.mark.django_db

TOKEN = "3xKd-09aBcDeFgHiJkLmNoPq"
LINE = logging.Formatter("%(message)s%(context)s")


@pytest.fixture
def lines(caplog):
    """Return the logged lines in each of the two formats."""
    caplog.set_level(logging.INFO, request_log.logger.name)
    return lambda: [
        (LINE.format(record), json.loads(JsonLine().format(record)))
        for record in caplog.records
    ]


def line_of(found, words: str):
    (line,) = [one for one in found if words in one[0]]
    return line


def test_each_failed_response_has_a_different_id(client):
    ids = {client.get("/gone/")["X-Request-ID"] for _ in range(3)}
    assert len(ids) == 3
    assert all(re.fullmatch("[0-9a-f]{16}", one) for one in ids)


@pytest.mark.parametrize(
    ("proxies", "given", "is_taken"),
    [
        (1, "7f3c-from.proxy_1", True),
        (0, "7f3c-from.proxy_1", False),
        (1, "short", False),
        (1, "with blank in it", False),
        (1, "x" * 65, False),
        (1, TOKEN, False),
    ],
)
def test_request_id_is_taken_from_trusted_proxies_only(
    client, settings, proxies, given, is_taken
):
    """Attack: a request writes lines or links into the log."""
    settings.TRUSTED_PROXIES = proxies
    got = client.get("/gone/", headers={"X-Request-ID": given})["X-Request-ID"]
    assert (got == given) is is_taken


def test_log_line_names_the_account(lines):
    study = make_study(consented=True)
    client = alice(study)
    user = User.objects.get(username="alice").pk
    answer = client.get(f"/studies/{study.slug}/slots/gone/")
    text, told = line_of(lines(), "Not Found: /studies/")
    request = answer["X-Request-ID"]
    assert text.endswith(f" [request={request} user={user} study=trial]")
    wanted = {"request": request, "user": user, "study": "trial"}
    assert {name: told[name] for name in wanted} == wanted
    assert told["level"] == "WARNING"
    assert told["logger"] == "django.request"
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:.]{12}\+00:00", told["time"])


def test_log_line_names_annotators_by_key_not_link(client, lines):
    study = make_study(consented=True)
    person = study.annotators.first()
    token = person.invitation.token
    client.get(f"/rate/{token}/story/gone/")
    text, told = line_of(lines(), "Not Found: /rate/")
    assert (told["study"], told["annotator"]) == ("trial", person.pk)
    assert f"study=trial annotator={person.pk}]" in text
    assert token not in text + str(told)


def test_request_line_has_route_but_no_address(client, lines):
    study = make_study(consented=True)
    token = study.annotators.first().invitation.token
    client.get(f"/rate/{token}/consent/?proof={TOKEN}")
    client.get(f"/rate/{token}/story/x/left/1/thumb/")
    client.get("/nothing/here/")
    client.get("/static/plumbline/icon.svg")
    routes = [told["route"] for _line, told in lines() if "route" in told]
    assert routes == [
        "/rate/<token>/consent/",
        "/rate/<token>/story/<code>/<side>/<number>/<rendition>/",
        "-",
        "/static/...",
    ]
    text, told = line_of(lines(), "GET /rate/<token>/consent/")
    assert re.match(r"GET /rate/<token>/consent/ 200 [\d.]+ ms \[", text)
    assert (told["method"], told["status"]) == ("GET", 200)
    assert 0 < told["ms"] < 60_000
    assert token not in str(lines())


@pytest.fixture
def broken(monkeypatch, client):
    """A page that fails, as a browser gets it."""
    monkeypatch.setattr("annotate.pages.start.render", None)
    client.raise_request_exception = False
    return client


def test_error_page_shows_the_request_id(broken, lines):
    answer = broken.get("/")
    assert answer.status_code == 500
    request = answer["X-Request-ID"]
    assert f"<code>{request}</code>" in answer.content.decode()
    text, told = line_of(lines(), "Internal Server Error: /")
    assert f"[request={request}]" in text
    assert told["request"] == request
    assert "TypeError" in told["exception"]


def test_json_line_drops_extra_fields_and_secrets():
    """Attack: what is added to a record is not looked at when it is made."""
    record = RedactedLine(
        "any", logging.ERROR, "x", 1, "at %s", (f"/rate/{TOKEN}/",), None
    )
    record.request, record.route = f"<GET '/rate/{TOKEN}/'>", f"/rate/{TOKEN}/"
    told = json.loads(JsonLine().format(record))
    assert TOKEN not in str(told)
    assert "request" not in told
    assert re.fullmatch("/rate/~[0-9a-f]{8}/", told["route"])
