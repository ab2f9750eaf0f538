"""Attacks by texts: none becomes markup, a script or a formula."""

import csv
import io
import json
import re

import pytest
from django.db import transaction
from django.test import Client
from django.urls import reverse

from analysis.tables import FORMULA
from annotate.models import Slot
from annotate.models.slots import new_code
from evalcore.models import Method
from evalcore.serving.health import PROBES
from tests.annotate.address_table import World, addresses, query_of
from tests.cases import slow_cases
from tests.hostile_texts import MARKUP, SCRIPT, come_alive, fill
from tests.people import answer_everything, log_in

pytestmark = pytest.mark.django_db

NUMBER = re.compile(r"[+-]?[\d.]+(e[+-]?\d+)?")


@pytest.fixture
def world(tmp_path):
    """Create two labs with markup in every text that people can write."""
    world = World(tmp_path)
    answer_everything(world.trial)
    for slot in world.trial.slots.filter(annotator__isnull=False):
        slot.story_comments.create(text="a", annotator=slot.annotator)
        slot.shot_comments.create(
            text="a", shot=1, output=slot.unit.output_a, annotator=slot.annotator
        )
    world.sue = log_in("sue")  # before it is called otherwise
    link = world.ann.invitation.token
    world.asked = {one.url(world.words(one, link)): one for one in addresses()}
    assert fill() > 200
    return world


def answers(world, begin):
    """Yield the address and the response of every readable page that begins so."""
    anybody = Client()
    for url, address in world.asked.items():
        if not url.startswith(begin):
            continue
        client = anybody if address.is_link else world.sue
        with transaction.atomic():
            answer = client.get(url + query_of(address))
            transaction.set_rollback(True)
        yield url, answer


# What annotators read, and where managers read what annotators wrote.
PARTS = ("annotators", "coverage", "events", "slots", "views")
WRITTEN = ("/rate/", *(f"/studies/trial/{part}/" for part in PARTS))


@pytest.mark.parametrize(
    ("begin", "least", "kept"),
    [
        (WRITTEN, (9, 1, 9), {"image"}),
        *slow_cases(("/", (31, 7, 21), {"image", "video"})),
    ],
    ids=["of annotators", "every page"],
)
def test_every_response_escapes_texts_and_has_security_headers(
    world, begin, least, kept
):
    """Attack: a name, a story, a comment, a reason, a tag is a script or a formula.

    A formula would run when a table is opened in a spreadsheet. The next user of a
    shared computer presses Back, or reads its cache.
    """
    shown = tables = cells = 0
    statuses, stored = set(), set()
    for url, answer in answers(world, begin):
        kind = answer.get("Content-Type", "").partition(";")[0]
        if url not in PROBES:  # no browser asks for these
            check_headers(url, answer)
            statuses.add(answer.status_code)
            stored |= {kind.partition("/")[0]} if is_stored(url, answer) else set()
        if answer.streaming and kind == "text/html":
            continue  # the documentation, where it is built
        if kind == "text/html":
            shown += is_shown_as_text(url, answer.content.decode())
        elif kind == "application/json":
            assert json.loads(answer.getvalue()) is not None, url
        elif kind == "text/csv":
            tables += 1
            cells += defused_cells(url, answer.getvalue().decode())
    found = (shown, tables, cells)
    assert all(n >= few for n, few in zip(found, least, strict=True)), found
    assert {200, 302, 405} <= statuses
    assert stored == kept


def check_headers(url, answer):
    """Check what prevents framing, downloads run as scripts, leaking referrers."""
    policy = answer.headers.get("Content-Security-Policy", "")
    assert "frame-ancestors 'none'" in policy, url
    assert "base-uri 'none'" in policy, url
    script = re.search(r"(script-src|default-src) ([^;]*)", policy)
    assert "unsafe" not in script[2], url
    assert answer["X-Content-Type-Options"] == "nosniff", url
    assert answer["X-Frame-Options"] in ("SAMEORIGIN", "DENY"), url
    assert answer["Referrer-Policy"] == "same-origin", url
    assert answer["Cross-Origin-Opener-Policy"] == "same-origin", url
    assert "Access-Control-Allow-Origin" not in answer.headers, url


def is_stored(url, answer):
    """Return whether a browser keeps it; check that others keep nothing."""
    said = answer.headers.get("Cache-Control", "")
    if url.startswith("/public/"):  # caches ask each time
        assert said == "public, no-cache", url
        return False
    if "no-store" in said:
        return False
    assert (answer.status_code, said[:17]) == (200, "private, max-age="), url
    return True


def is_shown_as_text(url, page):
    """Check that no markup of a person is markup; say whether the page has some."""
    assert come_alive(page) == [], url
    assert MARKUP not in page, url
    assert "49" not in re.findall(r"alert\(1\)&lt;/script&gt;(..)", page)
    return "alert(1)&lt;/script&gt;" in page


def defused_cells(url, table):
    """Check that no cell begins a formula; return how many would have."""
    cells = [cell for row in csv.reader(io.StringIO(table, newline="")) for cell in row]
    for cell in cells:
        assert NUMBER.fullmatch(cell) or not cell.startswith(FORMULA), (url, cell)
    return sum(cell.startswith("'=1+") for cell in cells)


@pytest.mark.slow
def test_line_ends_in_texts_begin_no_row(world):
    """Attack: an annotator's text continues in a new row, with a formula."""
    shown = "good\r=HYPERLINK(1)\n+1"
    world.trial.slots.filter(state="submitted").order_by(
        "pk"
    ).last().story_comments.update(text=shown)
    url = reverse("coverage-csv", args=[world.trial.slug, "comments"])
    told = world.sue.get(url).getvalue().decode()
    assert f'"{shown}"' in told
    assert all(len(row) > 2 for row in csv.reader(io.StringIO(told, newline="")))


def test_slot_codes_begin_no_formula():
    """An escaped code in a table would match no slot."""
    assert [c for c in (new_code() for _ in range(1000)) if c.startswith(FORMULA)] == []


@pytest.mark.slow
def test_every_sign_of_a_formula_is_defused(world):
    slot = world.trial.slots.filter(state="submitted", purpose="real").first()
    method = Method.objects.filter(pk=slot.unit.output_a.method_id)
    url = reverse("study-ratings-csv", args=[world.trial.slug])
    for sign in FORMULA:
        method.update(name=f"{sign}cmd|' /C calc'!A0")
        told = world.sue.get(url).getvalue().decode()
        rows = csv.reader(io.StringIO(told, newline=""))
        cells = [cell for row in rows for cell in row]
        assert any(cell.startswith(f"'{sign}cmd") for cell in cells), sign
        assert not any(cell.startswith(f"{sign}cmd") for cell in cells), sign


@pytest.mark.slow
def test_errors_escape_submitted_text(world):
    """Attack: a link or a form of another site whose text a page repeats."""
    sue = world.sue
    trial = world.trial.slug
    slot = Slot.objects.filter(study=world.trial).first()
    told = [
        Client().post(reverse("login"), {"username": MARKUP, "next": MARKUP}),
        Client().get(reverse("login"), {"next": MARKUP}),
        Client().get(f"/{SCRIPT}/"),
        Client().get(reverse("join", args=[SCRIPT.replace("/", "_")])),
        sue.get(reverse("slot-list", args=[trial]), {"method": MARKUP, "page": MARKUP}),
        sue.get(reverse("event-list", args=[trial]), {"kind": MARKUP, "a": MARKUP}),
        sue.post(reverse("setup-start"), {"text": MARKUP, "benchmark": "woods"}),
        sue.post(
            reverse("setup-form", args=["woods"]), {"slug": MARKUP, "do": "check"}
        ),
        sue.post(reverse("annotator-list-invite", args=[trial]), {"people": MARKUP}),
        sue.post(
            reverse("slot-exclude", args=[trial, slot.code]),
            {"reason": MARKUP * 9},
            follow=True,
        ),
        sue.post(reverse("member-add", args=["woods"]), {"name": MARKUP}, follow=True),
    ]
    repeated = 0
    for answer in told:
        page = answer.content.decode()
        assert come_alive(page) == [], answer
        repeated += "alert(1)" in page
    assert repeated > 5
