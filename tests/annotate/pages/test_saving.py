"""Limits on requests that save answers."""

import pytest

from annotate.assignment import choosing
from annotate.models import Invitation, Rating
from annotate.responses import leasing, writing
from tests import answering
from tests.working import LIKERT, join, make_planned

pytestmark = [pytest.mark.django_db, pytest.mark.postgresql]

TAB = 1_700_000_000_000


@pytest.fixture
def person():
    study = make_planned(f"{LIKERT}\nredundancy: 1\nsession_size: 8", annotators=1)
    return join(study, "A01")


@pytest.fixture
def slot(person):
    return leasing.take(choosing.next_slot(person), person)


def row(number, value, question="character", key=None):
    key = f"{TAB + number} tab" if key is None else key
    told = {"id": f"row {number}", "key": key, "question": question, "value": value}
    return {"kind": "answer", **told}


def send(client, slot, rows):
    token = Invitation.objects.get(annotator=slot.annotator).token
    return client.post(
        f"/rate/{token}/story/{slot.code}/save/",
        {"rows": rows},
        content_type="application/json",
        headers={"accept": "application/json"},
    )


def stored(slot):
    rows = Rating.objects.filter(slot=slot).order_by("question__ordinal", "revision")
    return list(rows.values_list("question__key", "value", "is_current"))


def test_save_refuses_more_rows_than_the_limit_and_stores_none(client, slot):
    rows = [row(n, str(n % 5)) for n in range(201)]
    reply = send(client, slot, rows)
    assert reply.status_code == 413
    assert "at most 200 rows in one request, not 201" in reply.json()["error"]
    assert stored(slot) == []
    assert send(client, slot, rows[:200]).status_code == 200


def test_save_ignores_rows_overtaken_by_their_tab(client, slot):
    reply = send(client, slot, [row(2, "3"), row(1, "0")])
    assert reply.json()["refused"] == {}
    assert stored(slot) == [("character", 3, True)]


def test_save_names_every_row_of_a_refused_answer(client, slot):
    """Send an unknown question, and a value off the scale 0 to 4."""
    rows = [row(1, "2"), row(2, "9"), row(3, "1", "beauty"), row(4, "1", "no question")]
    refused = send(client, slot, rows).json()["refused"]
    assert set(refused) == {"row 1", "row 2", "row 4"}
    assert all(one["final"] for one in refused.values())
    assert stored(slot) == [("beauty", 1, True)]


@pytest.mark.slow
def test_draft_keeps_its_last_answer_after_the_most_revisions(client, slot):
    for n in range(writing.MOST_REVISIONS + 5):
        assert send(client, slot, [row(n, str(n % 5))]).json()["refused"] == {}
    ratings = Rating.objects.filter(slot=slot)
    assert ratings.count() == 100
    assert [(one.value, one.revision) for one in ratings.filter(is_current=True)] == [
        (4, 100)
    ]
    assert ratings.get(is_current=True).client_key == f"{TAB + 104} tab"


def test_submitted_answer_is_refused_after_the_most_revisions(
    client, slot, person, monkeypatch
):
    """Submitted revisions are kept, because reports as of a date read them."""
    monkeypatch.setattr(writing, "MOST_REVISIONS", 10)
    rows = [row(n, str(n % 5)) for n in range(10)]
    send(client, slot, [row(1000, "1", "beauty")])
    for one in rows:
        send(client, slot, [one])
    answering.submit(slot=slot, annotator=person, seconds=12)
    before = stored(slot)
    refused = send(client, slot, [row(500, "0")]).json()["refused"]
    assert list(refused) == ["row 500"]
    assert "changed 10 times" in refused["row 500"]["why"]
    assert refused["row 500"]["final"]
    assert stored(slot) == before
