"""Concurrent exclusions and moments, on the database of this run."""

import threading
from concurrent.futures import ThreadPoolExecutor
from time import sleep

import pytest
from django.db import connection, transaction

from annotate.audit_log import as_of_event
from annotate.audit_log.verifying import problems
from annotate.models import Annotator, Exclusion, Slot, Study
from annotate.quality import exclusion
from evalcore.database import postgresql
from tests.factories import make_study
from tests.people import answer_everything

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.postgresql]


@pytest.fixture
def study():
    row = make_study(annotators=3)
    answer_everything(row)
    return row


def run(work, *arguments):
    try:
        return work(*arguments)
    finally:
        connection.close()


@pytest.mark.slow
def test_concurrent_exclusions_of_three_people_succeed(study):
    people = list(Annotator.objects.select_related("study"))

    def leave_out(person):
        exclusion.exclude_annotator(person, reason="a bot", author=None)

    def restore(person):
        return exclusion.undo_annotator(person, author=None)

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(lambda person: run(leave_out, person), people))
        assert Slot.objects.filter(state="excluded").count() == 18
        assert problems(study) == []
        restored = pool.map(lambda person: run(restore, person), people)
        assert list(restored) == [6, 6, 6]
    assert problems(study) == []
    assert not Slot.objects.filter(state="excluded").exists()


def test_concurrent_exclusions_of_one_person_exclude_once(study):
    person = study.annotators.first()

    def leave_out(_i):
        return exclusion.exclude_annotator(person, reason="a bot", author=None)

    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(lambda i: run(leave_out, i), range(4)))
    assert sorted(len(rows) for rows in made) == [0, 0, 0, 6]
    assert Exclusion.objects.count() == 6


def exclude_slowly(study, begun, wait=lambda: sleep(0.4)):
    """Exclude a slot in a slow transaction."""
    with transaction.atomic():
        exclusion.exclude(study.slots.first(), reason="x", author=None)
        begun.set()
        wait()


def test_moment_includes_every_earlier_event(study):
    """Events get their numbers before they are committed."""
    begun = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(run, exclude_slowly, study, begun)
        assert begun.wait(60)
        now = as_of_event.now(Study.objects.get())
        writing.result()
    assert now.hidden_from("main")
    assert as_of_event.moment(study, now.event) == now


@pytest.mark.skipif(connection.vendor != "postgresql", reason="waits on PostgreSQL")
def test_waiting_for_moment_times_out(study, monkeypatch):
    begun, tried = threading.Event(), threading.Event()
    waiting = postgresql.await_open_transactions
    monkeypatch.setattr(as_of_event, "await_open_transactions", lambda: waiting(0.1))
    event = study.events.last().pk
    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(run, exclude_slowly, study, begun, tried.wait)
        try:
            assert begun.wait(60)
            with pytest.raises(as_of_event.MomentError, match="try again"):
                as_of_event.moment(study, event)
        finally:
            tried.set()
        writing.result()
    assert as_of_event.moment(study, event).hidden == {}
