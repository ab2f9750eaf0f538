"""Links, tokens and proofs in what a server writes: every address, the real process."""

import json
import logging
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from django.conf import settings as live
from django.test import RequestFactory
from django.urls import get_resolver
from django.views.debug import get_exception_reporter_class

from evalcore.serving.log import RedactedLine, redact
from evalcore.serving.supervisor import web_command
from tests.factories import make_study
from tests.serving import answers, free_port

ROOT = Path(__file__).resolve().parents[3]
# A link as `new_token` makes them; one without a digit; a token of the API.
LINK = "3xKd-09aBcDeFgHiJkLmNoPq"
LETTERS = "abcdefghijABCDEFGHIJabcd"
TOKEN = "9944b09199c62bcf9418ad846dd0e4bbdfc6ee4b"
PROOF = ":1tVxyz:c2lnbmF0dXJlLW9mLWEtcHJvb2Y"

# Parameters of addresses: what lets somebody in, and what does not.
SECRET = {"token"}
PUBLIC = {
    "slug",
    "code",
    "table",
    "pk",
    "delivery_pk",
    "action",
    "offer",
    "benchmark",
    "run",
    "side",
    "number",
    "rendition",
    "index",
    "name",
    "format",
    "kind",
    "question",
    "which",
}
VALUES = {
    "code": "12",
    "side": "left",
    "number": "1",
    "rendition": "thumb",
    "index": "1",
    "question": "1",
    "which": "bad",
}


def secret_addresses(secret: str) -> dict[str, str]:
    """Return an address of every page whose address holds a secret, by name."""
    found = {}
    routes = get_resolver().reverse_dict
    for name in routes:
        for possibilities, *_rest in routes.getlist(name):
            for template, parameters in possibilities:
                assert set(parameters) <= SECRET | PUBLIC, "secret, or public?"
                if SECRET & set(parameters) and isinstance(name, str):
                    values = VALUES | dict.fromkeys(SECRET, secret)
                    found[name] = "/" + template % values
    return found


@pytest.fixture(params=["line", "json"])
def server(request, tmp_path, transactional_db, settings):
    """gunicorn as `make run` starts it, with its access log, and all that it wrote."""
    settings.LOG_FORMAT = request.param
    port = free_port()
    log = tmp_path / "log.txt"
    command = [
        part.replace("evalcore.wsgi", "tests.leaking_wsgi")
        for part in web_command("127.0.0.1", port)
    ]
    env = os.environ | {
        "DATA_DIR": str(tmp_path),
        "DATABASE_URL": f"sqlite:///{live.DATABASES['default']['NAME']}",
        "PYTHONUNBUFFERED": "1",
        "LOG_FORMAT": request.param,
        "LOG_REQUESTS": "1",
    }
    with log.open("wb") as out:
        process = subprocess.Popen(
            [*command, "--access-logfile", "-"],
            cwd=ROOT,
            env=env,
            stdout=out,
            stderr=subprocess.STDOUT,
        )
    try:
        end = time.monotonic() + 120
        while not answers(port):
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < end
            time.sleep(0.2)
        yield port, lambda: as_told(log.read_text(errors="replace"), request.param)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)


def as_told(log: str, how: str) -> str:
    """Return what a log tells, out of its JSON if it is that."""
    if how == "line":
        return log
    told, objects = [], 0
    for line in log.splitlines():
        try:
            found = json.loads(line)
        except ValueError:
            told.append(line)  # of a message to administrators, which no log writes
        else:
            objects += 1
            told += [f"{name}={value}" for name, value in found.items()]
    assert objects > 100
    return " ".join([*told, log])


def send(port: int, line: str, *headers: str, host: str = "127.0.0.1") -> int:
    """Send a request as it stands; return the status."""
    lines = [line, f"Host: {host}", "Connection: close", *headers, "", ""]
    with socket.create_connection(("127.0.0.1", port), timeout=60) as sent:
        sent.sendall("\r\n".join(lines).encode())
        reply = b""
        while part := sent.recv(65536):
            reply += part
    return int(reply.split(b" ", 2)[1])


@pytest.mark.parametrize("secret", [LINK, LETTERS])
def test_every_address_with_a_secret_is_redacted(secret):
    addresses = secret_addresses(secret).values()
    assert len(addresses) > 20
    assert [one for one in addresses if secret in redact(f"GET {one} HTTP/1.1")] == []


@pytest.mark.slow
@pytest.mark.sqlite
def test_logs_contain_no_secrets_of_requests(server):
    """Attack: a reader of the logs opens the links in them."""
    port, written = server
    study = make_study(consented=True)
    own = study.annotators.first().invitation.token
    secrets = [LINK, LETTERS, TOKEN, own, PROOF]
    statuses = set()

    def ask(target, *headers, method="GET", version="HTTP/1.1", **host):
        statuses.add(send(port, f"{method} {target} {version}", *headers, **host))

    for secret, method in ((LINK, "GET"), (LETTERS, "POST")):
        for address in secret_addresses(secret).values():
            referer = f"Referer: http://127.0.0.1:{port}/rate/{own}/story/x/"
            ask(address, referer, method=method)
        for odd in (
            f"/rate/{secret}",
            f"/rate//{secret}/",
            f"/rate/%20{secret}/",
            f"/en/join/{secret}/?a=b",
            f"/login/?next=%2Frate%2F{secret}%2F",
            f"/rate/{secret}/?fail=django",
            f"/rate/{secret}/?fail=gunicorn",
            f"/rate/{secret}/story/x/save/?proof={PROOF}",
        ):
            ask(odd)
        ask(f"/rate/{secret}/", version="HTTP/9.9")
        ask(f"/rate/{secret}/", host="elsewhere")
        ask(f"/rate/{secret}/", "bad header")
        ask(f"/rate/{secret}/{'x' * 5000}")
    ask(f"/rate/{own}/")
    ask(f"/rate/{own}/story/x/", f"Cookie: annotator-1={own}; sessionid={LETTERS}")
    ask(f"/rate/{own}/?fail=django", f"Cookie: sessionid={LETTERS}")
    for _ in range(51):
        ask(f"/join/{LINK}/")
    for scheme, secret in (("Token", TOKEN), ("Invitation", LINK)):
        ask(
            "/api/v1/session/story/", f"Authorization: {scheme} {secret}", method="POST"
        )
        ask("/api/v1/studies/?fail=django", f"Authorization: {scheme} {secret}")

    log = written()
    assert {302, 400, 401, 403, 404, 429, 500} <= statuses
    assert [secret for secret in secrets if secret in log] == []
    # It did write of all this, and two lines about one link can be matched.
    for line in (
        "Not Found: /rate/",
        "Forbidden (CSRF",
        "Server Error: /rate/",
        "Error handling request GET /rate/",
        "Subject: [Django] ERROR",
        "Invalid request from",
        "Invalid HTTP_HOST header",
        'HTTP/1.1" 404',
        "GET /rate/<token>/ 302",
        f"study={study.slug} annotator={study.annotators.first().pk}",
        '"http://127.0.0.1',
    ):
        assert line in log, line
    for secret in (LINK, LETTERS, own):
        mark = redact(f"/rate/{secret}/")
        assert re.fullmatch(r"/rate/~[0-9a-f]{8}/", mark)
        assert log.count(mark) >= 3


@pytest.mark.parametrize("secret", [LINK, LETTERS])
@pytest.mark.parametrize(
    "text",
    [
        "Not Found: /rate/{}/",
        "GET /join/{} HTTP/1.1",
        "/rate//{}",
        "/rate/ {}/",
        "/RATE/{}/story/",
        "?next=%2Frate%2F{}%2F",
        "http://lab/preview/{}?x",
        "Authorization: Token {}",
        "Invitation {}",
        "{{'token': '{}'}}",
        "token={}",
        "?next=%252Frate%252F{}%252Fstory",
        "?a=%25252fjoin%25252f{}%25252f",
        "?proof={}&x=1",
        "proof%3D{}",
        "%252Fsave%252F%253Fproof%253D{}",
        "Cookie: sessionid={}; csrftoken={}",
        "<WSGIRequest: GET '/rate/{}/consent/'>",
        "('/rate/{}/',)",
    ],
)
def test_secrets_become_marks_in_any_place(text, secret):
    told = redact(text.format(secret, secret))
    assert secret not in told
    assert redact(f"/rate/{secret}/")[6:-1] in told
    assert redact(told) == told


@pytest.mark.parametrize(
    "text",
    [
        f"Reverse for 'x' with arguments '('{LINK}',)'",
        f"Key (token)=({LINK})",
        f"/{LINK}/",
        f"/rate/{LINK}.html",
        f"a {TOKEN} b",
    ],
)
def test_secrets_are_recognised_by_their_form(text):
    assert "~" in redact(text)
    assert LINK not in redact(text)
    assert TOKEN not in redact(text)


def test_cookies_are_redacted():
    told = redact(f"cookie annotator-7=12-{'ab' * 16}.345-{'cd' * 16} of 12")
    assert re.fullmatch(
        r"cookie annotator-7=12-~[0-9a-f]{8}\.345-~[0-9a-f]{8} of 12", told
    )
    assert redact(told) == told


@pytest.mark.parametrize(
    "text",
    [
        'File "templates/rate/slot.html", line 3',
        "annotate/pages/annotator/invitation.py",
        "GET /rate/ HTTP/1.1",
        "CSRF token missing.",
        "AuthenticationMiddleware",
        "/studies/vistorybench-user-study/",
        "Invitation links are printed",
        "0d21b4cd-6db4-4b0d-9a0b-0fd4f7a0f0f9",
        "a" * 64,
        f"page 3-{'a' * 64}",
    ],
)
def test_other_texts_are_not_redacted(text):
    assert redact(text) == text


def test_log_line_with_wrong_arguments_is_logged():
    line = RedactedLine(
        "any", logging.ERROR, "x.py", 1, "%s and %s", (f"/rate/{LINK}/",), None
    )
    assert "'%s and %s'" in line.getMessage()
    assert LINK not in line.getMessage()


def report(request) -> str:
    token = code = LINK
    password = "of-somebody"
    try:
        raise ValueError(f"{token} {code} {len(password)}")
    except ValueError:
        reporter = get_exception_reporter_class(request)(request, *sys.exc_info())
    return reporter.get_traceback_html() + reporter.get_traceback_text()


def test_error_report_has_no_secrets():
    request = RequestFactory().post(
        f"/rate/{LINK}/consent/?proof={PROOF}",
        {"password": "of-somebody", "csrfmiddlewaretoken": LETTERS, "name": "kept"},
        HTTP_REFERER=f"http://lab/rate/{LINK}/",
        HTTP_AUTHORIZATION=f"Token {TOKEN}",
    )
    request.COOKIES = {"annotator-1": f"1-{'ab' * 16}", "sessionid": LETTERS}
    told = report(request)
    for secret in (LINK, LETTERS, TOKEN, PROOF, "of-somebody", "ab" * 16):
        assert secret not in told.replace("password = &quot;of-somebody", "")
    assert "ValueError" in told
    assert "kept" in told
